public import HTTPClient

/// The times and limits of a ``Device``.
public struct DeviceOptions: Sendable {
  /// The most messages that the service looks back when the device logs in, or zero for all that it has.
  public var history: UInt16 = 0
  /// True if every login closes version 1 to the account, for ever: to be set once all devices of the app's users speak
  /// version 2.
  public var closesVersion1 = false
  /// The longest duration of a request, from the call on, through all reconnections.
  public var requestTimeout: Duration = .seconds(60)
  /// The longest duration of a login, from the handshake on.
  public var joinTimeout: Duration = .seconds(30)
  /// The longest first pause before another attempt. Each further pause is twice as long.
  public var retryDelay: Duration = .milliseconds(500)
  /// The longest pause before another attempt.
  public var longestRetryDelay: Duration = .seconds(60)
  /// The bytes of messages that may wait to be taken before the service is told to pause.
  public var streamBuffer = 1 << 20
  /// The longest data of a message or a file that is taken, in bytes, without its box.
  public var dataLimit = 1 << 20
  /// The time-outs and limits of the connection.
  public var webSocket = WebSocketOptions()

  /// Makes the default options.
  public init() {}
}
