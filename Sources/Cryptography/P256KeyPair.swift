internal import COpenSSL

/// A pair of keys on the curve P-256, which agrees on keys and signs.
public struct P256KeyPair: Sendable {
  /// OpenSSL fails, or a text holds no key on P-256.
  public struct Unusable: Error {}

  private let key: EVPKey
  /// The public half.
  public let publicKey: P256PublicKey

  private init(_ key: EVPKey?) throws(Unusable) {
    guard let key, key.group == "prime256v1", let publicKey = P256PublicKey(of: key) else {
      throw Unusable()
    }
    (self.key, self.publicKey) = (key, publicKey)
  }

  /// Makes a new pair.
  ///
  /// - Throws: ``Unusable`` if OpenSSL fails.
  public init() throws(Unusable) { try self.init(P256.pair()) }

  /// Reads a pair.
  ///
  /// - Parameter pem: a PKCS #8 key without a password, as ``pem`` writes it.
  /// - Throws: ``Unusable`` for anything else.
  public init(pem: [UInt8]) throws(Unusable) { try self.init(try? PEM.privateKey(in: pem)) }

  /// The pair as a PKCS #8 key in PEM; nil if OpenSSL fails.
  public var pem: [UInt8]? {
    defer { ERR_clear_error() }
    let sink = unsafe BIO_new(BIO_s_secmem())
    defer { unsafe BIO_free(sink) }
    guard
      unsafe PEM_write_bio_PKCS8PrivateKey(sink, key.pointer, nil, nil, 0, nil, nil) == 1
    else { return nil }
    var text = [UInt8](repeating: 0, count: 1024)
    let count = unsafe BIO_read(sink, &text, CInt(text.count))
    guard count > 0, count < text.count else { return nil }
    defer { wipe(&text) }
    return Array(text[..<Int(count)])
  }

  /// The secret half: 32 bytes, big-endian; nil if OpenSSL fails.
  package var secretNumber: [UInt8]? { key.number(OSSL_PKEY_PARAM_PRIV_KEY, length: 32) }

  /// Agrees on a secret (ECDH, NIST SP 800-56A).
  ///
  /// - Parameter other: the other side's public key.
  /// - Returns: 32 bytes that both sides can compute; nil if OpenSSL fails.
  public func sharedSecret(with other: P256PublicKey) -> [UInt8]? {
    defer { ERR_clear_error() }
    let context = unsafe EVP_PKEY_CTX_new(key.pointer, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var secret = [UInt8](repeating: 0, count: 32)
    var length = secret.count
    guard unsafe EVP_PKEY_derive_init(context) == 1,
      unsafe EVP_PKEY_derive_set_peer(context, other.key.pointer) == 1,
      unsafe EVP_PKEY_derive(context, &secret, &length) == 1, length == secret.count
    else { return nil }
    return secret
  }
}
