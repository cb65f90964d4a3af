public import Cryptography

/// The public key that made a signature.
public struct SigningKey: Sendable, Hashable {
  /// The kinds that are accepted.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// RSA of 2048 bits or more.
    case rsa = "RSA"
    /// The curve P-256, also secp256r1.
    case p256 = "P-256"
    /// The curve P-384, also secp384r1.
    case p384 = "P-384"
    /// The curve P-521, also secp521r1.
    case p521 = "P-521"
    /// Ethereum's curve.
    case secp256k1

    /// OpenSSL's name of the curve; nil for RSA.
    var group: String? {
      switch self {
      case .rsa: nil
      case .p256: "prime256v1"
      case .p384: "secp384r1"
      case .p521: "secp521r1"
      case .secp256k1: "secp256k1"
      }
    }

    /// The URN that names the curve in an ECKeyValue; nil for RSA.
    var urn: String? {
      switch self {
      case .rsa: nil
      case .p256: "urn:oid:1.2.840.10045.3.1.7"
      case .p384: "urn:oid:1.3.132.0.34"
      case .p521: "urn:oid:1.3.132.0.35"
      case .secp256k1: "urn:oid:1.3.132.0.10"
      }
    }

    /// The bytes of a coordinate; 0 for RSA.
    var coordinateSize: Int {
      switch self {
      case .rsa: 0
      case .p256, .secp256k1: 32
      case .p384: 48
      case .p521: 66
      }
    }
  }

  /// The kind of key.
  public let kind: Kind
  /// The key in DER, the point of a curve uncompressed: equal keys have equal bytes.
  public let subjectPublicKeyInfo: [UInt8]
  /// The Ethereum address of a secp256k1 key; nil for the other kinds.
  public let address: EthereumAddress?

  /// A name for the key: its Ethereum address with the checksum in its case, or else the SHA-256 of
  /// the SubjectPublicKeyInfo in 64 lower-case hexadecimal digits.
  public var identifier: String {
    address?.checksummed ?? SHA256.hash(subjectPublicKeyInfo).hex
  }

  /// Takes the public half of a key; nil for a kind or size that is not accepted.
  init?(_ key: EVPKey) {
    guard let kind = key.kind, kind != .rsa || key.bits >= 2048,
      let info = key.subjectPublicKeyInfo
    else { return nil }
    self.kind = kind
    subjectPublicKeyInfo = info
    address = kind == .secp256k1 ? key.point.flatMap(EthereumAddress.init(publicKey:)) : nil
  }
}
