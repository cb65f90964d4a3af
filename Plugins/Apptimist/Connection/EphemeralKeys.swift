internal import ApptimistProtocol
internal import Cryptography
internal import Time

/// Lets each ephemeral key serve one connection only (page "Keys and nonces").
struct EphemeralKeys: Sendable {
  /// The store that remembers the keys that were used.
  let store: ApptimistStore
  let keys: ServiceKeys
  /// The time for which a key is remembered.
  let age: Duration
  let clock: @Sendable () -> Timestamp

  /// Whether a device with this key may connect.
  func mayServe(_ key: EncryptionPublicKey) async throws -> Bool {
    // A second way to write a key would be a second use of it.
    guard key.isCanonical, !key.isLowOrder, key != keys.identity.encryptionKey else { return false }
    return try await store.mayServe(ephemeral: key, hash: keys.hash(ofEphemeral: key))
  }

  /// Claims a key for a connection.
  ///
  /// - Returns: false if another connection has used it.
  func claim(_ key: EncryptionPublicKey) async throws -> Bool {
    try await store.remember(keys.hash(ofEphemeral: key), until: clock() + age)
  }
}
