package import HTTPProtocol

/// The limits and the handler of an accepted WebSocket.
package struct WebSocketAcceptance: Sendable {
  /// The limits that the client is held to; by default it has a minute for a message, or for each piece of one.
  ///
  /// So a connection holds memory for a message only while it goes on sending, and not for ever, as the longest message
  /// comes nearer each time; and a mobile link of 35 kbit/s is fast enough for any message. A peer that sends all but the
  /// end at once is closed after two minutes.
  package var limits = WebSocketMachine.Limits()
  /// The number of bytes that may wait to be sent; with more the session is closed with 1013.
  package var highWaterMark = 4 << 20
  /// The number of waiting bytes above which the peer counts as slow: once they are sent,
  /// ``WebSocketHandler/drained()`` is called, and only the last of the peer's pings is answered.
  package var lowWaterMark = 64 << 10
  /// The subprotocol that the handshake agrees on.
  package var subprotocol: String?
  /// Makes the handler of the session, on its loop.
  package var makeHandler: @Sendable (WebSocketSession) -> any WebSocketHandler

  /// An acceptance with the default limits.
  ///
  /// - Parameter makeHandler: makes the handler of the session, on its loop.
  package init(makeHandler: @escaping @Sendable (WebSocketSession) -> any WebSocketHandler) {
    self.makeHandler = makeHandler
    limits.messageTime = .seconds(60)
  }
}
