public import Ethereum

internal import COpenSSL
internal import Cryptography

/// A public key that signatures are verified with: RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1.
public struct PublicKey: Sendable {
  /// The kinds of accepted keys.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// RSA with a modulus of at least 2048 bits.
    case rsa = "RSA"
    /// The curve P-256, also called secp256r1.
    case p256 = "P-256"
    /// The curve P-384, also called secp384r1.
    case p384 = "P-384"
    /// The curve P-521, also called secp521r1.
    case p521 = "P-521"
    /// Ethereum's curve.
    case secp256k1

    /// A curve.
    struct Curve {
      /// OpenSSL's name.
      let group: String
      /// The object identifier, in dots and in DER.
      let identifier: String, der: [UInt8]
      /// The number of bytes of a coordinate.
      let size: Int
    }

    private static let curves: [Kind: Curve] = [
      .p256: Curve(
        group: "prime256v1", identifier: "1.2.840.10045.3.1.7",
        der: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], size: 32),
      .p384: Curve(
        group: "secp384r1", identifier: "1.3.132.0.34",
        der: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22], size: 48),
      .p521: Curve(
        group: "secp521r1", identifier: "1.3.132.0.35",
        der: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23], size: 66),
      .secp256k1: Curve(
        group: "secp256k1", identifier: "1.3.132.0.10",
        der: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a], size: 32),
    ]

    /// The curve, or nil for RSA.
    var curve: Curve? { Self.curves[self] }

    /// The URN of the curve in an ECKeyValue, or nil for RSA.
    var urn: String? { curve.map { "urn:oid:\($0.identifier)" } }

    /// The number of bytes of a coordinate; 0 for RSA.
    var coordinateSize: Int { curve?.size ?? 0 }
  }

  /// The kind of the key.
  public let kind: Kind
  /// The key in DER, with the point of a curve uncompressed; equal keys have equal bytes.
  public let subjectPublicKeyInfo: [UInt8]
  /// The Ethereum address of a secp256k1 key, or nil for other kinds.
  public let address: EthereumAddress?
  /// The key as OpenSSL verifies with it.
  let handle: EVPKey

  /// The Ethereum address with the checksum in its case, or else the SHA-256 of the SubjectPublicKeyInfo in 64 lower-case
  /// hexadecimal digits.
  public var identifier: String { address?.checksummed ?? SHA256.hash(subjectPublicKeyInfo).hex }

  /// Makes the public half of a key, or returns nil if its kind or size is not accepted.
  init?(_ key: EVPKey) {
    guard let kind = key.kind, kind != .rsa || key.bits >= 2048,
      let info = key.subjectPublicKeyInfo
    else { return nil }
    self.kind = kind
    subjectPublicKeyInfo = info
    address = kind == .secp256k1 ? key.point.flatMap(EthereumAddress.init(publicKey:)) : nil
    handle = key
  }
}

extension PublicKey: Hashable {
  /// Compares the SubjectPublicKeyInfo.
  public static func == (left: PublicKey, right: PublicKey) -> Bool {
    left.subjectPublicKeyInfo == right.subjectPublicKeyInfo
  }

  /// Hashes the SubjectPublicKeyInfo.
  public func hash(into hasher: inout Hasher) { hasher.combine(subjectPublicKeyInfo) }
}

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

/// The parts of DER (X.690) that a SubjectPublicKeyInfo consists of (RFC 3279, RFC 5480).
enum DER {
  /// Encodes the SubjectPublicKeyInfo of an RSA key, given its big-endian numbers.
  static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    sequence(sequence(rsaEncryption + null) + bits(sequence(integer(modulus) + integer(exponent))))
  }

  /// Encodes the SubjectPublicKeyInfo of a point, or returns nil for RSA.
  static func curveKey(_ curve: PublicKey.Kind, point: [UInt8]) -> [UInt8]? {
    curve.curve.map { sequence(sequence(ecPublicKey + $0.der) + bits(point)) }
  }

  /// 1.2.840.113549.1.1.1
  private static let rsaEncryption: [UInt8] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
  ]
  /// 1.2.840.10045.2.1
  private static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

  private static let null: [UInt8] = [0x05, 0x00]

  private static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }

  private static func bits(_ content: [UInt8]) -> [UInt8] { value(0x03, [0] + content) }

  /// Encodes a number that is not negative, given its big-endian bytes.
  private static func integer(_ bytes: [UInt8]) -> [UInt8] {
    let digits = [UInt8](bytes.drop { $0 == 0 })
    return value(0x02, digits.first.map { $0 < 0x80 } == true ? digits : [0] + digits)
  }

  private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    let length =
      [UInt8(content.count >> 16 & 0xff), UInt8(content.count >> 8 & 0xff)]
      .drop { $0 == 0 } + [UInt8(content.count & 0xff)]
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}
