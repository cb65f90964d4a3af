internal import Cryptography
internal import Observability
internal import Threading
internal import Time

/// Which pairs of name and password were verified lately, in memory only.
///
/// A pair is remembered as BLAKE2b(key, name, password, stored hash) under a key that lives as long
/// as the process. With the stored hash in it, a password that another process has changed counts
/// at once.
final class PairCache: Sendable {
  /// What stands for a pair and the hash that it was verified against.
  struct Proof: Hashable, Sendable {
    fileprivate let digest: KeyedHash.Digest
  }

  private struct State {
    /// Until when each proof holds, in milliseconds since 1970; two generations, of which the older
    /// one is dropped as a whole, so that nothing has to be searched.
    var young: [Proof: Int64] = [:]
    var old: [Proof: Int64] = [:]
  }

  private let function: KeyedHash
  private let lifetime: Int64
  private let limit: Int
  private let clock: @Sendable () -> Timestamp
  private let state = Lock(State())

  /// An empty cache.
  ///
  /// - Parameters:
  ///   - key: 32 random bytes.
  ///   - lifetime: how long a pair is remembered.
  ///   - limit: how many pairs are remembered at most, two at least.
  ///   - clock: tells the time.
  init(
    key: [UInt8], lifetime: Duration, limit: Int, clock: @escaping @Sendable () -> Timestamp
  ) {
    function = KeyedHash(key: key)
    self.lifetime = Int64(lifetime / .milliseconds(1))
    self.limit = max(2, limit)
    self.clock = clock
  }

  /// What stands for a pair.
  func proof(_ name: UserName, _ password: Password, _ hash: PasswordHash) -> Proof {
    Proof(digest: function.hash(Array(name.text.utf8), password.bytes, Array(hash.text.utf8)))
  }

  /// Whether a pair was verified not longer ago than the lifetime.
  func contains(_ proof: Proof) -> Bool {
    let now = clock().milliseconds
    return state.withLock { state in
      guard let end = state.young[proof] ?? state.old[proof] else { return false }
      // A clock that was set back doesn't make a pair live longer.
      return end > now && end - now <= lifetime
    }
  }

  /// Remembers that a pair was verified.
  func insert(_ proof: Proof) {
    let end = clock().milliseconds + lifetime
    state.withLock { state in
      if state.young.count >= limit / 2 {
        state.old = state.young
        state.young = [:]
      }
      state.young[proof] = end
    }
  }
}
