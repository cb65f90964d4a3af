internal import Platform
package import XMLSecurity

/// A key that tests sign TokenScripts with.
package struct Signer: Sendable {
  /// The shop of most tests.
  package static let shop = Signer(.p256, "shop.example")
  /// Another shop.
  package static let rival = Signer(.p256, "rival.example")
  /// Another key under the name of the shop.
  package static let impostor = Signer(.p256, "shop.example")
  /// A bare key of Ethereum.
  package static let issuer = Signer(.secp256k1, "issuer", isBare: true)

  /// The common name of the certificate.
  package let name: String
  /// The key and its certificate.
  package let key: DevelopmentKey
  /// Whether signatures carry the key alone, without a certificate.
  package let isBare: Bool

  /// Makes a new key.
  ///
  /// - Parameters:
  ///   - kind: the kind of the key.
  ///   - name: the common name of the certificate.
  ///   - isBare: whether signatures carry the key alone, without a certificate.
  package init(_ kind: PublicKey.Kind, _ name: String, isBare: Bool = false) {
    do {
      key = try DevelopmentKey(
        kind, commonName: name, notBefore: Timestamp(seconds: 1_500_000_000))
    } catch { preconditionFailure("no key: \(error)") }
    self.name = name
    self.isBare = isBare
  }

  /// Signs a TokenScript at a time in seconds since 1970.
  package func sign(_ text: String, at time: Int64) throws -> [UInt8] {
    let writer = try SignatureWriter(
      key: PrivateKey(pem: key.keyPEM),
      certificates: isBare ? [] : Certificate.certificates(pem: key.certificatePEM))
    return try writer.sign(Array(text.utf8), at: Timestamp(seconds: time))
  }

  /// Returns the key's identifier.
  package func identifier() throws -> String {
    try PrivateKey(pem: key.keyPEM).publicKey.identifier
  }
}
