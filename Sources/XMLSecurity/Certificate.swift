public import Platform

internal import COpenSSL
internal import Cryptography

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
    self.der = der
    self.notBefore = notBefore
    self.notAfter = notAfter
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

extension X509Certificate {
  var der: [UInt8]? { unsafe derEncoded { unsafe i2d_X509(pointer, $0) } }

  var publicKey: EVPKey? { unsafe EVPKey(adopting: X509_get_pubkey(pointer)) }

  var subject: String { unsafe Self.text(of: X509_get_subject_name(pointer)) }

  var issuer: String { unsafe Self.text(of: X509_get_issuer_name(pointer)) }

  var commonName: String? { unsafe Self.commonName(of: X509_get_subject_name(pointer)) }

  /// Returns the last common name of a name, or nil without one.
  static func commonName(of name: OpaquePointer?) -> String? {
    var last: Int32 = -1
    while case let next = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, last), next >= 0 {
      last = next
    }
    guard last >= 0, let entry = unsafe X509_NAME_get_entry(name, last) else { return nil }
    var utf8: UnsafeMutablePointer<UInt8>?
    let length = unsafe ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry))
    guard length >= 0, let start = unsafe utf8 else { return nil }
    defer { unsafe CRYPTO_free(start, #file, #line) }
    return unsafe String(
      decoding: UnsafeBufferPointer(start: start, count: Int(length)), as: UTF8.self)
  }

  /// The algorithm of the issuer's signature, by its name in the Java Security standard.
  var signatureAlgorithm: String {
    let algorithm = unsafe X509_get_signature_nid(pointer)
    var digest: Int32 = 0
    var key: Int32 = 0
    guard unsafe OBJ_find_sigid_algs(algorithm, &digest, &key) == 1, digest != NID_undef else {
      return Self.name(of: algorithm)
    }
    switch key {
    case NID_rsaEncryption: return Self.name(of: digest) + "withRSA"
    case NID_X9_62_id_ecPublicKey: return Self.name(of: digest) + "withECDSA"
    case NID_dsa: return Self.name(of: digest) + "withDSA"
    default: return Self.name(of: algorithm)
    }
  }

  /// The content of the only issuerAltName, which need not be a list of names; nil if there is none, or several.
  var issuerAltName: [UInt8]? {
    let place = unsafe X509_get_ext_by_NID(pointer, NID_issuer_alt_name, -1)
    guard place >= 0, unsafe X509_get_ext_by_NID(pointer, NID_issuer_alt_name, place) < 0,
      let data = unsafe X509_EXTENSION_get_data(X509_get_ext(pointer, place)),
      let start = unsafe ASN1_STRING_get0_data(data)
    else { return nil }
    return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(data))))
  }

  /// Returns whether a key has signed the certificate with ECDSA and SHA-256.
  func isSignedWithECDSA(by key: EVPKey) -> Bool {
    unsafe X509_get_signature_nid(pointer) == NID_ecdsa_with_SHA256
      && X509_verify(pointer, key.pointer) == 1
  }

  private static func name(of object: Int32) -> String {
    unsafe OBJ_nid2sn(object).map { unsafe String(cString: $0) } ?? "unknown"
  }

  /// Returns a name in the form of RFC 2253, with characters beyond ASCII unescaped, as the RFC allows.
  private static func text(of name: OpaquePointer?) -> String {
    guard let sink = unsafe BIO_new(BIO_s_mem()) else { return "" }
    defer { unsafe BIO_free(sink) }
    let flags = copenssl_rfc2253 & ~UInt(ASN1_STRFLGS_ESC_MSB)
    guard unsafe X509_NAME_print_ex(sink, name, 0, flags) >= 0 else { return "" }
    return String(decoding: unsafe contents(of: sink), as: UTF8.self)
  }
}

/// Returns the bytes that were written to a memory BIO.
func contents(of sink: OpaquePointer) -> [UInt8] {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while case let count = unsafe BIO_read(sink, &chunk, Int32(chunk.count)), count > 0 {
    bytes.append(contentsOf: chunk[..<Int(count)])
  }
  return bytes
}

/// The certificates that were read lately.
///
/// Most documents of a repository have one of a few signers, and OpenSSL 3 takes as long to read a certificate with its key
/// as to verify a signature with it. A certificate depends on its text alone, so nothing is checked here.
final class CertificateCache: Sendable {
  /// A repository has some ten signers, with two to four certificates each.
  private static let limit = 64
  /// The base64 of real certificates has 800 to 3,500 bytes.
  private static let sizeLimit = 8192

  private let certificates = Lock<[String: Certificate]>([:])

  /// Returns the certificate of an element, which is read unless it is known.
  ///
  /// - Parameter element: an X509Certificate, which holds one certificate in DER and base64.
  /// - Returns: the certificate, or nil if the element holds none.
  /// - Throws: ``CertificateError`` if it can't be used.
  func certificate(in element: XMLElement) throws(CertificateError) -> Certificate? {
    let text = element.text
    if let known = certificates.withLock({ $0[text] }) { return known }
    guard let x509 = element.base64.flatMap(X509Certificate.init(der:)) else { return nil }
    let certificate = try Certificate(x509)
    guard text.utf8.count <= Self.sizeLimit else { return certificate }
    certificates.withLock { known in
      // Strangers' certificates may push out all others, which are then read again.
      if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
      known[text] = certificate
    }
    return certificate
  }
}
