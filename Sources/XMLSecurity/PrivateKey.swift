public import Platform

internal import COpenSSL
internal import Cryptography
internal import Ethereum

/// A private key that signs: RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1.
public struct PrivateKey: Sendable {
  /// The public half of the key.
  public let publicKey: PublicKey
  /// The key as OpenSSL signs with it.
  let handle: EVPKey

  /// Reads a key file: PEM, or a key on secp256k1 as 64 hexadecimal digits, as the official tool writes it.
  ///
  /// - Throws: ``SigningError``, whose words never repeat the key.
  public init(file: [UInt8]) throws(SigningError) {
    if let key = try Self.hexadecimalKey(in: file) {
      try self.init(key)
    } else {
      try self.init(pem: file)
    }
  }

  /// Reads a key in PEM.
  ///
  /// - Throws: ``SigningError``.
  public init(pem: [UInt8]) throws(SigningError) {
    guard let key = try? PEM.privateKey(in: pem) else {
      throw SigningError("no private key in the PEM text, or an encrypted one")
    }
    try self.init(key)
  }

  private init(_ key: EVPKey) throws(SigningError) {
    // Read anew, so that a public key never carries the private half.
    guard
      let publicKey = key.subjectPublicKeyInfo.flatMap(EVPKey.init(subjectPublicKeyInfo:))
        .flatMap(PublicKey.init)
    else {
      throw SigningError(
        "the key must be RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1")
    }
    self.publicKey = publicKey
    handle = key
  }

  // MARK: - Hexadecimal digits

  /// Reads hexadecimal digits, in either case, with or without `0x`, and blanks at both ends.
  ///
  /// - Returns: nil for a text that isn't made of such digits.
  private static func hexadecimalKey(in file: [UInt8]) throws(SigningError) -> EVPKey? {
    let file = file.starts(with: markOfUTF8) ? file[markOfUTF8.count...] : file[...]
    let isBlank: (UInt8) -> Bool = { [0x20, 0x09, 0x0d, 0x0a].contains($0) }
    guard let first = file.firstIndex(where: { !isBlank($0) }),
      let last = file.lastIndex(where: { !isBlank($0) })
    else { return nil }
    var digits = file[first...last]
    if digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8) {
      digits = digits.dropFirst(2)
    }
    let isDigit: (UInt8) -> Bool = { Character(UnicodeScalar($0)).isHexDigit && $0 < 0x80 }
    guard digits.allSatisfy(isDigit) else { return nil }
    guard digits.count == 64, var secret = Hex.decode(digits) else {
      throw SigningError(
        "a key in hexadecimal digits has 64 of them, and this one has \(digits.count)")
    }
    defer { wipe(&secret) }
    guard WalletSignature.isSecret(secret), let key = key(onSecp256k1: secret) else {
      throw SigningError("the number is no key on secp256k1: it is zero, or not below the order")
    }
    return key
  }

  /// Makes the key of a number by its encoding (RFC 5915), to which OpenSSL adds the public half.
  private static func key(onSecp256k1 secret: [UInt8]) -> EVPKey? {
    defer { ERR_clear_error() }
    guard let curve = PublicKey.Kind.secp256k1.curve?.der else { return nil }
    let parameters: [UInt8] = [0xa0, UInt8(curve.count)] + curve
    let content: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20] + secret + parameters
    var der: [UInt8] = [0x30, UInt8(content.count)] + content
    defer { wipe(&der) }
    return unsafe der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return unsafe EVPKey(adopting: d2i_PrivateKey(EVP_PKEY_EC, nil, &start, buffer.count))
    }
  }
}

/// The reason why something can't be signed.
public struct SigningError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// A new key with a self-signed certificate, for demos and tests.
public struct DevelopmentKey: Sendable {
  /// The private key in PEM (PKCS #8), without encryption.
  public let keyPEM: [UInt8]
  /// The certificate in PEM.
  public let certificatePEM: [UInt8]

  /// Makes a key and its certificate.
  ///
  /// - Parameters:
  ///   - kind: the kind of the key; RSA keys have 2048 bits.
  ///   - commonName: the common name of subject and issuer, 1 to 64 characters (RFC 5280, appendix A.1).
  /// - Throws: ``SigningError``.
  public init(
    _ kind: PublicKey.Kind, commonName: String, notBefore: Timestamp, days: Int = 3650
  ) throws(SigningError) {
    defer { ERR_clear_error() }
    guard let key = Self.generate(kind) else { throw SigningError("no key could be made") }
    guard
      let certificate = Self.certificate(
        for: key, commonName, from: notBefore, to: notBefore + .seconds(days * 86_400))
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

  private static func generate(_ kind: PublicKey.Kind) -> EVPKey? {
    let name = kind == .rsa ? "RSA" : "EC"
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    guard unsafe EVP_PKEY_keygen_init(context) == 1 else { return nil }
    let isSet =
      if let group = kind.curve?.group { unsafe EVP_PKEY_CTX_set_group_name(context, group) } else {
        unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
      }
    var key: OpaquePointer?
    guard isSet == 1, unsafe EVP_PKEY_generate(context, &key) == 1 else { return nil }
    return unsafe EVPKey(adopting: key)
  }

  private static func certificate(
    for key: EVPKey, _ commonName: String, from start: Timestamp, to end: Timestamp
  ) -> X509Certificate? {
    guard let certificate = unsafe X509Certificate(adopting: X509_new()) else { return nil }
    let x509 = unsafe certificate.pointer
    let name = unsafe X509_get_subject_name(x509)
    let text = [UInt8](commonName.utf8)
    // Positive and unique (RFC 5280, section 4.1.2.2).
    let serial = SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) } >> 1
    guard unsafe X509_set_version(x509, 2) == 1,
      unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1,
      unsafe ASN1_TIME_set(X509_getm_notBefore(x509), Int(start.seconds)) != nil,
      unsafe ASN1_TIME_set(X509_getm_notAfter(x509), Int(end.seconds)) != nil,
      unsafe X509_NAME_add_entry_by_NID(
        name, NID_commonName, MBSTRING_UTF8, text, Int32(clamping: text.count), -1, 0) == 1,
      unsafe X509_set_issuer_name(x509, name) == 1,
      unsafe X509_set_pubkey(x509, key.pointer) == 1,
      unsafe X509_sign(x509, key.pointer, EVP_sha256()) > 0
    else { return nil }
    return certificate
  }
}
