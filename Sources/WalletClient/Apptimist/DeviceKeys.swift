internal import ApptimistProtocol
public import Cryptography

/// The two key pairs of a user or a forum, whose identity is the public encryption key.
///
/// The pairs are made on the device and never leave it. An app keeps them where the system keeps secrets. A user who
/// loses them loses the account.
public struct DeviceKeys: Sendable {
  /// The pair for boxes (X25519).
  public let encryption: EncryptionKeyPair
  /// The pair for signatures (Ed25519).
  public let authentication: AuthenticationKeyPair

  /// Takes pairs that were made before.
  ///
  /// - Parameters:
  ///   - encryption: the pair for boxes.
  ///   - authentication: the pair for signatures.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    (self.encryption, self.authentication) = (encryption, authentication)
  }

  /// Makes new pairs.
  public static func generate() -> DeviceKeys {
    DeviceKeys(encryption: .generate(), authentication: .generate())
  }

  /// The nonce that an ID token for the account must have: the app asks its OpenID Connect issuer for a token with it.
  public var tokenNonce: String { Version2.tokenNonce(user, authentication.publicKey) }

  /// The user or forum that the pairs belong to.
  public var user: EncryptionPublicKey { encryption.publicKey }
}
