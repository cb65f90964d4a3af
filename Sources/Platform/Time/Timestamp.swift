internal import Glibc

/// A moment of wall-clock time, in milliseconds since 1970 (UTC).
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let milliseconds: Int64

  /// A moment.
  ///
  /// - Parameter milliseconds: milliseconds since 1970-01-01T00:00:00Z.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// A moment at a whole second, or the first or last one that can be written.
  ///
  /// - Parameter seconds: seconds since 1970-01-01T00:00:00Z.
  public init(seconds: Int64) {
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    milliseconds = overflows ? seconds < 0 ? .min : .max : product
  }

  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
  public var seconds: Int64 { milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0) }

  /// The moment that the system's clock shows.
  public static func now() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Returns whether one moment is before another.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// The moment that comes a duration later, or the last one that can be written.
  public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
    let (sum, overflows) = moment.milliseconds.addingReportingOverflow(duration.milliseconds)
    guard overflows else { return Timestamp(milliseconds: sum) }
    return Timestamp(milliseconds: duration < .zero ? .min : .max)
  }

  /// The moment that comes a duration earlier, or the first one that can be written.
  public static func - (moment: Timestamp, duration: Duration) -> Timestamp {
    moment + (.zero - duration)
  }

  /// The duration from one moment to another; negative if the other one is earlier.
  public func duration(to other: Timestamp) -> Duration {
    .milliseconds(Int128(other.milliseconds) - Int128(milliseconds))
  }
}
