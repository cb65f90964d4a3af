internal import Platform

/// The rate that a transfer must keep.
package struct MinimumRate: Sendable {
  let bytesPerSecond: Int64
  /// The time that a transfer may stall before the rate is held against it, in milliseconds.
  let grace: Int64

  /// A rate.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the bytes a second that must move on average.
  ///   - grace: the time that a transfer may stall before the rate is held against it.
  package init(bytesPerSecond: Int = 512, grace: Duration = .seconds(15)) {
    self.bytesPerSecond = Int64(bytesPerSecond)
    self.grace = grace.milliseconds
  }
}

/// Measures in windows whether a transfer keeps a rate: a good beginning earns no credit.
package struct RateWindow: Sendable {
  private var start: Int64
  private var count: Int

  /// A window that begins now.
  ///
  /// - Parameters:
  ///   - now: the moment, in milliseconds.
  ///   - count: the number of bytes that have moved before.
  package init(now: Int64 = 0, count: Int = 0) {
    start = now
    self.count = count
  }

  /// Judges the window if it is long enough, and begins the next one.
  ///
  /// - Parameters:
  ///   - rate: the rate to keep.
  ///   - count: the number of bytes that have moved by now, since the same beginning as before.
  ///   - now: the moment, in milliseconds.
  /// - Returns: whether fewer bytes moved than the rate asks for.
  package mutating func isTooSlow(
    for rate: MinimumRate, count: @autoclosure () -> Int, now: Int64
  ) -> Bool {
    let elapsed = now - start
    guard elapsed > rate.grace else { return false }
    let next = RateWindow(now: now, count: count())
    let moved = Int64(max(0, next.count - self.count))
    self = next
    return moved < elapsed * rate.bytesPerSecond / 1000
  }
}
