internal import Platform
public import XMLSecurity

/// A key that tests sign TokenScripts with.
public struct Signer: Sendable {
  /// The shop of most tests.
  public static let shop = Signer(.p256, "shop.example")
  /// Another shop.
  public static let rival = Signer(.p256, "rival.example")
  /// Another key under the name of the shop.
  public static let impostor = Signer(.p256, "shop.example")
  /// A bare key of Ethereum.
  public static let issuer = Signer(.secp256k1, "issuer", isBare: true)

  /// The common name of the certificate.
  public let name: String
  /// The key and its certificate.
  public let key: DevelopmentKey
  /// Whether signatures carry the key alone, without a certificate.
  public let isBare: Bool

  /// Makes a new key.
  ///
  /// - Parameters:
  ///   - kind: the kind of the key.
  ///   - name: the common name of the certificate.
  ///   - isBare: whether signatures carry the key alone, without a certificate.
  public init(_ kind: PublicKey.Kind, _ name: String, isBare: Bool = false) {
    do {
      key = try DevelopmentKey(
        kind, commonName: name, notBefore: Timestamp(seconds: 1_500_000_000))
    } catch { preconditionFailure("no key: \(error)") }
    self.name = name
    self.isBare = isBare
  }

  /// Signs a TokenScript at a time in seconds since 1970.
  public func sign(_ text: String, at time: Int64) throws -> [UInt8] {
    let writer = try SignatureWriter(
      key: PrivateKey(pem: key.keyPEM),
      certificates: isBare ? [] : Certificate.certificates(pem: key.certificatePEM))
    return try writer.sign(Array(text.utf8), at: Timestamp(seconds: time))
  }

  /// Returns the key's identifier.
  public func identifier() throws -> String {
    try PrivateKey(pem: key.keyPEM).publicKey.identifier
  }
}
