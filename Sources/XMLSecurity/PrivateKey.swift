internal import Cryptography

/// A private key that signs: RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1.
public struct PrivateKey: Sendable {
  /// The public half of the key.
  public let publicKey: PublicKey
  /// The key as OpenSSL signs with it.
  let handle: EVPKey

  /// Reads a key.
  ///
  /// - Parameter pem: a PEM text with one private key that is not encrypted.
  /// - Throws: ``SigningError``.
  public init(pem: [UInt8]) throws(SigningError) {
    guard let key = try? PEM.privateKey(in: pem) else {
      throw SigningError("no private key in the PEM text, or an encrypted one")
    }
    // Read anew, so that a public key never carries the private half.
    guard
      let publicKey = key.subjectPublicKeyInfo.flatMap(EVPKey.init(subjectPublicKeyInfo:))
        .flatMap(PublicKey.init)
    else {
      throw SigningError(
        "the key must be RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1")
    }
    self.publicKey = publicKey
    handle = key
  }
}

/// The reason why something can't be signed.
public struct SigningError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}
