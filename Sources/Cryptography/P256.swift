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
    self.key = key
    self.publicKey = publicKey
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

/// A point on the curve P-256 that keys are agreed on with.
public struct P256PublicKey: Sendable {
  /// The length of an uncompressed point, in bytes.
  public static let length = 65

  let key: EVPKey
  /// The point: 4, and two numbers of 32 bytes, big-endian (SEC 1 section 2.3.3).
  public let bytes: [UInt8]

  /// Reads an uncompressed point.
  ///
  /// - Parameter bytes: ``length`` bytes.
  /// - Returns: nil unless they are a point on the curve.
  public init?(_ bytes: [UInt8]) {
    defer { ERR_clear_error() }
    guard bytes.count == Self.length, bytes[0] == 4, let key = P256.parameters(),
      unsafe EVP_PKEY_set1_encoded_public_key(key.pointer, bytes, bytes.count) == 1
    else { return nil }
    self.key = key
    self.bytes = bytes
  }

  /// Extracts the public half of a pair, or returns nil if OpenSSL fails.
  init?(of pair: EVPKey) {
    defer { ERR_clear_error() }
    var bytes = [UInt8](repeating: 0, count: Self.length)
    var length = 0
    guard
      unsafe EVP_PKEY_get_octet_string_param(
        pair.pointer, OSSL_PKEY_PARAM_PUB_KEY, &bytes, bytes.count, &length) == 1,
      length == Self.length
    else { return nil }
    key = pair
    self.bytes = bytes
  }
}

/// The curve P-256 in OpenSSL.
enum P256 {
  /// Makes a key that has the curve and nothing else, or nil if OpenSSL fails.
  static func parameters() -> EVPKey? { unsafe make(EVP_PKEY_paramgen_init, EVP_PKEY_paramgen) }

  /// Makes a new pair, or nil if OpenSSL fails.
  static func pair() -> EVPKey? { unsafe make(EVP_PKEY_keygen_init, EVP_PKEY_keygen) }

  private static func make(
    _ begin: (OpaquePointer?) -> CInt,
    _ finish: (OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>?) -> CInt
  ) -> EVPKey? {
    defer { ERR_clear_error() }
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard unsafe begin(context) == 1,
      unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
      unsafe finish(context, &key) == 1
    else { return nil }
    return unsafe EVPKey(adopting: key)
  }
}

/// A key of OpenSSL's, freed with its last reference.
@safe package final class EVPKey: Sendable {
  // Safe to share: changed in init only, and OpenSSL locks what it caches in it.
  /// The key, an `EVP_PKEY`.
  package nonisolated(unsafe) let pointer: OpaquePointer

  /// Takes over a reference, or returns nil if there is none.
  package init?(adopting pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
    guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return }
    // Points are read uncompressed, whichever form they came in.
    unsafe EVP_PKEY_set_utf8_string_param(
      pointer, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
      OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED)
  }

  deinit { unsafe EVP_PKEY_free(pointer) }

  /// OpenSSL's name of the key's curve, or nil if the key is on none.
  package var group: String? {
    var name = [CChar](repeating: 0, count: 80)
    guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns one of the key's numbers, big-endian.
  ///
  /// - Parameters:
  ///   - name: OpenSSL's name of the number.
  ///   - length: the bytes that it fills, or nil for as many as it has.
  /// - Returns: nil if keys of this kind have no such number, or OpenSSL fails.
  package func number(_ name: String, length: Int? = nil) -> [UInt8]? {
    defer { ERR_clear_error() }
    var number: OpaquePointer?
    guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else { return nil }
    defer { unsafe BN_clear_free(number) }
    let length = unsafe length ?? (Int(BN_num_bits(number)) + 7) / 8
    var bytes = [UInt8](repeating: 0, count: length)
    return unsafe BN_bn2binpad(number, &bytes, CInt(length)) == length ? bytes : nil
  }

  /// Signs a digest with ECDSA.
  ///
  /// - Parameters:
  ///   - digest: the digest of a message, not longer than the curve's numbers.
  ///   - size: the length of such a number, in bytes.
  /// - Returns: R and S, `size` bytes each, big-endian; nil if OpenSSL fails.
  package func ecdsaSignature(of digest: [UInt8], size: Int) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let context = unsafe EVP_PKEY_CTX_new(pointer, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 2 * size + 16)
    var length = encoded.count
    guard unsafe EVP_PKEY_sign_init(context) == 1,
      unsafe EVP_PKEY_sign(context, &encoded, &length, digest, digest.count) == 1
    else { return nil }
    // OpenSSL writes ASN.1.
    let signature = unsafe encoded.withUnsafeBufferPointer { encoded in
      var start = encoded.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &start, length)
    }
    guard let signature = unsafe signature else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    var numbers = [UInt8](repeating: 0, count: 2 * size)
    let isWritten = unsafe numbers.withUnsafeMutableBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return false }
      let r = unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, Int32(size))
      let s = unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + size, Int32(size))
      return r == Int32(size) && s == Int32(size)
    }
    return isWritten ? numbers : nil
  }
}
