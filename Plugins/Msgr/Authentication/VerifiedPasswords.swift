internal import Cryptography
internal import Platform

/// Remembers, in memory only, which passwords were verified lately.
///
/// An account's password is kept as BLAKE2b(key, name, password, stored hash) under a key that lives as long as the
/// process, beside the stored hash that it was verified against. Transactions compare that hash with the stored one, so
/// that a password that was changed by another process counts at once.
final class VerifiedPasswords: Sendable {
  /// The keyed hash of a name, a password and the stored hash of that password.
  ///
  /// Comparing two of them takes no constant time. Nobody without the key can choose or predict one, so the time tells
  /// nothing about a password.
  struct Proof: Hashable, Sendable {
    fileprivate let digest: KeyedHash.Digest
  }

  private struct Entry: Sendable {
    let proof: Proof
    let hash: PasswordHash
    let end: Timestamp
  }

  private let function: KeyedHash
  private let lifetime: Duration
  private let clock: @Sendable () -> Timestamp
  private let entries: RecentValues<UserName, Entry>

  /// Makes an empty memory.
  ///
  /// - Parameters:
  ///   - key: 32 random bytes.
  ///   - lifetime: how long a password is remembered.
  ///   - limit: the most passwords that are remembered, two at least.
  ///   - clock: tells the time.
  init(key: [UInt8], lifetime: Duration, limit: Int, clock: @escaping @Sendable () -> Timestamp) {
    function = KeyedHash(key: key)
    (self.lifetime, self.clock) = (lifetime, clock)
    entries = RecentValues(limit: limit)
  }

  /// Returns the proof of a password.
  func proof(_ name: UserName, _ password: Password, _ hash: PasswordHash) -> Proof {
    Proof(digest: function.hash(Array(name.text.utf8), password.bytes, Array(hash.text.utf8)))
  }

  /// Returns the stored hash that a password was verified against within the lifetime, or nil.
  func hash(of name: UserName, _ password: Password) -> PasswordHash? {
    guard let entry = entries.value(for: name) else { return nil }
    let left = clock().duration(to: entry.end)
    // A clock that was set back doesn't make a password live longer.
    guard left > .zero, left <= lifetime, proof(name, password, entry.hash) == entry.proof else {
      return nil
    }
    return entry.hash
  }

  /// Remembers that a password was verified against a stored hash.
  func insert(_ proof: Proof, of name: UserName, _ hash: PasswordHash) {
    entries.insert(Entry(proof: proof, hash: hash, end: clock() + lifetime), for: name)
  }

  /// Forgets a password that was verified against a hash that is no longer the stored one.
  func remove(_ name: UserName, _ hash: PasswordHash) { entries.remove(name) { $0.hash == hash } }
}
