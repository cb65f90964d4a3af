internal import COpenSSL

/// The settings that TLS endpoints share: OpenSSL's `SSL_CTX`, for TLS 1.2 and 1.3.
@safe
package final class TLSContext: @unchecked Sendable {
  // Safe to share: set up before it is shared; OpenSSL locks and counts by itself when sessions are made of it.

  /// OpenSSL's object, which the maker of a context sets up.
  package let pointer: OpaquePointer

  /// A context without certificates.
  ///
  /// - Parameter method: `TLS_server_method()` or `TLS_client_method()`.
  /// - Returns: nil when memory is short.
  package init?(_ method: OpaquePointer?) {
    ERR_clear_error()
    guard let context = unsafe SSL_CTX_new(method) else { return nil }
    unsafe pointer = context
    guard unsafe copenssl_set_min_version(context, TLS1_2_VERSION) == 1 else { return nil }
  }

  deinit { unsafe SSL_CTX_free(pointer) }

  /// A context for clients, which demand a trusted certificate.
  ///
  /// - Parameter authorities: a PEM file with root certificates; nil for the system's.
  /// - Throws: `.noAuthorities`, `.outOfMemory`.
  package static func client(authorities: String?) throws(TLSFailure) -> TLSContext {
    guard let context = unsafe TLSContext(TLS_client_method()) else { throw .outOfMemory }
    let isTrusting =
      if let authorities {
        unsafe SSL_CTX_load_verify_locations(context.pointer, authorities, nil) == 1
      } else { unsafe SSL_CTX_set_default_verify_paths(context.pointer) == 1 }
    guard isTrusting else { throw .noAuthorities }
    unsafe SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
    return context
  }
}
