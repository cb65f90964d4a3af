internal import Formats
internal import Cryptography
internal import COpenSSL
internal import HTTPServer
internal import TestSupport
internal import Testing

extension TestCertificates {
  func credentials(_ name: String) throws -> TLSCredentials {
    try TLSCredentials(certificate: read("\(name).pem"), key: read("\(name).key"))
  }
}

extension ServerOptions {
  /// Options for a free port of 127.0.0.1 that speaks TLS.
  static func secure(
    _ name: String = "first", threads: Int = 1,
    _ configure: (inout ServerOptions) -> Void = { _ in }
  ) throws -> ServerOptions {
    var options = ServerOptions(endpoints: [], threads: threads)
    options.secureEndpoints = [.tcp(.loopback, port: 0)]
    options.credentials = try TestCertificates.shared.get().credentials(name)
    configure(&options)
    return options
  }
}

/// The TLS settings of a test's client.
struct TLSOptions {
  var version = TLS1_3_VERSION
  /// The protocols offered; none: the extension is left out.
  var protocols: [String] = []
  var ciphers: String?
  /// A session to resume, as another connection gave it.
  var session: OpaquePointer?
  /// The longest record sent, in bytes.
  var fragment: Int?
}

extension TestServer {
  func connectTLS(_ options: TLSOptions = TLSOptions(), receiveBuffer: Int32? = nil) throws
    -> Client
  {
    let client = try connect(receiveBuffer: receiveBuffer)
    try client.startTLS(try tlsConnection(options))
    return client
  }

  /// A client's side of a connection that has not begun.
  func tlsConnection(_ options: TLSOptions) throws -> OpaquePointer {
    let context = try #require(SSL_CTX_new(TLS_client_method()))
    defer { SSL_CTX_free(context) }
    SSL_CTX_set_security_level(context, 0)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.version), nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.version), nil)
    if let ciphers = options.ciphers { SSL_CTX_set_cipher_list(context, ciphers) }
    if let size = options.fragment {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_SEND_FRAGMENT, size, nil)
    }
    let connection = try #require(SSL_new(context))
    let offers = options.protocols.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
    if !offers.isEmpty { SSL_set_alpn_protos(connection, offers, UInt32(offers.count)) }
    if let session = options.session { SSL_set_session(connection, session) }
    return connection
  }
}

extension Client {
  /// The common name of the server's certificate.
  var serverName: String? {
    guard let certificate = SSL_get1_peer_certificate(tls) else { return nil }
    defer { X509_free(certificate) }
    var name = [CChar](repeating: 0, count: 64)
    let length = X509_NAME_get_text_by_NID(
      X509_get_subject_name(certificate), NID_commonName, &name, Int32(name.count))
    return length < 0 ? nil : String(decoding: name[..<Int(length)].map(UInt8.init), as: UTF8.self)
  }

  /// The protocol that ALPN agreed on.
  var agreedProtocol: String {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(tls, &name, &length)
    return String(
      decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
  }

  /// Whether the server said in TLS that it sends nothing more.
  var wasShutInOrder: Bool { SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN != 0 }
}
