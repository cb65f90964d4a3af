public import Cryptography

/// The two key pairs of a user, or of a forum. The public encryption key is who they are.
///
/// The pairs are made on the device and never leave it; an app keeps them where the system keeps
/// secrets. Who loses them loses the account.
public struct DeviceKeys: Sendable {
  /// For boxes (X25519).
  public let encryption: EncryptionKeyPair
  /// For signatures (Ed25519).
  public let authentication: AuthenticationKeyPair

  /// Pairs that were made before.
  ///
  /// - Parameters:
  ///   - encryption: for boxes.
  ///   - authentication: for signatures.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    self.encryption = encryption
    self.authentication = authentication
  }

  /// Makes new pairs.
  public static func generate() -> DeviceKeys {
    DeviceKeys(encryption: .generate(), authentication: .generate())
  }

  /// Who they belong to.
  public var user: EncryptionPublicKey { encryption.publicKey }
}
