internal import Cryptography
public import Ethereum

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
