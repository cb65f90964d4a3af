/// A private key on the curve P-256 that signs JSON Web Tokens (ES256, RFC 7518 section 3.4).
public struct ES256Key: Sendable {
  private let key: EVPKey

  /// A text holds no key on P-256, or an encrypted one.
  public struct Unreadable: Error {}

  /// Reads a key.
  ///
  /// - Parameter pem: a PKCS #8 key without a password in PEM, as in Apple's `.p8` files.
  /// - Throws: ``Unreadable`` for anything else.
  public init(pem: [UInt8]) throws(Unreadable) {
    guard let key = try? PEM.privateKey(in: pem), key.group == "prime256v1" else {
      throw Unreadable()
    }
    self.key = key
  }

  /// Signs a message with ECDSA and SHA-256.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: R and S, 32 bytes each, big-endian; nil if OpenSSL fails.
  public func sign(_ message: [UInt8]) -> [UInt8]? {
    key.ecdsaSignature(of: SHA256.hash(message).bytes, size: 32)
  }
}
