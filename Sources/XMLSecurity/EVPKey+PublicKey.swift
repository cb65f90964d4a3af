internal import COpenSSL
internal import Cryptography

extension EVPKey {
  /// Reads a DER-encoded SubjectPublicKeyInfo, or returns nil if it is none.
  convenience init?(subjectPublicKeyInfo der: [UInt8]) {
    unsafe self.init(
      adopting: der.withUnsafeBufferPointer { buffer in
        var start = buffer.baseAddress
        return unsafe d2i_PUBKEY(nil, &start, buffer.count)
      })
  }

  /// The kind of the key whatever its strength, or nil if the kind is not accepted.
  var kind: PublicKey.Kind? {
    switch unsafe EVP_PKEY_get_base_id(pointer) {
    case EVP_PKEY_RSA: .rsa
    case EVP_PKEY_EC: PublicKey.Kind.allCases.first { $0.curve?.group == group }
    default: nil
    }
  }

  /// The length of an RSA modulus or of a curve's order, in bits.
  var bits: Int { unsafe Int(EVP_PKEY_get_bits(pointer)) }

  /// The uncompressed point of an elliptic-curve key: `0x04`, X, Y.
  var point: [UInt8]? {
    var point = [UInt8](repeating: 0, count: 133)
    var count = 0
    guard
      unsafe EVP_PKEY_get_octet_string_param(
        pointer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count) == 1, count <= point.count
    else { return nil }
    return [UInt8](point[..<count])
  }

  /// The big-endian modulus and exponent of an RSA key.
  var modulusAndExponent: (modulus: [UInt8], exponent: [UInt8])? {
    guard let modulus = number(OSSL_PKEY_PARAM_RSA_N), let exponent = number(OSSL_PKEY_PARAM_RSA_E)
    else { return nil }
    return (modulus, exponent)
  }

  /// The DER-encoded SubjectPublicKeyInfo, with the point of a curve uncompressed.
  ///
  /// It is encoded here because OpenSSL 3 takes longer to encode a key than to verify with it.
  var subjectPublicKeyInfo: [UInt8]? {
    guard let kind else { return nil }
    if kind == .rsa {
      return modulusAndExponent.map { DER.rsaKey(modulus: $0.modulus, exponent: $0.exponent) }
    }
    return point.flatMap { DER.curveKey(kind, point: $0) }
  }
}

/// Calls one of OpenSSL's `i2d` functions, once for the length and once for the bytes.
func derEncoded(
  _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
) -> [UInt8]? {
  let length = encode(nil)
  guard length > 0 else { return nil }
  var der = [UInt8](repeating: 0, count: Int(length))
  let written = unsafe der.withUnsafeMutableBufferPointer { buffer in
    var next = buffer.baseAddress
    return unsafe encode(&next)
  }
  return written == length ? der : nil
}
