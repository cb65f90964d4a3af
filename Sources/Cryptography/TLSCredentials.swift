internal import COpenSSL
public import Platform

/// A certificate with its chain and its private key, found to belong together.
public final class TLSCredentials: Sendable {
  private let chain: [X509Certificate]
  private let key: EVPKey

  /// The start of the time in which the certificate and its chain are valid.
  public let notBefore: Timestamp
  /// The end of the time in which the certificate and its chain are valid.
  public let notAfter: Timestamp

  /// Takes a certificate chain and a key.
  ///
  /// - Parameters:
  ///   - certificate: PEM; the own certificate first, then those that lead to the root.
  ///   - key: PEM, not encrypted.
  /// - Throws: ``TLSError``. An expired certificate is taken.
  public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
    let (chain, isWhole) = PEM.certificates(in: certificate)
    guard isWhole else { throw .malformedCertificate(chain.count + 1) }
    guard let own = chain.first else { throw .noCertificate }
    let (starts, ends) = (chain.compactMap(\.notBefore), chain.compactMap(\.notAfter))
    guard let notBefore = starts.max(), let notAfter = ends.min(),
      starts.count == chain.count, ends.count == chain.count
    else { throw .malformedCertificate(1) }
    do throws(PEM.KeyError) {
      self.key = try PEM.privateKey(in: key)
    } catch { throw error == .encrypted ? .encryptedKey : .noKey }
    (self.chain, self.notBefore, self.notAfter) = (chain, notBefore, notAfter)
    defer { ERR_clear_error() }
    guard unsafe X509_check_private_key(own.pointer, self.key.pointer) == 1 else { throw .mismatch }
    // What OpenSSL's security level forbids, such as a short RSA key, is told now and not in the first handshake.
    let context = unsafe SSL_CTX_new(TLS_method())
    guard let context = unsafe context else { throw .refused(Self.reason) }
    defer { unsafe SSL_CTX_free(context) }
    try unsafe install(in: context)
  }

  /// Returns whether the certificate and its chain are valid at a moment.
  public func isValid(at time: Timestamp) -> Bool { notBefore <= time && time <= notAfter }

  /// Gives certificate, chain and key to an `SSL_CTX`.
  package func install(in context: OpaquePointer) throws(TLSError) {
    ERR_clear_error()
    var isTaken = unsafe SSL_CTX_use_certificate(context, chain[0].pointer) == 1
    for issuer in chain.dropFirst() {
      isTaken = unsafe isTaken && copenssl_add_chain_certificate(context, issuer.pointer) == 1
    }
    isTaken = unsafe isTaken && SSL_CTX_use_PrivateKey(context, key.pointer) == 1
    guard isTaken else { throw .refused(Self.reason) }
  }

  /// OpenSSL's words for the first error in its queue.
  package static var reason: String {
    let code = ERR_get_error()
    return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
      ?? "error \(code)"
  }
}
