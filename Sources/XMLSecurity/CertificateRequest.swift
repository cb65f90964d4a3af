internal import COpenSSL
internal import Cryptography
public import Platform

/// A request for a certificate (PKCS #10), as the official TokenScript tool writes and reads it.
@safe public struct CertificateRequest {
  /// The common name of the subject.
  public let commonName: String
  /// The key to be certified.
  public let key: PublicKey
  private let request: OwnedRequest

  /// Makes the text of a request: PEM with the label that the official tool writes.
  ///
  /// - Parameters:
  ///   - key: the key to be certified, which signs the request with SHA-256.
  ///   - commonName: the subject's common name, 1 to 64 characters.
  /// - Throws: ``SigningError``.
  public static func pem(for key: PrivateKey, commonName: String) throws(SigningError) -> [UInt8] {
    defer { ERR_clear_error() }
    guard let request = unsafe OwnedRequest(adopting: X509_REQ_new()),
      let name = DistinguishedName(commonName: commonName)
    else { throw SigningError("“\(commonName)” can't be a common name") }
    // The official tool writes a password, which nobody needs.
    let password = [UInt8](Hex.encode(SecureRandom.bytes(16)).utf8)
    // digitalSignature and keyEncipherment.
    let usage = CertificateExtension(
      NID_key_usage, isCritical: false, [0x03, 0x02, 0x05, 0xa0])
    guard let list = unsafe OPENSSL_sk_new_null(), let usage else {
      throw SigningError("out of memory")
    }
    defer { unsafe OPENSSL_sk_free(list) }
    unsafe OPENSSL_sk_push(list, UnsafeRawPointer(usage.pointer))
    guard unsafe X509_REQ_set_version(request.pointer, 0) == 1,
      unsafe X509_REQ_set_subject_name(request.pointer, name.pointer) == 1,
      unsafe X509_REQ_set_pubkey(request.pointer, key.handle.pointer) == 1,
      unsafe X509_REQ_add1_attr_by_NID(
        request.pointer, NID_pkcs9_challengePassword, MBSTRING_UTF8, password,
        Int32(password.count)) == 1,
      unsafe X509_REQ_add_extensions(request.pointer, list) == 1,
      unsafe X509_REQ_sign(request.pointer, key.handle.pointer, EVP_sha256()) > 0
    else { throw SigningError("the request can't be made for “\(commonName)”") }
    guard let sink = unsafe BIO_new(BIO_s_mem()) else { throw SigningError("out of memory") }
    defer { unsafe BIO_free(sink) }
    guard unsafe PEM_write_bio_X509_REQ_NEW(sink, request.pointer) == 1 else {
      throw SigningError("the request can't be written")
    }
    return unsafe contents(of: sink)
  }

  /// Reads a request in PEM, with either label.
  ///
  /// - Throws: ``CertificateError`` if it is none, its signature doesn't hold, or its key isn't accepted.
  public init(pem: [UInt8]) throws(CertificateError) {
    defer { ERR_clear_error() }
    let found = unsafe pem.withUnsafeBytes { bytes in
      let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      defer { unsafe BIO_free(source) }
      return unsafe PEM_read_bio_X509_REQ(source, nil, nil, nil)
    }
    guard let request = unsafe OwnedRequest(adopting: found) else {
      throw CertificateError("no certificate request in the PEM text")
    }
    guard let key = unsafe EVPKey(adopting: X509_REQ_get_pubkey(request.pointer)),
      let publicKey = key.subjectPublicKeyInfo.flatMap(EVPKey.init(subjectPublicKeyInfo:))
        .flatMap(PublicKey.init)
    else {
      throw CertificateError(
        "the request's key must be RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1")
    }
    guard unsafe X509_REQ_verify(request.pointer, key.pointer) == 1 else {
      throw CertificateError("the request's own signature does not hold")
    }
    guard
      let name = unsafe DistinguishedName.commonName(of: X509_REQ_get_subject_name(request.pointer))
    else { throw CertificateError("the request's subject has no common name") }
    commonName = name
    self.key = publicKey
    self.request = request
  }

