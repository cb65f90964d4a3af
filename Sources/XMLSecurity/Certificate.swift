internal import COpenSSL
internal import Cryptography
public import Platform

/// An X.509 certificate (RFC 5280).
public struct Certificate: Sendable {
  /// The certificate in DER.
  public let der: [UInt8]
  /// The subject in the form of RFC 2253.
  public let subject: String
  /// The issuer in the form of RFC 2253.
  public let issuer: String
  /// The subject's common name, the most specific if there are several.
  public let commonName: String?
  /// The start of the validity.
  public let notBefore: Timestamp
  /// The end of the validity.
  public let notAfter: Timestamp
  /// The algorithm of the issuer's signature, such as `SHA256withRSA`.
  public let signatureAlgorithm: String
  /// The certified key, or nil if its kind or size is not accepted for signatures.
  public let key: PublicKey?
  /// The certificate as OpenSSL reads it.
  let handle: X509Certificate

  /// Reads a certificate.
  ///
  /// - Parameter der: one certificate in DER, without further bytes.
  /// - Throws: ``CertificateError``.
  public init(der: [UInt8]) throws(CertificateError) {
    guard let x509 = X509Certificate(der: der) else {
      throw CertificateError("not a DER-encoded X.509 certificate")
    }
    try self.init(x509)
  }

  /// Reads all certificates of a PEM text in their order, and skips other blocks.
  ///
  /// - Throws: ``CertificateError`` if there is none, or one can't be read.
  public static func certificates(pem: [UInt8]) throws(CertificateError) -> [Certificate] {
    let certificates = try PEM.certificates(in: pem).certificates.map {
      x509 throws(CertificateError) in try Certificate(x509)
    }
    guard !certificates.isEmpty else { throw CertificateError("no certificate in the PEM text") }
    return certificates
  }

  init(_ x509: X509Certificate) throws(CertificateError) {
    guard let der = x509.der, let notBefore = x509.notBefore, let notAfter = x509.notAfter else {
      throw CertificateError("the certificate's validity is no time")
    }
    (self.der, self.notBefore, self.notAfter) = (der, notBefore, notAfter)
    subject = x509.subject
    issuer = x509.issuer
    commonName = x509.commonName
    signatureAlgorithm = x509.signatureAlgorithm
    key = x509.publicKey.flatMap(PublicKey.init)
    handle = x509
    ERR_clear_error()
  }
}

extension Certificate {
  /// The key that has lent its standing to the certified one, as the official TokenScript tool writes it: a bare point on
  /// secp256k1 in the issuerAltName, where general names belong. Nil unless that key has signed the certificate with
  /// ECDSA and SHA-256.
  public var delegator: PublicKey? {
    defer { ERR_clear_error() }
    guard let point = handle.issuerAltName, point.count == 65, point[0] == 0x04,
      let info = DER.curveKey(.secp256k1, point: point),
      let key = EVPKey(subjectPublicKeyInfo: info).flatMap(PublicKey.init),
      handle.isSignedWithECDSA(by: key.handle)
    else { return nil }
    return key
  }

  /// Returns whether a moment lies within the validity.
  public func isValid(at time: Timestamp) -> Bool { notBefore <= time && time <= notAfter }
}

extension Certificate: Hashable {
  /// Compares the DER.
  public static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }

  /// Hashes the DER.
  public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

/// The reason why a certificate or a file of roots can't be read.
public struct CertificateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}
