internal import Cryptography

/// A public key in both its forms: the value that names it, and what OpenSSL verifies with.
struct VerificationKey {
  let name: SigningKey
  let key: EVPKey

  /// Takes a key; nil for a kind or size that is not accepted.
  init?(_ key: EVPKey) {
    guard let name = SigningKey(key) else { return nil }
    self.name = name
    self.key = key
  }
}
