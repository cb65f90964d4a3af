internal import HTTPProtocol

/// How long a ``WebSocket`` waits, and how much it takes.
public struct WebSocketOptions: Sendable {
  /// How long name resolution, connecting, TLS and the handshake may take together.
  public var connectTimeout: Duration = .seconds(10)
  /// How long the server's close frame is awaited after ours.
  public var closeTimeout: Duration = .seconds(5)
  /// After how much silence of the server a ping is sent; with two unanswered ones the connection is given up.
  public var pingInterval: Duration = .seconds(30)
  /// The longest message taken, in bytes; a longer one closes with 1009.
  public var maximumMessage = 2 << 20
  /// How many bytes of messages may wait to be taken: with more the socket isn't read until they are.
  public var receiveLimit = 256 << 10
  /// How many bytes may wait to be sent before ``WebSocket/send(_:)`` waits.
  public var sendLimit = 256 << 10
  /// A PEM file with the certificates that servers' chains may end at; nil: the system's.
  public var certificateAuthorities: String?

  /// The defaults.
  public init() {}

  /// The limits as the machine takes them.
  var limits: WebSocketMachine.Limits {
    var limits = WebSocketMachine.Limits()
    limits.maximumMessage = maximumMessage
    limits.pingInterval = pingInterval
    limits.closeTimeout = closeTimeout
    return limits
  }
}
