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

    /// OpenSSL's name of the curve, or nil for RSA.
    var group: String? {
      switch self {
      case .rsa: nil
      case .p256: "prime256v1"
      case .p384: "secp384r1"
      case .p521: "secp521r1"
      case .secp256k1: "secp256k1"
      }
    }

    /// The URN of the curve in an ECKeyValue, or nil for RSA.
    var urn: String? {
      switch self {
      case .rsa: nil
      case .p256: "urn:oid:1.2.840.10045.3.1.7"
      case .p384: "urn:oid:1.3.132.0.34"
      case .p521: "urn:oid:1.3.132.0.35"
      case .secp256k1: "urn:oid:1.3.132.0.10"
      }
    }

    /// The number of bytes of a coordinate; 0 for RSA.
    var coordinateSize: Int {
      switch self {
      case .rsa: 0
      case .p256, .secp256k1: 32
      case .p384: 48
      case .p521: 66
      }
    }
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
