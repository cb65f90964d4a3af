package import HTTPProtocol

/// The user of a WebSocket session; all calls come on the session's event loop.
package protocol WebSocketHandler: AnyObject {
  /// Takes a message.
  ///
  /// - Parameter message: the whole message, its fragments joined; text is valid UTF-8.
  func received(_ message: WebSocketMessage)
  /// Takes note that a ping was sent, behind all that was sent before.
  func pinged()
  /// Takes note that the peer has answered the last ping: all that was sent before it has arrived.
  func ponged()
  /// Takes note that all that waited above the low-water mark is sent.
  func drained()
  /// Takes note that the time given to ``WebSocketSession/setTimer(after:)`` is over.
  func timerFired()
  /// Takes note that the server is about to stop; the session is closed with 1001 right after this returns.
  func draining()
  /// Takes note that the session is over; nothing is called after this.
  ///
  /// - Parameter code: the peer's close code, 1005 for a close frame without one; nil when the connection ended
  ///   without a close frame.
  func closed(_ code: UInt16?)
}

extension WebSocketHandler {
  /// Does nothing.
  package func pinged() {}
  /// Does nothing.
  package func ponged() {}
  /// Does nothing.
  package func drained() {}
  /// Does nothing.
  package func timerFired() {}
  /// Does nothing.
  package func draining() {}
}
