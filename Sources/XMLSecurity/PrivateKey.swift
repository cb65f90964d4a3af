internal import Cryptography

/// A key that signs: RSA of 2048 bits or more, P-256, P-384, P-521 or secp256k1.
public final class PrivateKey {
  let key: EVPKey
  /// Its public half.
  public let publicKey: SigningKey

  /// Reads a key.
  ///
  /// - Parameter pem: a PEM text with one private key, not encrypted.
  public init(pem: [UInt8]) throws(SigningError) {
    guard let key = try? PEM.privateKey(in: pem) else {
      throw SigningError("no private key in the PEM text, or an encrypted one")
    }
    guard let publicKey = SigningKey(key) else {
      throw SigningError(
        "the key must be RSA of at least 2048 bits, P-256, P-384, P-521 or secp256k1")
    }
    self.key = key
    self.publicKey = publicKey
  }
}

/// Why something was not signed.
public struct SigningError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let message: String
  /// The reason in words.
  public var description: String { message }

  init(_ message: String) {
    self.message = message
  }
}