  /// Makes a certificate with which the key is lent the standing of another, as the official tool makes it: serial number 1,
  /// no authority, a digital signature's only, and the issuing key's bare point as the issuer's other name.
  ///
  /// - Parameters:
  ///   - master: the issuing key, on secp256k1.
  ///   - issuer: the issuer's common name, 1 to 64 characters.
  ///   - start: the start of the validity, which ends two years later.
  /// - Returns: the certificate in PEM.
  /// - Throws: ``SigningError``.
  public func certificate(
    signedBy master: PrivateKey, issuer: String, from start: Timestamp
  ) throws(SigningError) -> [UInt8] {
    defer { ERR_clear_error() }
    guard master.publicKey.kind == .secp256k1, let point = master.handle.point else {
      throw SigningError("the issuing key must be on secp256k1")
    }
    guard let name = DistinguishedName(commonName: issuer) else {
      throw SigningError("“\(issuer)” can't be a common name")
    }
    guard let certificate = unsafe X509Certificate(adopting: X509_new()) else {
      throw SigningError("out of memory")
    }
    let end = start + .seconds(2 * 365 * 86_400)
    let x509 = unsafe certificate.pointer
    guard unsafe X509_set_version(x509, 2) == 1,
      unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), 1) == 1,
      unsafe ASN1_TIME_set(X509_getm_notBefore(x509), Int(start.seconds)) != nil,
      unsafe ASN1_TIME_set(X509_getm_notAfter(x509), Int(end.seconds)) != nil,
      unsafe X509_set_subject_name(x509, X509_REQ_get_subject_name(request.pointer)) == 1,
      unsafe X509_set_issuer_name(x509, name.pointer) == 1,
      unsafe X509_set_pubkey(x509, key.handle.pointer) == 1
    else { throw SigningError("the certificate can't be made") }
    let subjectID = SHA1.hash(Self.keyBits(key))
    let issuerID = SHA1.hash(point)
    let extensions = [
      // No authority, and a path of length 0.
      CertificateExtension(
        NID_basic_constraints, isCritical: true, [0x30, 0x03, 0x02, 0x01, 0x00]),
      // digitalSignature.
      CertificateExtension(NID_key_usage, isCritical: true, [0x03, 0x02, 0x07, 0x80]),
      CertificateExtension(
        NID_subject_key_identifier, isCritical: false, [0x04, 0x14] + subjectID),
      CertificateExtension(
        NID_authority_key_identifier, isCritical: false, [0x30, 0x16, 0x80, 0x14] + issuerID),
      CertificateExtension(NID_issuer_alt_name, isCritical: true, point),
    ]
    for part in extensions {
      guard let part, unsafe X509_add_ext(x509, part.pointer, -1) == 1 else {
        throw SigningError("the certificate's extensions can't be made")
      }
    }
    guard unsafe X509_sign(x509, master.handle.pointer, EVP_sha256()) > 0,
      let sink = unsafe BIO_new(BIO_s_mem())
    else { throw SigningError("the certificate can't be signed") }
    defer { unsafe BIO_free(sink) }
    guard unsafe PEM_write_bio_X509(sink, x509) == 1 else {
      throw SigningError("the certificate can't be written")
    }
    return unsafe contents(of: sink)
  }

  /// The content of the bit string of a key, by whose SHA-1 certificates name it (RFC 5280, section 4.2.1.2).
  private static func keyBits(_ key: PublicKey) -> [UInt8] {
    if key.kind != .rsa { return key.handle.point ?? [] }
    return unsafe derEncoded { unsafe i2d_PublicKey(key.handle.pointer, $0) } ?? []
  }
}

/// A request of OpenSSL's, freed with its last reference.
@safe private final class OwnedRequest {
  let pointer: OpaquePointer

  init?(adopting pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_REQ_free(pointer) }
}

/// A name with a common name alone.
@safe private final class DistinguishedName {
  let pointer: OpaquePointer

  init?(commonName: String) {
    let text = [UInt8](commonName.utf8)
    guard !text.isEmpty, let name = unsafe X509_NAME_new() else { return nil }
    guard
      unsafe X509_NAME_add_entry_by_NID(
        name, NID_commonName, MBSTRING_UTF8, text, Int32(clamping: text.count), -1, 0) == 1
    else {
      unsafe X509_NAME_free(name)
      return nil
    }
    unsafe pointer = name
  }

  deinit { unsafe X509_NAME_free(pointer) }

  /// Returns the common name of a name, or nil without one.
  static func commonName(of name: OpaquePointer?) -> String? {
    unsafe X509Certificate.commonName(of: name)
  }
}

/// An extension of a certificate or a request.
@safe private final class CertificateExtension {
  let pointer: OpaquePointer

  /// Makes an extension of its content in DER, whatever that is: the issuer's other name of the official tool is none of
  /// the forms that OpenSSL writes.
  init?(_ kind: Int32, isCritical: Bool, _ content: [UInt8]) {
    guard let data = unsafe ASN1_OCTET_STRING_new() else { return nil }
    defer { unsafe ASN1_OCTET_STRING_free(data) }
    guard unsafe ASN1_OCTET_STRING_set(data, content, Int32(content.count)) == 1,
      let made = unsafe X509_EXTENSION_create_by_NID(nil, kind, isCritical ? 1 : 0, data)
    else { return nil }
    unsafe pointer = made
  }

  deinit { unsafe X509_EXTENSION_free(pointer) }
}
