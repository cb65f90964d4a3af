public import HTTPProtocol

/// The reason for which there is no WebSocket, or no longer one. Its text has neither a query, a field nor a message.
public typealias WebSocketError = ClientError<WebSocketFailure>

/// The kinds of failure of a WebSocket.
public enum WebSocketFailure: Sendable, Hashable {
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

extension WebSocketError {
  package static var cancelled: WebSocketError {
    WebSocketError(.cancelled, "the task was cancelled")
  }
  package static var closed: WebSocketError { WebSocketError(.closed, "the WebSocket is closed") }
  package static var disconnected: WebSocketError {
    WebSocketError(.disconnected, "the connection ended without a close frame")
  }
}

/// The way in which a WebSocket ended.
public enum WebSocketEnd: Sendable, Hashable {
  /// The server sent a close frame: its code, 1005 if it gave none, and its reason.
  case closed(UInt16, reason: String)
  /// The connection failed.
  case failed(WebSocketError)
}
