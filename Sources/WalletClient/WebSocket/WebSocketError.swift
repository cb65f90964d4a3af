public import HTTPProtocol

/// Why there is no WebSocket, or no longer one. Neither a query, a field nor a message is in its text.
public struct WebSocketError: Error, Sendable, Hashable {
  /// What failed, for programs.
  public enum Code: Sendable, Hashable {
    /// The host's name has no address.
    case unknownHost
    /// Nobody listens there.
    case notConnected
    /// TLS failed: as a rule the server's certificate isn't trusted.
    case tls
    /// The server answered the handshake with another status than 101.
    case refused(Status)
    /// What came is no WebSocket.
    case malformed
    /// A message is longer than it may be.
    case tooLarge
    /// It took longer than it may, or the server fell silent.
    case timedOut
    /// The connection ended without a close frame.
    case disconnected
    /// The WebSocket was closed before.
    case closed
    /// The task was cancelled.
    case cancelled
    /// The system lacks memory, descriptors or threads.
    case outOfResources
  }

  /// What failed, for programs.
  public let code: Code
  /// What failed, for people.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Compares what failed, not the text.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

  /// Hashes what failed.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  static let cancelled = WebSocketError(.cancelled, "the task was cancelled")
  static let closed = WebSocketError(.closed, "the WebSocket is closed")
  static let disconnected = WebSocketError(
    .disconnected, "the connection ended without a close frame")
}

extension WebSocketError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

/// How a WebSocket ended.
public enum WebSocketEnd: Sendable, Hashable {
  /// By a close frame of the server: its code, 1005 if it gave none, and its reason.
  case closed(UInt16, reason: String)
  /// Otherwise.
  case failed(WebSocketError)
}
