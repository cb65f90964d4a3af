public import HTTPProtocol

/// What a WebSocket session's events are told to, always on the session's event loop.
public protocol WebSocketHandler: AnyObject {
  /// A whole message came.
  ///
  /// - Parameter message: its bytes, fragments joined; text is valid UTF-8.
  func received(_ message: WebSocketMessage)
  /// A ping was sent, behind all that was sent before.
  func pinged()
  /// The peer answered the last ping: all that was sent before it has arrived.
  func ponged()
  /// What waited to be sent has fallen below the low-water mark.
  func drained()
  /// The time that ``WebSocketSession/setTimer(after:)`` was given is over.
  func timerFired()
  /// The server is about to stop; the session is closed with 1001 right after this returns.
  func draining()
  /// The session is over; nothing is called after this.
  ///
  /// - Parameter code: the peer's close code, 1005 for a close frame without one; nil when the connection ended
  ///   without a close frame.
  func closed(_ code: UInt16?)
}

extension WebSocketHandler {
  /// Does nothing.
  public func pinged() {}
  /// Does nothing.
  public func ponged() {}
  /// Does nothing.
  public func drained() {}
  /// Does nothing.
  public func timerFired() {}
  /// Does nothing.
  public func draining() {}
}
