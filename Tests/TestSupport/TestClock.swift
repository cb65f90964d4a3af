package import Platform

/// A clock that tests set.
package final class TestClock: Sendable {
  private let time: Lock<Timestamp>

  /// Makes a clock that stands still.
  ///
  /// - Parameter start: the time that it shows.
  package init(_ start: Timestamp = Timestamp(seconds: 1_800_000_000)) { time = Lock(start) }

  /// The time that the clock shows.
  package var now: Timestamp { time.withLock { $0 } }

  /// Sets the clock forward, or back.
  ///
  /// - Parameter duration: the time that passes.
  package func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}
