public import Cryptography

/// A server's addresses, and the limits of its peers.
public struct ServerOptions: Sendable {
  /// The addresses for connections without TLS.
  public var endpoints: [Endpoint]
  /// The addresses for connections with TLS, which need ``credentials``.
  public var secureEndpoints: [Endpoint] = []
  /// The credentials that TLS clients are shown.
  public var credentials: TLSCredentials?
  /// The number of event loops, each with a thread of its own.
  public var threads: Int
  /// The longest request line with header fields, in bytes.
  public var head = 16 << 10
  /// The time in which a whole request head must come.
  public var headerTimeout: Duration = .seconds(10)
  /// The time that a connection may rest between requests.
  public var idleTimeout: Duration = .seconds(60)
  /// The largest number of open connections; further ones wait to be accepted.
  public var connections = 16_000
  /// The largest number of bytes of request bodies that all connections together hold; beyond it a request gets 503.
  public var bodyMemory = 64 << 20
  /// The largest number of bytes of WebSocket messages that all connections together hold because they are unfinished
  /// or wait to be taken; beyond it a session whose message grows is closed with 1013.
  public var messageMemory = 256 << 20
  /// The bytes a second that a body, or a response that waits to be read, must move on average.
  public var minimumRate = 512
  /// The time that a transfer may stall before ``minimumRate`` is held against it.
  public var rateGrace: Duration = .seconds(15)

  /// Options with the default limits.
  ///
  /// - Parameters:
  ///   - endpoints: the addresses for connections without TLS.
  ///   - threads: the number of event loops, at least one.
  public init(endpoints: [Endpoint], threads: Int = 1) {
    self.endpoints = endpoints
    self.threads = max(1, threads)
  }
}
