internal import ApptimistProtocol
internal import Cryptography

/// The service's keys, the secret halves among them.
struct ServiceKeys: Sendable {
  /// What headers and the data of files are boxed with.
  let encryption: EncryptionKeyPair
  /// What signs ``encryption``'s public half.
  let authentication: AuthenticationKeyPair
  /// What forums' secrets are boxed with in the database.
  let storage: SecretBox
  /// What ephemeral keys are hashed with before they are noted.
  let ephemeralHash: KeyedHash
  /// The public half.
  let identity: ServiceIdentity

  /// New keys.
  static func generate() -> ServiceKeys {
    ServiceKeys(encryption: .generate(), authentication: .generate(), storage: SecretBox())
  }

  /// Keys that are kept.
  init(
    encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair, storage: SecretBox
  ) {
    self.encryption = encryption
    self.authentication = authentication
    self.storage = storage
    identity = ServiceIdentity(encryption: encryption, authentication: authentication)
    ephemeralHash = storage.withKey { key in
      KeyedHash(key: KeyedHash(key: key).hash([UInt8]("ephemeral keys".utf8)).bytes)
    }
  }

  /// What an ephemeral key is remembered by: 16 bytes that tell nobody else which key it was.
  func hash(ofEphemeral key: EncryptionPublicKey) -> [UInt8] {
    [UInt8](ephemeralHash.hash(key.bytes).bytes.prefix(16))
  }
}
