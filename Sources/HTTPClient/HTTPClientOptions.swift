/// The limits of an ``HTTPClient``, its times, and the certificates that it trusts and shows.
public struct HTTPClientOptions: Sendable {
  /// The addresses that a client connects to.
  public enum Reach: Sendable {
    /// Any.
    case anyAddress
    /// Addresses of other hosts on the public Internet, for URLs that strangers give. An address is looked at when the socket
    /// is made that connects to it, whatever a name resolved to before.
    case publicAddresses
  }

  /// The addresses that requests may go to.
  public var reach = Reach.anyAddress
  /// The time for name resolution, connecting and the TLS handshake together.
  public var connectTimeout: Duration = .seconds(10)
  /// The time for an exchange, from the call to the last byte of the response.
  public var timeout: Duration = .seconds(30)
  /// The longest body of a response, in bytes.
  public var bodyLimit = 1 << 20
  /// The longest head of a response, in bytes: status lines and fields, with those of interim responses and trailers.
  public var headLimit = 64 << 10
  /// The largest number of field lines of a response, counted like ``headLimit``.
  public var fieldLimit = 256
  /// The largest number of connections to one host and port; requests beyond wait.
  public var connectionsPerHost = 8
  /// The largest number of requests at once on one HTTP/2 connection, if the server allows as many.
  public var streamsPerConnection = 100
  /// A PEM file with root certificates of servers, or nil for the system's.
  public var certificateAuthorities: String?
  /// The certificate that servers are shown which ask for one, and its key: paths of PEM files. The first holds those
  /// between the certificate and a root too, and the key has no password.
  public var clientCertificate: (certificate: String, key: String)?

  /// The defaults.
  public init() {}
}
