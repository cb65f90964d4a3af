internal import ApptimistProtocol
internal import Cryptography

/// An account that somebody wants to make.
struct NewAccount: Sendable {
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

extension NewAccount {
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
