public import Cryptography

/// Where a server listens, and what it grants its peers.
public struct ServerOptions: Sendable {
  /// Where connections are taken that speak HTTP as it is.
  public var endpoints: [Endpoint]
  /// Where connections are taken that speak TLS; they need ``credentials``.
  public var secureEndpoints: [Endpoint] = []
  /// What is shown to TLS clients.
  public var credentials: TLSCredentials?
  /// How many event loops there are, each with a thread of its own.
  public var threads: Int
  /// The longest request line with header fields, in bytes.
  public var head = 16 << 10
  /// How long a whole request head may take.
  public var headerTimeout: Duration = .seconds(10)
  /// How long a connection may rest between requests.
  public var idleTimeout: Duration = .seconds(60)
  /// How many connections are open at most; further ones wait to be accepted.
  public var connections = 16_000
  /// How many bytes of request bodies are held at most, over all connections; beyond it a request gets 503.
  public var bodyMemory = 64 << 20
  /// How many bytes of WebSocket messages that are unfinished or wait to be taken are held at most, over all
  /// connections; beyond it a session whose message grows is closed with 1013.
  public var messageMemory = 256 << 20
  /// How many bytes a second a body, or a response that waits to be read, must move on average.
  public var minimumRate = 512
  /// How long a transfer may stall before ``minimumRate`` is held against it.
  public var rateGrace: Duration = .seconds(15)

  /// Options with the default limits.
  ///
  /// - Parameters:
  ///   - endpoints: where connections are taken that speak HTTP as it is.
  ///   - threads: how many event loops; at least one is made.
  public init(endpoints: [Endpoint], threads: Int = 1) {
    self.endpoints = endpoints
    self.threads = max(1, threads)
  }
}
