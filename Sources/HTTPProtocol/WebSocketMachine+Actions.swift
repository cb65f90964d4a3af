extension WebSocketMachine {
  /// The limits of one session.
  public struct Limits: Sendable {
    /// The longest message taken, in bytes; a longer one closes with 1009.
    public var maximumMessage = 1 << 20
    /// The time in which an unfinished message may grow by less than ``messageProgress``, or nil for any time; then the session
    /// is closed with 1008.
    public var messageTime: Duration?
    /// The number of bytes that an unfinished message must grow by in ``messageTime``.
    public var messageProgress = 256 << 10
    /// The time after which the peer is asked for a sign of life; after two pings without one it is given up.
    public var pingInterval: Duration = .seconds(30)
    /// The time in which the peer's close frame must come.
    public var closeTimeout: Duration = .seconds(5)

    /// The default limits.
    public init() {}
  }

  /// The way in which a session ended.
  public enum Outcome: Sendable, Equatable {
    /// The peer sent a close frame: its code, 1005 if it gave none, and its reason in UTF-8.
    case closed(UInt16, reason: [UInt8])
    /// The peer broke the protocol or a limit; it is told this code.
    case failed(UInt16)
    /// The connection ended without a close frame.
    case disconnected
    /// The peer answered neither pings nor the close frame.
    case unresponsive
  }

  /// A step for the driver.
  public enum Action: Sendable, Equatable {
    /// Gives a message to the user.
    case deliver(WebSocketMessage)
    /// Writes a ping, a pong or a close frame with ``append(_:_:to:)``.
    case write(WebSocketFrame.Opcode, [UInt8])
    /// Tells the user that the peer has answered the last ping: all that was sent before has arrived.
    case confirm
    /// Tells the user that the session is over, after writing a close frame with a payload, if there is one.
    ///
    /// The driver ends the TCP connection in order if `isLast`; otherwise the machine asks for that later.
    case end(Outcome, closeFrame: [UInt8]?, isLast: Bool)
    /// Ends the TCP connection in order; the user has been told before.
    case finish
    /// Drops the TCP connection; the user is told that the peer does not respond.
    case abort
  }
}
