package import Platform

/// Counts events by key within the last span of time, in a table of fixed size.
///
/// A span is cut into eight steps. An event counts from its moment until the step that it fell into is a whole span ago.
/// So no span has more events than its limit, wherever it begins, and an event counts for an eighth too long at most.
///
/// A key can stand in a few places. If other keys have them all, it takes the place of the lowest count, and of these the
/// oldest. A flood of keys therefore pushes out keys that hardly count.
@usableFromInline
package final class AttemptTable: Sendable {
  private static let ways = 8
  private static let steps = 8

  private struct Entry {
    var hash = 0
    /// The step that the counts lead up to, or nil if the place is free.
    private(set) var newest: Int64?
    /// The events of each step, by its number modulo their count: one step more than a span has, as the present one
    /// isn't over.
    private var counts = InlineArray<9, Int>(repeating: 0)

    init(hash: Int = 0) { self.hash = hash }

    var total: Int { counts.indices.reduce(0) { $0 + counts[$1] } }

    /// Forgets the events that are too old, or all if the clock was set back by more than a step.
    mutating func advance(to step: Int64) {
      guard let newest, step - newest < counts.count, newest - step <= 1 else {
        counts = InlineArray(repeating: 0)
        self.newest = step
        return
      }
      for passed in stride(from: newest + 1, through: step, by: 1) { counts[place(passed)] = 0 }
      self.newest = max(newest, step)
    }

    /// Counts events into the present step.
    mutating func add(_ amount: Int) { if let newest { counts[place(newest)] += amount } }

    /// Removes the last event.
    mutating func removeLast() {
      guard let newest else { return }
      for back in 0..<Int64(counts.count) where counts[place(newest - back)] > 0 {
        counts[place(newest - back)] -= 1
        return
      }
    }

    /// Returns the step that has to be a span ago for fewer events than a limit to count, or nil if they are fewer now.
    func obstacle(to limit: Int) -> Int64? {
      var left = total
      guard let newest, left >= limit else { return nil }
      for step in newest - Int64(counts.count - 1)...newest {
        left -= counts[place(step)]
        if left < limit { return step }
      }
      return newest
    }

    private func place(_ step: Int64) -> Int {
      let rest = Int(step % Int64(counts.count))
      return rest < 0 ? rest + counts.count : rest
    }
  }

  /// The length of a step, in milliseconds.
  private let step: Int64
  private let clock: @Sendable () -> Timestamp
  private let entries: Lock<[Entry]>

  /// Makes an empty table.
  ///
  /// - Parameters:
  ///   - span: the time for which events count.
  ///   - size: the number of keys that have room, a multiple of 8.
  package init(span: Duration, size: Int = 1 << 15, clock: @escaping @Sendable () -> Timestamp) {
    step = max(1, span.milliseconds / Int64(Self.steps))
    self.clock = clock
    entries = Lock(Array(repeating: Entry(), count: max(1, size / Self.ways) * Self.ways))
  }

  /// Returns the seconds that a key has to wait, at least one, or nil if its limit isn't reached.
  @inlinable
  package func wait(for key: some Hashable, upTo limit: Int) -> Int? {
    wait(forHash: key.hashValue, upTo: limit)
  }

  @usableFromInline
  func wait(forHash hash: Int, upTo limit: Int) -> Int? {
    let now = clock().milliseconds
    return entries.withLock { entries in
      // A key without a place has no events, but a limit of 0 is reached all the same.
      var entry = entries[set(of: hash, in: entries)].first { $0.hash == hash } ?? Entry(hash: hash)
      entry.advance(to: now / step)
      return seconds(until: entry.obstacle(to: limit), now)
    }
  }

  /// Counts one event, or something of a larger amount, unless the limit would be passed.
  ///
  /// - Parameters:
  ///   - key: the key of the event; its hash is seeded anew in each process.
  ///   - amount: the number of events that it counts as, at least 1.
  /// - Returns: nil if the event was counted, or the seconds until it may be, at least one.
  @inlinable
  package func count(_ key: some Hashable, amount: Int = 1, upTo limit: Int) -> Int? {
    count(hash: key.hashValue, amount: amount, upTo: limit)
  }

  @usableFromInline
  func count(hash: Int, amount: Int, upTo limit: Int) -> Int? {
    let now = clock().milliseconds
    return entries.withLock { entries in
      let index = place(of: hash, in: &entries, now)
      let obstacle = entries[index].obstacle(to: limit - amount + 1)
      if let wait = seconds(until: obstacle, now) { return wait }
      entries[index].add(amount)
      return nil
    }
  }

  /// Returns the events of a key that count.
  package func total(of key: some Hashable) -> Int {
    let now = clock().milliseconds
    return entries.withLock { entries in
      let hash = key.hashValue
      let known = entries[set(of: hash, in: entries)].first { $0.hash == hash && $0.newest != nil }
      guard var entry = known else { return 0 }
      entry.advance(to: now / step)
      return entry.total
    }
  }

  /// Removes the last event of a key, which came to nothing.
  package func refund(_ key: some Hashable) {
    let now = clock().milliseconds
    entries.withLock { entries in
      let hash = key.hashValue
      let known = entries[set(of: hash, in: entries)].firstIndex {
        $0.hash == hash && $0.newest != nil
      }
      guard let known else { return }
      entries[known].advance(to: now / step)
      entries[known].removeLast()
    }
  }

  /// Returns the seconds until a step is a span ago.
  private func seconds(until obstacle: Int64?, _ now: Int64) -> Int? {
    guard let obstacle else { return nil }
    return max(1, Int(((obstacle + Int64(Self.steps) + 1) * step - now + 999) / 1000))
  }

  /// Returns the places that a key can have.
  private func set(of hash: Int, in entries: [Entry]) -> Range<Int> {
    let first = Int(UInt(bitPattern: hash) % UInt(entries.count / Self.ways)) * Self.ways
    return first..<first + Self.ways
  }

  private func place(of hash: Int, in entries: inout [Entry], _ now: Int64) -> Int {
    let set = set(of: hash, in: entries)
    let isKnown = { (entry: Entry) in entry.hash == hash && entry.newest != nil }
    if let index = entries[set].firstIndex(where: isKnown) {
      entries[index].advance(to: now / step)
      return index
    }
    for index in set where entries[index].newest != nil { entries[index].advance(to: now / step) }
    let victim = set.min { left, right in
      let left = entries[left]
      let right = entries[right]
      return (left.total, left.newest ?? .min) < (right.total, right.newest ?? .min)
    }
    let index = victim ?? set.lowerBound
    entries[index] = Entry(hash: hash)
    entries[index].advance(to: now / step)
    return index
  }
}
