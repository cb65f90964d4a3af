internal import HTTPProtocol

/// The times and limits of a ``WebSocket``.
public struct WebSocketOptions: Sendable {
  /// The time for name resolution, connecting, TLS and the handshake together.
  public var connectTimeout: Duration = .seconds(10)
  /// The time in which the server's close frame must come after ours.
  public var closeTimeout: Duration = .seconds(5)
  /// The silence of the server after which a ping is sent; with two unanswered ones the connection is given up.
  public var pingInterval: Duration = .seconds(30)
  /// The longest message taken, in bytes; a longer one closes with 1009.
  public var maximumMessage = 2 << 20
  /// The number of bytes of messages that may wait to be taken; with more the socket isn't read until they are.
  public var receiveLimit = 256 << 10
  /// The number of bytes that may wait to be sent before ``WebSocket/send(_:)`` waits.
  public var sendLimit = 256 << 10
  /// A PEM file with root certificates of servers, or nil for the system's.
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
