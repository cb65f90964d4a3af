/// What an ``HTTPClient`` takes from servers, how long it waits, and whom it trusts.
public struct HTTPClientOptions: Sendable {
  /// A certificate that tells servers who the client is, and its key.
  public struct ClientCertificate: Sendable {
    /// A PEM file with the certificate, and those between it and a root.
    public var certificate: String
    /// A PEM file with the private key, without a password.
    public var key: String

    /// A certificate and its key.
    ///
    /// - Parameters:
    ///   - certificate: path of a PEM file.
    ///   - key: path of a PEM file.
    public init(certificate: String, key: String) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// How long name resolution, connecting and the TLS handshake may take together.
  public var connectTimeout: Duration = .seconds(10)
  /// How long an exchange may take, from the call to the last byte of the answer.
  public var timeout: Duration = .seconds(30)
  /// The longest body of an answer, in bytes.
  public var bodyLimit = 1 << 20
  /// The longest head of an answer, in bytes: status lines and fields, interim answers and trailers.
  public var headLimit = 64 << 10
  /// The most field lines of an answer, counted like ``headLimit``.
  public var fieldLimit = 256
  /// The most connections to one host and port; requests beyond wait.
  public var connectionsPerHost = 8
  /// The most requests at once on one HTTP/2 connection, if the server allows as many.
  public var streamsPerConnection = 100
  /// A PEM file with the certificates that servers' chains may end at; nil: the system's.
  public var certificateAuthorities: String?
  /// What the client shows to servers that ask who it is; nil: nothing.
  public var clientCertificate: ClientCertificate?

  /// The defaults.
  public init() {}
}
