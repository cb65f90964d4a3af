package import Formats
package import Cryptography

/// A server's addresses, and the limits of its peers.
package struct ServerOptions: Sendable {
  /// The addresses for connections without TLS.
  package var endpoints: [Endpoint]
  /// The addresses for connections with TLS, which need ``credentials``.
  package var secureEndpoints: [Endpoint] = []
  /// The credentials that TLS clients are shown.
  package var credentials: TLSCredentials?
  /// The number of event loops, each with a thread of its own.
  package var threads: Int
  /// The longest request line with header fields, in bytes.
  package var head = 16 << 10
  /// The time in which a whole request head must come.
  package var headerTimeout: Duration = .seconds(10)
  /// The time that a connection may rest between requests.
  package var idleTimeout: Duration = .seconds(60)
  /// The largest number of open connections; beyond it the idlest one of the client that has most is closed.
  package var connections = 16_000
  /// The largest number of open connections of one client's network; nil for a quarter of ``connections``.
  package var connectionsPerAddress: Int?
  /// The largest number of bytes of request bodies, WebSocket messages and unread output that all connections hold;
  /// beyond it the largest one of the owner that has most is cut.
  package var memory = 256 << 20
  /// The largest number of these bytes that one owner holds; nil for a quarter of ``memory``.
  package var memoryPerOwner: Int?
  /// The largest number of requests of one client's network that are in progress on an event loop; beyond it they get 429.
  package var requestsPerAddress = 1024
  /// The bytes a second that a body, or a response that waits to be read, must move on average.
  package var minimumRate = 512
  /// The time that a transfer may stall before ``minimumRate`` is held against it.
  package var rateGrace: Duration = .seconds(15)

  /// Options with the default limits.
  ///
  /// - Parameters:
  ///   - endpoints: the addresses for connections without TLS.
  ///   - threads: the number of event loops, at least one.
  package init(endpoints: [Endpoint], threads: Int = 1) {
    self.endpoints = endpoints
    self.threads = max(1, threads)
  }
}
