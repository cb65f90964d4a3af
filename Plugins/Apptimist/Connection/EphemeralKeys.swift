internal import ApptimistProtocol
internal import Cryptography
internal import Time

/// Lets each ephemeral key serve one connection only (page "Keys and nonces").
struct EphemeralKeys: Sendable {
  private let store: ApptimistStore
  private let keys: ServiceKeys
  private let age: Duration
  private let clock: @Sendable () -> Timestamp

  /// Uses a store to look keys up.
  ///
  /// - Parameters:
  ///   - store: remembers the keys that were used.
  ///   - keys: the service's keys.
  ///   - age: the time for which a key is remembered.
  ///   - clock: tells the time.
  init(
    _ store: ApptimistStore, _ keys: ServiceKeys, age: Duration,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.keys = keys
    self.age = age
    self.clock = clock
  }

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
