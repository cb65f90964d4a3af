internal import COpenSSL
internal import Cryptography
internal import Transport

extension TLSContext {
  /// Cipher suites of TLS 1.2: forward secrecy and authenticated encryption only, none that RFC 9113 appendix A forbids.
  private static let ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    + "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"

  /// Cipher suites of TLS 1.3.
  private static let suites =
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"

  /// Names of the protocols in the order of preference, each behind its length (RFC 7301 section 3.1).
  private static let protocols: StaticString = "\u{2}h2\u{8}http/1.1"

  /// A context that shows credentials.
  ///
  /// - Throws: ``TLSError`` when OpenSSL doesn't take the credentials.
  static func server(_ credentials: TLSCredentials) throws(TLSError) -> TLSContext {
    guard let context = unsafe TLSContext(TLS_server_method()),
      unsafe SSL_CTX_set_cipher_list(context.pointer, ciphers) == 1,
      unsafe SSL_CTX_set_ciphersuites(context.pointer, suites) == 1,
      unsafe copenssl_set_groups(context.pointer, "X25519:P-256:P-384") == 1
    else { throw .refused(TLSCredentials.reason) }
    unsafe SSL_CTX_set_options(context.pointer, copenssl_server_options)
    // An idle connection holds no record buffers.
    unsafe copenssl_set_mode(context.pointer, Int(SSL_MODE_RELEASE_BUFFERS))
    // Sessions are resumed by tickets, which cost the server no memory.
    unsafe copenssl_set_session_cache(context.pointer, Int(SSL_SESS_CACHE_OFF))
    unsafe SSL_CTX_set_session_id_context(context.pointer, "awd", 3)
    unsafe SSL_CTX_set_alpn_select_cb(context.pointer, select, nil)
    try unsafe credentials.install(in: context.pointer)
    return context
  }

  /// Chooses the protocol; a client that names protocols, none of which is served, is refused (RFC 7301 section 3.2).
  private static let select: SSL_CTX_alpn_select_cb_func = {
    _, output, length, offered, count, _ in
    var chosen: UnsafeMutablePointer<UInt8>?
    let result = unsafe SSL_select_next_proto(
      &chosen, length, protocols.utf8Start, UInt32(protocols.utf8CodeUnitCount), offered, count)
    guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe output?.pointee = UnsafePointer(chosen)
    return SSL_TLSEXT_ERR_OK
  }
}
