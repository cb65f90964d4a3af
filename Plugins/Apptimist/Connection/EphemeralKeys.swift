internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// Lets each ephemeral key serve one connection only (page "Keys and nonces").
///
/// A key is claimed in memory when its first header opens, and recorded on disk when its user has logged in.
/// So a stranger costs no disk, and each row belongs to an account. A connection without a login can be
/// played again once its key is forgotten, but says nothing that the service doesn't know.
final class EphemeralKeys: Sendable {
  private let store: ApptimistStore
  private let keys: ServiceKeys
  private let age: Duration
  private let clock: @Sendable () -> Timestamp
  private let claimed = RecentValues<EphemeralKeyHash, Void>(limit: 32_768)

  /// Makes a register in which no key is claimed.
  ///
  /// - Parameters:
  ///   - store: remembers the keys with which users have logged in.
  ///   - age: the time for which a key is remembered.
  init(
    store: ApptimistStore, keys: ServiceKeys, age: Duration,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.keys = keys
    self.age = age
    self.clock = clock
  }

  /// Returns whether a device with this key may connect.
  func mayServe(_ key: EncryptionPublicKey) async throws -> Bool {
    // A second way to write a key would be a second use of it.
    guard key.isCanonical, !key.isLowOrder, key != keys.identity.encryptionKey else { return false }
    let hash = keys.hash(ofEphemeral: key)
    guard claimed.value(for: hash) == nil else { return false }
    return try await store.mayServe(ephemeral: key, hash: hash)
  }

  /// Claims a key for a connection.
  ///
  /// - Returns: false if another connection has claimed it.
  func claim(_ key: EncryptionPublicKey) -> Bool {
    claimed.insert((), for: keys.hash(ofEphemeral: key))
  }

  /// Records that a user has logged in with a key.
  ///
  /// - Returns: false if that was recorded before.
  func record(_ key: EncryptionPublicKey, usedBy user: EncryptionPublicKey) async throws -> Bool {
    let now = clock()
    return try await store.remember(
      keys.hash(ofEphemeral: key), of: user, at: now, until: now + age)
  }
}
