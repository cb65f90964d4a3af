internal import HTTPProtocol

/// The times and limits of a ``WebSocket``.
public struct WebSocketOptions: Sendable {
  /// The time for name resolution, connecting, TLS and the handshake together.
  public var connectTimeout: Duration = .seconds(10)
  /// The number of bytes of messages that may wait to be taken; with more the socket isn't read until they are.
  public var receiveLimit = 256 << 10
  /// The number of bytes that may wait to be sent before ``WebSocket/send(_:)`` waits.
  public var sendLimit = 256 << 10
  /// A PEM file with root certificates of servers, or nil for the system's.
  public var certificateAuthorities: String?

  /// The defaults.
  public init() {}

  /// The machine's own limits, but with longer messages.
  static var limits: WebSocketMachine.Limits {
    var limits = WebSocketMachine.Limits()
    limits.maximumMessage = 2 << 20
    return limits
  }
}
