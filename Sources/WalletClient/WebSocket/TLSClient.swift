internal import COpenSSL

/// The client's side of TLS 1.2 or 1.3 without I/O: what the server sent goes in, what is to be sent comes out.
///
/// The server must show a certificate for the host's name or address whose chain ends at one that is trusted.
@safe
final class TLSClient {
  private let context: OpaquePointer
  private let session: OpaquePointer
  /// The session's: freed with it.
  private let incoming: OpaquePointer
  private let outgoing: OpaquePointer
  /// What waits for the handshake.
  private var waiting: [UInt8] = []

  /// A session that hasn't begun.
  ///
  /// - Parameters:
  ///   - host: the name or address that the certificate must be for.
  ///   - authorities: a PEM file with the certificates that chains may end at; nil: the system's.
  /// - Throws: `.tls` if the file can't be read, `.outOfResources`.
  init(host: String, authorities: String?) throws(WebSocketError) {
    let exhausted = WebSocketError(.outOfResources, "OpenSSL has no memory for a connection")
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw exhausted }
    guard let session = unsafe SSL_new(context), let incoming = unsafe BIO_new(BIO_s_mem()),
      let outgoing = unsafe BIO_new(BIO_s_mem())
    else {
      unsafe SSL_CTX_free(context)
      throw exhausted
    }
    unsafe SSL_set_bio(session, incoming, outgoing)
    unsafe self.context = context
    unsafe self.session = session
    unsafe self.incoming = incoming
    unsafe self.outgoing = outgoing
    // What the session was made with stays with it, so all is set on the session, and trust on its store.
    let trusts =
      unsafe authorities.map { unsafe SSL_CTX_load_verify_locations(context, $0, nil) == 1 }
      ?? (SSL_CTX_set_default_verify_paths(context) == 1)
    guard trusts else {
      throw WebSocketError(.tls, "the certificates that servers' chains may end at can't be read")
    }
    let version = Int(TLS1_2_VERSION)
    let isAddress = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
    // OpenSSL's macros, which Swift does not import.
    unsafe SSL_ctrl(session, SSL_CTRL_SET_MIN_PROTO_VERSION, version, nil)
    var name = Array(host.utf8CString)
    let isReady =
      unsafe isAddress
      || SSL_set1_host(session, host) == 1
        && name.withUnsafeMutableBytes {
          unsafe SSL_ctrl(
            session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), $0.baseAddress)
        } == 1
    guard isReady else { throw exhausted }
    unsafe SSL_set_verify(session, SSL_VERIFY_PEER, nil)
    unsafe SSL_set_connect_state(session)
  }

  deinit {
    unsafe SSL_free(session)
    unsafe SSL_CTX_free(context)
  }

  /// Takes what the server sent.
  ///
  /// - Returns: what it says in clear.
  /// - Throws: `.tls`.
  func received(_ bytes: [UInt8]) throws(WebSocketError) -> [UInt8] {
    unsafe BIO_write(incoming, bytes, Int32(bytes.count))
    try go()
    var clear: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      ERR_clear_error()
      let count = unsafe SSL_read(session, &piece, Int32(piece.count))
      guard count > 0 else {
        try check(count)
        return clear
      }
      clear += piece[..<Int(count)]
    }
  }

  /// Sends bytes in clear, once the handshake is done.
  ///
  /// - Throws: `.tls`.
  func send(_ bytes: [UInt8]) throws(WebSocketError) {
    waiting += bytes
    try go()
  }

  /// Says that nothing more is sent.
  func close() {
    ERR_clear_error()
    unsafe SSL_shutdown(session)
  }

  /// Takes out what is to be written to the socket.
  func takeOutput() -> [UInt8] {
    let count = unsafe BIO_ctrl_pending(outgoing)
    guard count > 0 else { return [] }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { room, taken in
      taken = max(0, Int(unsafe BIO_read(outgoing, room.baseAddress, Int32(count))))
    }
  }

  /// Goes on with the handshake, and sends what waits for it.
  private func go() throws(WebSocketError) {
    ERR_clear_error()
    if unsafe SSL_is_init_finished(session) == 0 {
      let result = unsafe SSL_do_handshake(session)
      guard result == 1 else { return try check(result) }
    }
    guard !waiting.isEmpty else { return }
    // To memory, so that all is taken.
    let result = unsafe SSL_write(session, waiting, Int32(waiting.count))
    guard result > 0 else { return try check(result) }
    waiting = []
  }

  private func check(_ result: Int32) throws(WebSocketError) {
    switch unsafe SSL_get_error(session, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_ZERO_RETURN: return
    default:
      let verdict = unsafe SSL_get_verify_result(session)
      guard verdict == Int(X509_V_OK) else {
        let words = unsafe String(cString: X509_verify_cert_error_string(verdict))
        throw WebSocketError(.tls, "the server's certificate is not trusted: \(words)")
      }
      throw WebSocketError(.tls, "the server's TLS failed")
    }
  }
}
