package import Cryptography

/// An account, as a login needs to know it.
package struct KnownAccount: Hashable, Sendable {
  package let isForum: Bool
  /// The key with which its signatures are verified.
  package let authenticationKey: AuthenticationPublicKey

  /// Describes an account.
  package init(isForum: Bool, authenticationKey: AuthenticationPublicKey) {
    (self.isForum, self.authenticationKey) = (isForum, authenticationKey)
  }
}
