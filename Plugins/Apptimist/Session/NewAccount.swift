package import ApptimistProtocol
package import Cryptography

/// An account that somebody wants to make.
package struct NewAccount: Sendable {
  /// The key by which it will be known.
  package let key: EncryptionPublicKey
  /// The key with which its signatures will be verified.
  package let authenticationKey: AuthenticationPublicKey
  package let name: AccountName
  /// The identity at the identity provider; empty for a forum.
  package let uid: String
  /// A secret that proves ``uid`` to the identity provider.
  package let token: [UInt8]
  /// True if the device has proved that it has both secret keys, as version 2 asks for.
  package let isProven: Bool
  /// True if the account is to have no version 1.
  package let isClosed: Bool

  /// Describes an account.
  package init(
    key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, name: AccountName,
    uid: String, token: [UInt8] = [], isProven: Bool = false, isClosed: Bool = false
  ) {
    (self.key, self.authenticationKey, self.name, self.uid) = (key, authenticationKey, name, uid)
    (self.token, self.isProven, self.isClosed) = (token, isProven, isClosed)
  }

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
