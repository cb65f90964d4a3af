public import HTTPProtocol

/// How an accepted WebSocket is run.
public struct WebSocketAcceptance: Sendable {
  /// The longest message taken, in bytes; a longer one closes with 1009.
  public var maximumMessage = 1 << 20
  /// How many bytes may wait to be sent before the session is closed with 1013.
  public var highWaterMark = 4 << 20
  /// Below how many waiting bytes ``WebSocketHandler/drained()`` is called again.
  public var lowWaterMark = 64 << 10
  /// How often the server pings; it closes after two unanswered pings.
  public var pingInterval: Duration = .seconds(30)
  /// The subprotocol that the handshake answers with.
  public var subprotocol: String?
  /// Makes the handler of the session, on its loop.
  public var makeHandler: @Sendable (WebSocketSession) -> any WebSocketHandler

  /// An acceptance with the default limits.
  ///
  /// - Parameter makeHandler: makes the handler of the session, on its loop.
  public init(makeHandler: @escaping @Sendable (WebSocketSession) -> any WebSocketHandler) {
    self.makeHandler = makeHandler
  }
}

/// What a WebSocket session's events are told to, always on the session's event loop.
public protocol WebSocketHandler: AnyObject {
  /// A whole message came.
  ///
  /// - Parameter message: its bytes, fragments joined; text is valid UTF-8.
  func received(_ message: WebSocketMessage)
  /// What waited to be sent has fallen below the low-water mark.
  func drained()
  /// The server is about to stop; the session is closed with 1001 right after this returns.
  func draining()
  /// The session is over; nothing is called after this.
  ///
  /// - Parameter code: the peer's close code, or nil when it sent none.
  func closed(_ code: UInt16?)
}

extension WebSocketHandler {
  /// Does nothing.
  public func drained() {}
  /// Does nothing.
  public func draining() {}
}
