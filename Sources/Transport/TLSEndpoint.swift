internal import COpenSSL

/// One end of TLS on one connection, without I/O: a state machine between the bytes of the socket and those of the
/// protocol above.
///
/// OpenSSL reads from the input of the moment and writes behind ``output``: it keeps no buffers for either, and
/// nothing here blocks. It is touched on the connection's loop only.
@safe
package final class TLSEndpoint {
  /// The end of the connection.
  package enum Role: Sendable {
    /// Shows its certificate.
    case server
    /// Demands a trusted certificate for a host, given by name or address.
    case client(host: String)
  }

  /// The progress of the handshake.
  enum Handshake {
    case established
    case needsInput
    case failed(TLSFailure)
  }

  /// The result of reading.
  enum Reading {
    /// The number of bytes that were opened.
    case bytes(Int)
    case needsInput
    /// The peer's `close_notify`: it sends nothing more.
    case ended
    /// The peer broke the protocol; the alert that says so stands in ``output``.
    case failed
  }

  private let ssl: OpaquePointer
  private var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  /// True if OpenSSL has said something, such as the peer's end, that is to be asked for again.
  private var hasNews = false
  /// The sealed bytes that wait to be sent.
  package var output: [UInt8] = []
  private(set) var isEstablished = false
  /// True if nothing more may be sent: our `close_notify` or a fatal alert has been.
  private(set) var isShut = false
  /// True if this end begins the handshake.
  let speaksFirst: Bool

  /// An endpoint whose handshake has not begun.
  ///
  /// - Parameter role: the end that this is.
  /// - Returns: nil when memory is short.
  package init?(_ context: TLSContext, _ role: Role) {
    ERR_clear_error()
    guard let ssl = unsafe SSL_new(context.pointer) else { return nil }
    unsafe self.ssl = ssl
    speaksFirst = if case .client = role { true } else { false }
    guard let bio = unsafe BIO_new(TLSEndpoint.method) else { return nil }
    unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    // One for both directions; the session owns it from now on.
    unsafe SSL_set_bio(ssl, bio, bio)
    switch role {
    case .server: unsafe SSL_set_accept_state(ssl)
    case .client(let host):
      guard expectCertificate(for: host) else { return nil }
      unsafe SSL_set_connect_state(ssl)
    }
  }

  deinit { unsafe SSL_free(ssl) }

  private func expectCertificate(for host: String) -> Bool {
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1 { return true }
    var name = Array(host.utf8CString)
    return unsafe SSL_set1_host(ssl, host) == 1
      && name.withUnsafeMutableBytes {
        // OpenSSL's macro, which Swift does not import.
        unsafe SSL_ctrl(
          ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), $0.baseAddress)
      } == 1
  }

  /// Returns whether a protocol was agreed on (RFC 7301).
  ///
  /// - Parameter name: the protocol's name, such as `h2`.
  package func speaks(_ name: StaticString) -> Bool {
    var agreed: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    unsafe SSL_get0_alpn_selected(ssl, &agreed, &length)
    let buffer = unsafe UnsafeBufferPointer(start: agreed, count: Int(length))
    return name.withUTF8Buffer { unsafe $0.elementsEqual(buffer) }
  }

  /// Lends bytes of the socket for as long as a closure runs. Bytes that it leaves unread are lost.
  func withInput(_ bytes: UnsafeRawBufferPointer, _ body: () -> Void) {
    unsafe input = bytes
    body()
    unsafe input = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Carries the handshake on.
  func handshake() -> Handshake {
    ERR_clear_error()
    let result = unsafe SSL_do_handshake(ssl)
    if result == 1 {
      isEstablished = true
      return .established
    }
    if unsafe SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ { return .needsInput }
    isShut = true
    if ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST { return .failed(.plainRequest) }
    let verdict = unsafe SSL_get_verify_result(ssl)
    guard verdict != Int(X509_V_OK) else { return .failed(.protocolViolated) }
    return .failed(.untrusted(unsafe String(cString: X509_verify_cert_error_string(verdict))))
  }

  /// Opens the records that have come, as far as they fit into the room.
  func read(into room: UnsafeMutableRawBufferPointer) -> Reading {
    var count = 0
    ERR_clear_error()
    // To ask in vain would make and free a buffer for a record.
    while count < room.count, unsafe hasNews || !input.isEmpty || SSL_pending(ssl) > 0 {
      hasNews = false
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...])
      let result = unsafe SSL_read(ssl, rest.baseAddress, Int32(clamping: rest.count))
      if result > 0 {
        count += Int(result)
        continue
      }
      // Bytes that were read are returned first; OpenSSL reports the same again when it is asked again.
      guard count == 0 else {
        hasNews = true
        break
      }
      switch unsafe SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ: return .needsInput
      case SSL_ERROR_ZERO_RETURN: return .ended
      default:
        isShut = true
        return .failed
      }
    }
    return count > 0 ? .bytes(count) : .needsInput
  }

  /// Seals bytes behind ``output``.
  ///
  /// - Returns: whether that was possible; if not, the connection is to be closed.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !isShut else { return false }
    var offset = 0
    ERR_clear_error()
    while offset < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
      let result = unsafe SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count))
      guard result > 0 else { return false }
      offset += Int(result)
    }
    return true
  }

  /// Notifies the peer that nothing more will be sent.
  func shutDown() {
    guard !isShut else { return }
    isShut = true
    guard isEstablished else { return }
    ERR_clear_error()
    unsafe SSL_shutdown(ssl)
  }

  // MARK: - The socket's side of OpenSSL

  private static func of(_ bio: OpaquePointer?) -> TLSEndpoint {
    // The endpoint owns the BIO, which is used by the endpoint's calls alone.
    unsafe Unmanaged.object(of: BIO_get_data(bio))
  }

  /// Made once for the process, and never freed. Nil only when memory is short: then no endpoint can be made.
  private nonisolated(unsafe) static let method: OpaquePointer? = {
    // Safe to share: set up here, only read by OpenSSL afterwards.
    let kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
    guard let method = unsafe BIO_meth_new(kind, "awd") else { return nil }
    unsafe BIO_meth_set_create(method) { bio in
      unsafe BIO_set_init(bio, 1)
      return 1
    }
    unsafe BIO_meth_set_read(method) { bio, room, count in
      unsafe copenssl_clear_retry(bio)
      let endpoint = unsafe TLSEndpoint.of(bio)
      let taken = unsafe min(Int(count), endpoint.input.count)
      guard taken > 0, let start = unsafe endpoint.input.baseAddress else {
        return unsafe copenssl_read_later(bio)
      }
      unsafe UnsafeMutableRawPointer(room)?.copyMemory(from: start, byteCount: taken)
      unsafe endpoint.input = UnsafeRawBufferPointer(rebasing: endpoint.input[taken...])
      return Int32(taken)
    }
    unsafe BIO_meth_set_write(method) { bio, bytes, count in
      let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
      unsafe TLSEndpoint.of(bio).output.append(contentsOf: bytes)
      return count
    }
    // All that OpenSSL asks of a BIO otherwise is to flush, which there is nothing to do for.
    unsafe BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return unsafe method
  }()
}

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

/// The reason for which TLS failed on a connection.
package enum TLSFailure: Error, Sendable, Equatable {
  /// The peer of a server sent a request in plain HTTP; it can be sent a response as it is, as there is no alert for
  /// that.
  case plainRequest
  /// The server's certificate is not trusted, in OpenSSL's words.
  case untrusted(String)
  /// The peer broke the protocol, or shares no version or cipher.
  case protocolViolated
  /// The file with trusted certificates can't be read.
  case noAuthorities
  /// OpenSSL has no memory.
  case outOfMemory
}
