internal import ApptimistProtocol
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

/// An account, as a login needs to know it.
struct AccountCredentials: Hashable, Sendable {
  let isForum: Bool
  /// The key with which its signatures are verified.
  let authenticationKey: AuthenticationPublicKey
  /// True if the account has no version 1.
  var isClosed = false
}

/// An account that somebody wants to make.
struct RequestedAccount: Sendable {
  /// The key by which it will be known.
  let key: EncryptionPublicKey
  /// The key with which its signatures will be verified.
  let authenticationKey: AuthenticationPublicKey
  let name: AccountName
  /// The identity at the identity provider; empty for a forum.
  let uid: String
  /// A secret that proves ``uid`` to the identity provider.
  var token: [UInt8] = []
  /// True if the device has proved that it has both secret keys, as version 2 asks for.
  var isProven = false
  /// True if the account is to have no version 1.
  var isClosed = false
}

extension RequestedAccount {
  /// Takes the account that a device of version 1 wants.
  init(_ new: PDU.New, name: AccountName, uid: String) {
    self.init(
      key: new.key, authenticationKey: new.authenticationKey, name: name, uid: uid,
      token: new.token.bytes)
  }

  /// Takes the account that a device of version 2 wants, whose proofs were verified.
  init(_ new: Version2.New, name: AccountName, uid: String, token: [UInt8]) {
    self.init(
      key: new.key, authenticationKey: new.authenticationKey, name: name, uid: uid, token: token,
      isProven: true, isClosed: new.flags.contains(.closed))
  }
}
