package import Cryptography

/// An account as a search finds it.
package struct FoundAccount: Hashable, Sendable {
  package let key: EncryptionPublicKey
  package let name: String
  /// The identity provider's name for the user; empty for a forum.
  package let uid: String

  /// Describes an account.
  package init(key: EncryptionPublicKey, name: String, uid: String) {
    self.key = key
    self.name = name
    self.uid = uid
  }
}
