internal import COpenSSL

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
    (self.key, self.bytes) = (key, bytes)
  }

  /// Takes the public half of a pair, or returns nil if OpenSSL fails.
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
