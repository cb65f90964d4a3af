internal import Time
internal import XMLSecurity

/// The signers of the tests, whose keys are made once.
enum Signers {
  static let shop = Signer(.p256, "shop.example")
  static let rival = Signer(.p256, "rival.example")
  /// Another key under the same name.
  static let impostor = Signer(.p256, "shop.example")
  /// A bare key of Ethereum.
  static let issuer = Signer(.secp256k1, "issuer", isBare: true)
}

struct Signer: Sendable {
  let key: DevelopmentKey
  let isBare: Bool

  init(_ kind: PublicKey.Kind, _ commonName: String, isBare: Bool = false) {
    do {
      key = try DevelopmentKey(
        kind, commonName: commonName, notBefore: Timestamp(seconds: 1_500_000_000))
    } catch { preconditionFailure("no key: \(error)") }
    self.isBare = isBare
  }

  func sign(_ text: String, at time: Int64) throws -> [UInt8] {
    let writer = try SignatureWriter(
      key: PrivateKey(pem: key.keyPEM),
      certificates: isBare ? [] : Certificate.certificates(pem: key.certificatePEM))
    return try writer.sign(Array(text.utf8), at: Timestamp(seconds: time))
  }

  /// The key identifier.
  func identifier() throws -> String { try PrivateKey(pem: key.keyPEM).publicKey.identifier }
}
