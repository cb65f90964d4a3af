internal import Cryptography

/// The account for which a session has logged in, as it was then.
///
/// A session of version 1 can lose it: somebody else has proved to have the account's key, or closed it to version 1.
/// So whatever a session changes is changed only if its login still holds in the same transaction.
struct AccountLogin: Hashable, Sendable {
  let user: EncryptionPublicKey
  /// The key with which the login was verified.
  let authenticationKey: AuthenticationPublicKey
  let isVersion1: Bool

  /// Returns whether the login holds for an account with a key, which may have no version 1 any more.
  func holds(authenticationKey: AuthenticationPublicKey, isClosed: Bool) -> Bool {
    self.authenticationKey == authenticationKey && !(isClosed && isVersion1)
  }
}
