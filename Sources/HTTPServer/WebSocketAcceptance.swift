internal import HTTPProtocol

/// The limits and the handler of an accepted WebSocket.
public struct WebSocketAcceptance: Sendable {
  /// The longest message taken, in bytes; a longer one closes with 1009.
  public var maximumMessage = 1 << 20
  /// The time in which a message must be finished; the session of one that isn't is closed with 1008.
  ///
  /// A message gets as long again if it has grown by ``messageProgress`` meanwhile. So a connection holds memory for a
  /// message only while it goes on sending, and not for ever, as ``maximumMessage`` comes nearer each time; and a
  /// mobile link of 35 kbit/s is fast enough for any message. A peer that sends all but the end at once is closed
  /// after twice this time.
  public var messageTime: Duration = .seconds(60)
  /// The number of bytes that a message must grow by in ``messageTime``, unless it is finished.
  public var messageProgress = 256 << 10
  /// The number of bytes that may wait to be sent; with more the session is closed with 1013.
  public var highWaterMark = 4 << 20
  /// The number of waiting bytes above which the peer counts as slow: once they are sent,
  /// ``WebSocketHandler/drained()`` is called, and only the last of the peer's pings is answered.
  public var lowWaterMark = 64 << 10
  /// The time between pings; after two without a pong the connection is cut.
  public var pingInterval: Duration = .seconds(30)
  /// The subprotocol that the handshake agrees on.
  public var subprotocol: String?
  /// The limits as the machine takes them.
  var limits: WebSocketMachine.Limits {
    var limits = WebSocketMachine.Limits()
    limits.maximumMessage = maximumMessage
    limits.messageTime = messageTime
    limits.messageProgress = messageProgress
    limits.pingInterval = pingInterval
    return limits
  }
  /// Makes the handler of the session, on its loop.
  public var makeHandler: @Sendable (WebSocketSession) -> any WebSocketHandler

  /// An acceptance with the default limits.
  ///
  /// - Parameter makeHandler: makes the handler of the session, on its loop.
  public init(makeHandler: @escaping @Sendable (WebSocketSession) -> any WebSocketHandler) {
    self.makeHandler = makeHandler
  }
}
