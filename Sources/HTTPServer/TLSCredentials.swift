internal import COpenSSL
internal import Glibc

/// A certificate with its chain and its private key, found to belong together.
public final class TLSCredentials: @unchecked Sendable {
  // Safe to share: nothing is changed after `init`, and OpenSSL counts references atomically.
  private let chain: [X509Reference]
  private let key: KeyReference

  /// From when the certificate and its chain are valid, in seconds since 1970.
  public let notBefore: Int64
  /// Until when the certificate and its chain are valid, in seconds since 1970.
  public let notAfter: Int64

  /// Takes a certificate chain and a key.
  ///
  /// - Parameters:
  ///   - certificate: PEM; the server's own certificate first, then those that lead to the root.
  ///   - key: PEM, not encrypted.
  /// - Throws: ``TLSError``; that the certificate has expired is no reason.
  public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
    defer { ERR_clear_error() }
    ERR_clear_error()
    chain = try Self.chain(certificate)
    self.key = try Self.key(key)
    notBefore = chain.map(\.notBefore).max() ?? 0
    notAfter = chain.map(\.notAfter).min() ?? 0
    guard unsafe X509_check_private_key(chain[0].pointer, self.key.pointer) == 1 else {
      throw .mismatch
    }
    // What OpenSSL's security level forbids, a short RSA key say, is told now and not to the first client.
    _ = try TLSContext(self)
  }

  /// Whether the certificate is valid at a moment.
  ///
  /// - Parameter time: seconds since 1970.
  public func isValid(at time: Int64) -> Bool { notBefore <= time && time <= notAfter }

  /// Gives the pair to a context.
  func install(in context: OpaquePointer) throws(TLSError) {
    ERR_clear_error()
    var isTaken = unsafe SSL_CTX_use_certificate(context, chain[0].pointer) == 1
    for issuer in chain.dropFirst() {
      isTaken = unsafe isTaken && copenssl_add_chain_certificate(context, issuer.pointer) == 1
    }
    isTaken = unsafe isTaken && SSL_CTX_use_PrivateKey(context, key.pointer) == 1
    guard isTaken else { throw .refused(Self.reason) }
  }

  /// What OpenSSL says went wrong first.
  static var reason: String {
    let code = ERR_get_error()
    return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
      ?? "error \(code)"
  }

  /// - Returns: at least one certificate.
  private static func chain(_ pem: [UInt8]) throws(TLSError) -> [X509Reference] {
    guard let source = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else {
      throw .noCertificate
    }
    defer { unsafe BIO_free(source) }
    var chain: [X509Reference] = []
    while let x509 = unsafe X509Reference(PEM_read_bio_X509(source, nil, nil, nil)) {
      chain.append(x509)
    }
    // The end is told as an error too: that no further PEM begins.
    guard ERR_peek_last_error() & 0x7f_ffff == UInt(PEM_R_NO_START_LINE) else {
      throw .malformedCertificate(chain.count + 1)
    }
    guard !chain.isEmpty else { throw .noCertificate }
    return chain
  }

  private static func key(_ pem: [UInt8]) throws(TLSError) -> KeyReference {
    guard let source = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else {
      throw .noKey
    }
    defer { unsafe BIO_free(source) }
    // Without an answer of ours OpenSSL would ask the terminal for a passphrase.
    var wasAsked = false
    let key = unsafe withUnsafeMutablePointer(to: &wasAsked) { wasAsked in
      unsafe PEM_read_bio_PrivateKey(
        source, nil,
        { _, _, _, wasAsked in
          unsafe wasAsked?.assumingMemoryBound(to: Bool.self).pointee = true
          return -1
        }, wasAsked)
    }
    guard let key = unsafe KeyReference(key) else { throw wasAsked ? .encryptedKey : .noKey }
    return key
  }
}

/// A certificate of OpenSSL, freed with its last reference.
@safe
private final class X509Reference {
  let pointer: OpaquePointer

  init?(_ pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_free(pointer) }

  var notBefore: Int64 { unsafe Self.seconds(of: X509_get0_notBefore(pointer)) ?? .max }

  var notAfter: Int64 { unsafe Self.seconds(of: X509_get0_notAfter(pointer)) ?? .min }

  private static func seconds(of time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var parts = unsafe tm()
    guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return unsafe Int64(timegm(&parts))
  }
}

/// A private key of OpenSSL, freed with its last reference.
@safe
private final class KeyReference {
  let pointer: OpaquePointer

  init?(_ pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe EVP_PKEY_free(pointer) }
}
