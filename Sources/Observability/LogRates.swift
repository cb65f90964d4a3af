/// Events that count as equal in a log, whatever else their lines hold.
struct LogEvent: Hashable, Sendable {
  let level: Log.Level
  let message: String
  /// The service that the log belongs to, or empty.
  let service: String
}

/// Counts equal events, so that a flood of them becomes a few lines and their number.
///
/// The first events of a span are written, the others counted. When the span is over, their number is written, and the
/// next one begins with the next event.
struct LogRates {
  /// The number of further equal events, once their span is over.
  struct Sum {
    let event: LogEvent
    let count: Int
  }

  /// The span in which events are counted.
  static let span = Duration.seconds(10)
  /// The number of equal events of a span that are written.
  static let limit = 100
  /// The number of events that are told apart. Messages are the program's own, but some name what they are about.
  private static let capacity = 256

  private struct Count {
    let start: ContinuousClock.Instant
    var events = 0

    var further: Int { max(0, events - LogRates.limit) }
    var end: ContinuousClock.Instant { start + LogRates.span }
  }

  private var counts: [LogEvent: Count] = [:]
  /// The events of kinds that there was no place for, and the moment of the first.
  private var others: (start: ContinuousClock.Instant, count: Int)?
  /// True if there are events that were counted and not written.
  private(set) var isCounting = false

  /// Counts an event.
  ///
  /// - Returns: whether it is to be written.
  mutating func admit(_ event: LogEvent, at now: ContinuousClock.Instant) -> Bool {
    if counts[event] == nil, counts.count >= Self.capacity {
      // Those without a sum to tell are forgotten. If all have one, the flood is of many kinds, and this is one more.
      counts = counts.filter { $0.value.further > 0 }
      guard counts.count < Self.capacity else {
        others = (others?.start ?? now, (others?.count ?? 0) + 1)
        isCounting = true
        return false
      }
    }
    var count = counts[event] ?? Count(start: now)
    if now >= count.end, count.further == 0 { count = Count(start: now) }
    count.events += 1
    counts[event] = count
    if count.further > 0 { isCounting = true }
    return count.further == 0
  }

  /// Removes the sums of the spans that are over.
  ///
  /// - Parameter now: the present, or nil for the end of all spans.
  mutating func takeSums(at now: ContinuousClock.Instant?) -> [Sum] {
    guard isCounting else { return [] }
    var sums: [Sum] = []
    for (event, count) in counts where count.further > 0 && now.map({ $0 >= count.end }) ?? true {
      sums.append(Sum(event: event, count: count.further))
      counts[event] = nil
    }
    if let (start, count) = others, now.map({ $0 >= start + Self.span }) ?? true {
      let event = LogEvent(level: .warning, message: "events of many kinds", service: "")
      sums.append(Sum(event: event, count: count))
      others = nil
    }
    isCounting = others != nil || counts.values.contains { $0.further > 0 }
    return sums
  }
}
