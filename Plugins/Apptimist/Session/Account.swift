package import Cryptography

/// A user or a forum.
package struct Account: Sendable {
  /// The kinds of accounts.
  package enum Kind: Hashable, Sendable {
    case user, forum
  }

  package let key: EncryptionPublicKey
  package let authenticationKey: AuthenticationPublicKey
  package let kind: Kind

  /// Describes an account.
  package init(
    key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, kind: Kind
  ) {
    self.key = key
    self.authenticationKey = authenticationKey
    self.kind = kind
  }
}

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
