internal import Cryptography

/// Somebody who wants an account, as the identity provider judges.
struct Applicant: Sendable {
  let encryptionKey: EncryptionPublicKey
  let authenticationKey: AuthenticationPublicKey
  /// The identity at the provider.
  let uid: String
  /// The proof of it.
  let token: [UInt8]
}
