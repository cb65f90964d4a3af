public import Platform

internal import COpenSSL
internal import Glibc

/// A certificate with its chain and its private key, found to belong together.
public final class TLSCredentials: Sendable {
  private let chain: [X509Certificate]
  private let key: EVPKey

  /// The start of the time in which the certificate and its chain are valid.
  public let notBefore: Timestamp
  /// The end of the time in which the certificate and its chain are valid.
  public let notAfter: Timestamp

  /// Reads a certificate chain and a key.
  ///
  /// - Parameters:
  ///   - certificate: PEM; the own certificate first, then those that lead to the root.
  ///   - key: PEM, not encrypted.
  /// - Throws: ``TLSError``. An expired certificate is accepted.
  public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
    let (chain, isWhole) = PEM.certificates(in: certificate)
    guard isWhole else { throw .malformedCertificate(chain.count + 1) }
    guard let own = chain.first else { throw .noCertificate }
    let starts = chain.compactMap(\.notBefore)
    let ends = chain.compactMap(\.notAfter)
    guard let notBefore = starts.max(), let notAfter = ends.min(),
      starts.count == chain.count, ends.count == chain.count
    else { throw .malformedCertificate(1) }
    do throws(PEM.KeyError) {
      self.key = try PEM.privateKey(in: key)
    } catch { throw error == .encrypted ? .encryptedKey : .noKey }
    self.chain = chain
    self.notBefore = notBefore
    self.notAfter = notAfter
    defer { ERR_clear_error() }
    guard unsafe X509_check_private_key(own.pointer, self.key.pointer) == 1 else { throw .mismatch }
    // OpenSSL's security level may forbid the key, such as a short one of RSA: that is found now, not in the first handshake.
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

/// The reasons for which a certificate and its key can't be used.
public enum TLSError: Error, Equatable, CustomStringConvertible {
  /// The file has no certificate in PEM.
  case noCertificate
  /// A certificate of the chain, counted from 1, is malformed.
  case malformedCertificate(Int)
  /// The file has no private key in PEM.
  case noKey
  /// The key needs a passphrase.
  case encryptedKey
  /// The key belongs to another certificate.
  case mismatch
  /// OpenSSL refuses the pair, for the reason that it states.
  case refused(String)

  /// A description of the mistake, and of the remedy where that isn't obvious.
  public var description: String {
    switch self {
    case .noCertificate: "there is no certificate in PEM (BEGIN CERTIFICATE)"
    case .malformedCertificate(let number): "certificate \(number) of the chain is malformed"
    case .noKey: "there is no private key in PEM (BEGIN PRIVATE KEY)"
    case .encryptedKey: "the key is encrypted; a daemon needs it without a passphrase"
    case .mismatch:
      "the key doesn't belong to the first certificate, which must be the server's own"
    case .refused(let reason): "the certificate or key can't be used: \(reason)"
    }
  }

  /// True if the key is at fault, as opposed to the certificate.
  public var concernsKey: Bool {
    switch self {
    case .noKey, .encryptedKey, .mismatch: true
    case .noCertificate, .malformedCertificate, .refused: false
    }
  }
}

/// A certificate of OpenSSL's (RFC 5280), freed with its last reference.
@safe package final class X509Certificate: Sendable {
  // Safe to share: changed by its maker only, and OpenSSL locks what it caches in it.
  /// The certificate, an `X509`.
  package nonisolated(unsafe) let pointer: OpaquePointer

  /// Takes over a reference, or returns nil if there is none.
  package init?(adopting pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_free(pointer) }

  /// Reads DER, or returns nil if that is no certificate or has bytes behind it.
  package convenience init?(der: [UInt8]) {
    unsafe self.init(
      adopting: der.withUnsafeBufferPointer { buffer in
        var next = buffer.baseAddress
        guard let x509 = unsafe d2i_X509(nil, &next, buffer.count) else { return nil }
        if unsafe next == buffer.baseAddress?.advanced(by: buffer.count) { return unsafe x509 }
        unsafe X509_free(x509)
        return nil
      })
  }

  /// The start of the validity, or nil if the certificate states no time.
  package var notBefore: Timestamp? { unsafe Self.timestamp(X509_get0_notBefore(pointer)) }

  /// The end of the validity, or nil if the certificate states no time.
  package var notAfter: Timestamp? { unsafe Self.timestamp(X509_get0_notAfter(pointer)) }

  private static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
    var parts = unsafe tm()
    guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return unsafe Timestamp(seconds: Int64(timegm(&parts)))
  }
}
