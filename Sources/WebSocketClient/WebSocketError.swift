public import HTTPProtocol

/// The reason for which there is no WebSocket, or no longer one. Its text has neither a query, a field nor a message.
public struct WebSocketError: Error, Sendable, Hashable {
  /// The kinds of failure, for programs.
  public enum Code: Sendable, Hashable {
    /// The host's name has no address.
    case unknownHost
    /// Nobody listens there.
    case notConnected
    /// TLS failed: as a rule the server's certificate isn't trusted.
    case tls
    /// The server responded to the handshake with another status than 101.
    case refused(Status)
    /// The peer does not speak the WebSocket protocol.
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

  /// The kind of failure, for programs.
  public let code: Code
  /// The failure in words, for people.
  public let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Compares the kinds of failure, not the texts.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

  /// Hashes the kind of failure.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  package static let cancelled = WebSocketError(.cancelled, "the task was cancelled")
  package static let closed = WebSocketError(.closed, "the WebSocket is closed")
  package static let disconnected = WebSocketError(
    .disconnected, "the connection ended without a close frame")
}

extension WebSocketError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

/// The way in which a WebSocket ended.
public enum WebSocketEnd: Sendable, Hashable {
  /// The server sent a close frame: its code, 1005 if it gave none, and its reason.
  case closed(UInt16, reason: String)
  /// The connection failed.
  case failed(WebSocketError)
}
