internal import ApptimistProtocol
internal import Cryptography

/// The service's keys, the secret halves among them.
struct ServiceKeys: Sendable {
  /// Boxes headers and the data of files.
  let encryption: EncryptionKeyPair
  /// Signs the public half of ``encryption``.
  let authentication: AuthenticationKeyPair
  /// Boxes forums' secrets in the database.
  let storage: SecretBox
  /// Hashes ephemeral keys before they are noted.
  private let ephemeralHash: KeyedHash
  /// The public half of the keys.
  let identity: ServiceIdentity

  /// Makes new keys.
  static func generate() -> ServiceKeys {
    ServiceKeys(encryption: .generate(), authentication: .generate(), storage: SecretBox())
  }

  /// Takes keys that are kept.
  init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair, storage: SecretBox) {
    self.encryption = encryption
    self.authentication = authentication
    self.storage = storage
    identity = ServiceIdentity(encryption: encryption, authentication: authentication)
    ephemeralHash = storage.withKey { key in
      KeyedHash(key: KeyedHash(key: key).hash([UInt8]("ephemeral keys".utf8)).bytes)
    }
  }

  /// The hash by which an ephemeral key is remembered.
  func hash(ofEphemeral key: EncryptionPublicKey) -> EphemeralKeyHash {
    EphemeralKeyHash(of: key, with: ephemeralHash)
  }
}
