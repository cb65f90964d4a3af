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
  /// Makes and knows the cursors of lists.
  let cursorHash: KeyedHash
  /// The secret from which the fresh keys of copies of posts follow: 32 bytes.
  let copySecret: [UInt8]
  /// The public half of the keys.
  let identity: ServiceIdentity

  /// Makes new keys.
  static func generate() -> ServiceKeys {
    ServiceKeys(encryption: .generate(), authentication: .generate(), storage: SecretBox())
  }

  /// Takes keys that are kept.
  init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair, storage: SecretBox) {
    (self.encryption, self.authentication, self.storage) = (encryption, authentication, storage)
    identity = ServiceIdentity(encryption: encryption, authentication: authentication)
    func derived(_ purpose: String) -> [UInt8] {
      storage.withKey { KeyedHash(key: $0).hash([UInt8](purpose.utf8)).bytes }
    }
    ephemeralHash = KeyedHash(key: derived("ephemeral keys"))
    cursorHash = KeyedHash(key: derived("cursors"))
    copySecret = derived("copies of posts")
  }

  /// The hash by which an ephemeral key is remembered.
  func hash(ofEphemeral key: EncryptionPublicKey) -> EphemeralKeyHash {
    EphemeralKeyHash(of: key, with: ephemeralHash)
  }
}
