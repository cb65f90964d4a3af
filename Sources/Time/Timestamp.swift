internal import Glibc

/// A moment of wall-clock time, in milliseconds since 1970 (UTC).
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let milliseconds: Int64

  /// A moment.
  ///
  /// - Parameter milliseconds: milliseconds since 1970-01-01T00:00:00Z.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// A moment at a whole second.
  ///
  /// - Parameter seconds: seconds since 1970-01-01T00:00:00Z.
  public init(seconds: Int64) { milliseconds = seconds * 1000 }

  /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
  public var seconds: Int64 {
    let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The moment that the system's clock shows.
  public static func now() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Whether one moment is before another.
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
    let (difference, overflows) = moment.milliseconds.subtractingReportingOverflow(
      duration.milliseconds)
    guard overflows else { return Timestamp(milliseconds: difference) }
    return Timestamp(milliseconds: duration < .zero ? .max : .min)
  }

  /// The duration from one moment to another; negative if the other one is earlier.
  public func duration(to other: Timestamp) -> Duration {
    .milliseconds(Int128(other.milliseconds) - Int128(milliseconds))
  }
}

extension Timestamp: CustomStringConvertible {
  /// The moment as RFC 3339 writes it, in UTC with milliseconds: `2026-11-21T20:45:08.123Z`.
  ///
  /// The calendar is the proleptic Gregorian one; years are meant to lie within 0 to 9999, but any can be written.
  public var description: String {
    let secondOfDay = seconds.modulo(86_400)
    // Days are counted from 0000-03-01, so that the leap day is the last of its year.
    let day = (seconds - secondOfDay) / 86_400 + 719_468
    let dayOfEra = day.modulo(146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + (day - dayOfEra) / 146_097 * 400 + (month <= 2 ? 1 : 0)

    var text = ""
    text.reserveCapacity(24)
    text.append(year, digits: 4, then: "-")
    text.append(month, digits: 2, then: "-")
    text.append(dayOfMonth, digits: 2, then: "T")
    text.append(secondOfDay / 3600, digits: 2, then: ":")
    text.append(secondOfDay / 60 % 60, digits: 2, then: ":")
    text.append(secondOfDay % 60, digits: 2, then: ".")
    text.append(milliseconds.modulo(1000), digits: 3, then: "Z")
    return text
  }
}

extension Int64 {
  /// The remainder that is never negative.
  fileprivate func modulo(_ divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}

extension String {
  fileprivate mutating func append(_ number: Int64, digits: Int, then separator: String) {
    let text = String(number)
    for _ in 0..<max(0, digits - text.utf8.count) { append("0") }
    append(text)
    append(separator)
  }
}
