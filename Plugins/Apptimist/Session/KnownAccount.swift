internal import Cryptography

/// An account, as a login needs to know it.
struct KnownAccount: Hashable, Sendable {
  let isForum: Bool
  /// The key with which its signatures are verified.
  let authenticationKey: AuthenticationPublicKey
  /// True if the account has no version 1.
  var isClosed = false
}
