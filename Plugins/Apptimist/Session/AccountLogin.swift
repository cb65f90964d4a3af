package import Cryptography

/// The account for which a session has logged in, as it was then.
///
/// A session of version 1 can lose it: somebody else has proved to have the account's key, or closed it to version 1.
/// So whatever a session changes is changed only if its login still holds in the same transaction.
package struct AccountLogin: Hashable, Sendable {
  package let user: EncryptionPublicKey
  /// The key with which the login was verified.
  package let authenticationKey: AuthenticationPublicKey
  package let isVersion1: Bool

  /// Describes a login.
  package init(
    user: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, isVersion1: Bool
  ) {
    (self.user, self.authenticationKey, self.isVersion1) = (user, authenticationKey, isVersion1)
  }

  /// Returns whether the login holds for an account with a key, which may have no version 1 any more.
  package func holds(authenticationKey: AuthenticationPublicKey, isClosed: Bool) -> Bool {
    self.authenticationKey == authenticationKey && !(isClosed && isVersion1)
  }
}
