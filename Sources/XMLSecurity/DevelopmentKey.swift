internal import COpenSSL
internal import Cryptography
internal import Glibc

/// A new key with a certificate that it signed itself, to try things with.
public struct DevelopmentKey: Sendable {
  /// The private key in PEM (PKCS #8), not encrypted.
  public let keyPEM: [UInt8]
  /// The certificate in PEM.
  public let certificatePEM: [UInt8]

  /// Makes a key and its certificate.
  ///
  /// - Parameters:
  ///   - kind: RSA is of 2048 bits.
  ///   - commonName: the subject's, and the issuer's; 1 to 64 characters (RFC 5280, appendix A.1).
  ///   - notBefore: start of the validity in seconds since 1970 UTC.
  ///   - days: length of the validity.
  public init(
    _ kind: SigningKey.Kind, commonName: String, notBefore: Int64, days: Int = 3650
  ) throws(SigningError) {
    defer { ERR_clear_error() }
    guard let key = Self.generate(kind) else { throw SigningError("no key could be made") }
    guard
      let certificate = Self.certificate(
        for: key, commonName, from: notBefore, to: notBefore + Int64(days) * 86_400)
    else { throw SigningError("“\(commonName)” can't be a common name, or the dates no validity") }
    guard let sink = unsafe BIO_new(BIO_s_mem()) else { throw SigningError("out of memory") }
    defer { unsafe BIO_free(sink) }
    guard unsafe PEM_write_bio_PKCS8PrivateKey(sink, key.pointer, nil, nil, 0, nil, nil) == 1
    else { throw SigningError("the key can't be written") }
    keyPEM = unsafe contents(of: sink)
    guard unsafe PEM_write_bio_X509(sink, certificate.pointer) == 1 else {
      throw SigningError("the certificate can't be written")
    }
    certificatePEM = unsafe contents(of: sink)
  }

  /// Writes both to files that must not exist yet.
  ///
  /// - Parameters:
  ///   - key: path of the key, which only its owner may read (mode 0600).
  ///   - certificate: path of the certificate (mode 0644 less the umask).
  public func write(key: String, certificate: String) throws(SigningError) {
    try Self.write(keyPEM, to: key, mode: 0o600)
    try Self.write(certificatePEM, to: certificate, mode: 0o644)
  }

  private static func generate(_ kind: SigningKey.Kind) -> EVPKey? {
    let name = kind == .rsa ? "RSA" : "EC"
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    guard unsafe EVP_PKEY_keygen_init(context) == 1 else { return nil }
    let isSet =
      if let group = kind.group { unsafe EVP_PKEY_CTX_set_group_name(context, group) } else {
        unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
      }
    var key: OpaquePointer?
    guard isSet == 1, unsafe EVP_PKEY_generate(context, &key) == 1 else { return nil }
    return unsafe EVPKey(adopting: key)
  }

  private static func certificate(
    for key: EVPKey, _ commonName: String, from start: Int64, to end: Int64
  ) -> X509Certificate? {
    guard let certificate = unsafe X509Certificate(adopting: X509_new()) else { return nil }
    let x509 = unsafe certificate.pointer
    let name = unsafe X509_get_subject_name(x509)
    let text = [UInt8](commonName.utf8)
    // Positive, and never the same twice (RFC 5280, section 4.1.2.2).
    let serial = SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) } >> 1
    guard unsafe X509_set_version(x509, 2) == 1,
      unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1,
      unsafe ASN1_TIME_set(X509_getm_notBefore(x509), Int(start)) != nil,
      unsafe ASN1_TIME_set(X509_getm_notAfter(x509), Int(end)) != nil,
      unsafe X509_NAME_add_entry_by_NID(
        name, NID_commonName, MBSTRING_UTF8, text, Int32(clamping: text.count), -1, 0) == 1,
      unsafe X509_set_issuer_name(x509, name) == 1,
      unsafe X509_set_pubkey(x509, key.pointer) == 1,
      unsafe X509_sign(x509, key.pointer, EVP_sha256()) > 0
    else { return nil }
    return certificate
  }

  private static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t
  ) throws(SigningError) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard file >= 0 else {
      throw SigningError("\(path): \(unsafe String(cString: strerror(errno)))")
    }
    var offset = 0
    while offset < bytes.count {
      let count = unsafe bytes[offset...].withUnsafeBytes {
        unsafe Glibc.write(file, $0.baseAddress, $0.count)
      }
      guard count > 0 else {
        close(file)
        throw SigningError("\(path): \(unsafe String(cString: strerror(errno)))")
      }
      offset += count
    }
    guard fsync(file) == 0, close(file) == 0 else {
      throw SigningError("\(path): \(unsafe String(cString: strerror(errno)))")
    }
  }
}
