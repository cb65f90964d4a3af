package import Platform

/// Limits how often each key does something: so many times at once, and once more after each interval.
///
/// It keeps one moment a key: the one at which the key has all of its turns again. Keys that have them all need no place.
package final class RefillTable: Sendable {
  /// The limits of a key.
  package struct Rate: Sendable, Hashable {
    /// The turns that a key has at most.
    package var burst: Int
    /// The time after which a key has one more.
    package var refill: Duration

    package init(burst: Int, refill: Duration) {
      self.burst = burst
      self.refill = refill
    }
  }

  private let size: Int
  private let clock: @Sendable () -> Timestamp
  /// The moment, in milliseconds since 1970, at which each key has all of its turns.
  private let fullAt = Lock<[Int: Int64]>([:])

  /// Makes a table in which all keys have all of their turns.
  ///
  /// - Parameter size: the most keys that are remembered. Those that are nearest to having all of their turns are forgotten.
  package init(size: Int = 1 << 14, clock: @escaping @Sendable () -> Timestamp) {
    self.size = size
    self.clock = clock
  }

  /// Uses turns of a key.
  ///
  /// - Parameter amount: the number of turns; more than the burst counts as the burst.
  /// - Returns: nil if they were used, or the seconds until they can be, at least one.
  package func use(_ key: some Hashable, at rate: Rate, amount: Int = 1) -> Int? {
    let now = clock().milliseconds
    let step = max(1, rate.refill.milliseconds)
    let cost = step * Int64(min(max(1, amount), rate.burst))
    let room = step * Int64(rate.burst)
    return fullAt.withLock { fullAt in
      let hash = key.hashValue
      // A clock that was set back leaves nobody without turns for longer than the burst takes.
      let start = min(max(now, fullAt[hash] ?? now), now + room)
      let wait = start + cost - now - room
      guard wait <= 0 else { return Int(max(1, (wait + 999) / 1000)) }
      fullAt[hash] = start + cost
      if fullAt.count > size { forget(&fullAt, now) }
      return nil
    }
  }

  /// Uses turns of a key whether it has them or not: what it lacks keeps it waiting, as long as a burst lasts at most.
  package func charge(_ key: some Hashable, at rate: Rate, amount: Int) {
    let now = clock().milliseconds
    let step = max(1, rate.refill.milliseconds)
    let room = step * Int64(rate.burst)
    fullAt.withLock { fullAt in
      let hash = key.hashValue
      let start = min(max(now, fullAt[hash] ?? now), now + room)
      fullAt[hash] = min(start + step * Int64(max(0, min(amount, rate.burst))), now + room)
      if fullAt.count > size { forget(&fullAt, now) }
    }
  }

  /// Gives a turn back that came to nothing.
  package func restore(_ key: some Hashable, at rate: Rate) {
    fullAt.withLock { fullAt in
      let hash = key.hashValue
      if let moment = fullAt[hash] { fullAt[hash] = moment - max(1, rate.refill.milliseconds) }
    }
  }

  private func forget(_ fullAt: inout [Int: Int64], _ now: Int64) {
    fullAt = fullAt.filter { $0.value > now }
    guard fullAt.count > size else { return }
    let kept = fullAt.sorted { $0.value > $1.value }.prefix(size * 3 / 4)
    fullAt = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
  }
}
