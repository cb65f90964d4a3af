import Locking
import Observability

/// Counts events by key within a span of time, in a table of fixed size.
///
/// A span begins with a key's first event. A key has few places that it can stand in; if others
/// have them all, it takes that of the lowest count, and of these the oldest: who floods the table
/// with keys pushes out keys that hardly count.
final class AttemptTable: Sendable {
  private static let ways = 8

  private struct Entry {
    var hash = 0
    var count = 0
    /// When the span ends, in milliseconds since 1970.
    var end: Int64 = 0
  }

  private let span: Int64
  private let clock: @Sendable () -> Timestamp
  private let entries: Lock<[Entry]>

  /// An empty table.
  ///
  /// - Parameters:
  ///   - span: how long events count.
  ///   - size: how many keys have room, a multiple of 8.
  ///   - clock: tells the time.
  init(span: Duration, size: Int = 1 << 15, clock: @escaping @Sendable () -> Timestamp) {
    self.span = Int64(span / .milliseconds(1))
    self.clock = clock
    entries = Lock(
      Array(repeating: Entry(), count: max(1, size / Self.ways) * Self.ways))
  }

  /// How many seconds a key has to wait, at least one; nil if its limit isn't reached.
  ///
  /// - Parameters:
  ///   - key: whose events.
  ///   - limit: how many events a span may have.
  func wait(for key: some Hashable, upTo limit: Int) -> Int? {
    let now = clock().milliseconds
    return entries.withLock { entries in
      let hash = key.hashValue
      let entry = entries[set(of: hash, in: entries)].first { $0.hash == hash }
      guard let entry, !isOver(entry, now), entry.count >= limit else { return nil }
      return seconds(until: entry.end, now)
    }
  }

  /// Counts one event unless the limit is reached.
  ///
  /// - Parameters:
  ///   - key: whose event; its hash is seeded anew in each process.
  ///   - limit: how many events a span may have.
  /// - Returns: nil if it was counted, else how many seconds the span still lasts, at least one.
  func count(_ key: some Hashable, upTo limit: Int) -> Int? {
    let now = clock().milliseconds
    return entries.withLock { entries in
      let index = place(of: key.hashValue, in: &entries, now)
      guard entries[index].count < limit else {
        return seconds(until: entries[index].end, now)
      }
      entries[index].count += 1
      return nil
    }
  }

  /// Takes back an event that turned out not to count.
  func uncount(_ key: some Hashable) {
    let now = clock().milliseconds
    entries.withLock { entries in
      let index = place(of: key.hashValue, in: &entries, now)
      entries[index].count = max(0, entries[index].count - 1)
    }
  }

  private func seconds(until end: Int64, _ now: Int64) -> Int { Int((end - now + 999) / 1000) }

  /// Whether a span is over; also if the clock was set back.
  private func isOver(_ entry: Entry, _ now: Int64) -> Bool {
    entry.end <= now || entry.end - now > span
  }

  /// The places that a key can have.
  private func set(of hash: Int, in entries: [Entry]) -> Range<Int> {
    let first = Int(UInt(bitPattern: hash) % UInt(entries.count / Self.ways)) * Self.ways
    return first..<first + Self.ways
  }

  private func place(of hash: Int, in entries: inout [Entry], _ now: Int64) -> Int {
    let set = set(of: hash, in: entries)
    var victim = set.lowerBound
    for index in set {
      if isOver(entries[index], now) { entries[index] = Entry() }
      if entries[index].hash == hash, entries[index].end > 0 { return index }
      if (entries[index].count, entries[index].end) < (entries[victim].count, entries[victim].end) {
        victim = index
      }
    }
    entries[victim] = Entry(hash: hash, count: 0, end: now + span)
    return victim
  }
}
