/// How a ``Device`` waits, and how much it takes.
public struct DeviceOptions: Sendable {
  /// How many messages the service looks back at most when the device logs in; zero: all it has.
  public var history: UInt16 = 0
  /// How long a request may take, from the call on, through all reconnections.
  public var requestTimeout: Duration = .seconds(60)
  /// How long the service may take to let the device in, from the handshake on.
  public var joinTimeout: Duration = .seconds(30)
  /// How long the first pause before another attempt is at most; each further one is twice as long.
  public var retryDelay: Duration = .milliseconds(500)
  /// How long a pause before another attempt is at most.
  public var longestRetryDelay: Duration = .seconds(60)
  /// How many bytes of messages may wait to be taken before the service is told to pause.
  public var streamBuffer = 1 << 20
  /// The longest data of a message or a file that is taken, in bytes, without its box.
  public var dataLimit = 1 << 20
  /// Time-outs and limits of the connection.
  public var webSocket = WebSocketOptions()

  /// The defaults.
  public init() {}
}
