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
    let limit: Int64 = seconds < 0 ? .min : .max
    milliseconds = overflows ? limit : product
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

// The calendar is the proleptic Gregorian one, in UTC.
extension Timestamp {
  /// A moment by its day and the seconds since that began.
  ///
  /// - Returns: nil if the calendar has no such day.
  package init?(year: Int64, month: Int64, day: Int64, second: Int64) {
    var parts = unsafe tm()
    unsafe parts.tm_year = Int32(clamping: year - 1900)
    unsafe parts.tm_mon = Int32(clamping: month - 1)
    unsafe parts.tm_mday = Int32(clamping: day)
    let start = unsafe Int64(timegm(&parts))
    // The 30th of February has become another day of another month.
    guard unsafe parts.tm_mon + 1 == month, unsafe parts.tm_mday == day else { return nil }
    self.init(seconds: start + second)
  }

  /// Returns the moment, cut off to the second, as strftime(3) writes it.
  package func text(_ format: String) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    unsafe gmtime_r(&time, &parts)
    return unsafe String(unsafeUninitializedCapacity: 64) { room in
      unsafe room.withMemoryRebound(to: CChar.self) { room in
        guard let start = room.baseAddress else { return 0 }
        return unsafe strftime(start, room.count, format, &parts)
      }
    }
  }
}

extension Timestamp: CustomStringConvertible {
  /// The moment as RFC 3339 writes it, in UTC with milliseconds: `2026-11-21T20:45:08.123Z`.
  ///
  /// Years are meant to lie within 0 to 9999, but any can be written.
  public var description: String {
    let fraction = String(milliseconds &- seconds &* 1000 + 1000).dropFirst()
    return "\(text("%04Y-%m-%dT%H:%M:%S")).\(fraction)Z"
  }
}

// The `xs:dateTime` of XML Schema Part 2, section 3.2.7, as XAdES writes the signing time.
extension Timestamp {
  /// Reads a date and time, or returns nil for other text.
  ///
  /// - Parameter text: `YYYY-MM-DDThh:mm:ss`, an optional fraction, which is cut off, and an optional zone; without a
  ///   zone the time is UTC.
  package init?(dateTime text: String) {
    var fields = DateTimeFields(text)
    guard let date = fields.date(), fields.skip("T"), let second = fields.timeOfDay(),
      let zone = fields.zone(), fields.isAtEnd
    else { return nil }
    self.init(year: date.year, month: date.month, day: date.day, second: second - zone)
  }

  /// The moment as `YYYY-MM-DDThh:mm:ssZ`, or nil outside the years 1 to 9999.
  package var dateTime: String? {
    guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
    return description.prefix(19) + "Z"
  }
}

/// The characters of a date and time that weren't read yet.
private struct DateTimeFields {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.filter { !$0.isWhitespace }.utf8)[...] }

  var isAtEnd: Bool { rest.isEmpty }

  /// Reads a number of exactly so many digits.
  mutating func number(digits: Int) -> Int64? {
    let field = rest.prefix(digits)
    guard field.count == digits, field.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(digits)
    return field.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Reads the year, month and day. The month and the day are of two digits each, but need not exist.
  mutating func date() -> (year: Int64, month: Int64, day: Int64)? {
    guard let year = number(digits: 4), year > 0, skip("-"),
      let month = number(digits: 2), skip("-"), let day = number(digits: 2)
    else { return nil }
    return (year, month, day)
  }

  /// Reads the time, with its fraction, in whole seconds since midnight.
  mutating func timeOfDay() -> Int64? {
    guard let hour = number(digits: 2), skip(":"), let minute = number(digits: 2), skip(":"),
      let second = number(digits: 2), skipFraction()
    else { return nil }
    let isEndOfDay = hour == 24 && minute == 0 && second == 0
    guard hour < 24 || isEndOfDay, minute < 60, second < 60 else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  /// Skips a fraction, if there is one.
  ///
  /// - Returns: false for a point without digits.
  mutating func skipFraction() -> Bool {
    guard skip(".") else { return true }
    let digits = rest.prefix(while: Self.isDigit)
    rest = rest.dropFirst(digits.count)
    return !digits.isEmpty
  }

  /// Reads the zone, in seconds before UTC; none is UTC.
  mutating func zone() -> Int64? {
    guard !isAtEnd, !skip("Z") else { return 0 }
    let isBehind = skip("-")
    guard isBehind || skip("+"), let hours = number(digits: 2), skip(":"),
      let minutes = number(digits: 2), hours <= 14, minutes < 60
    else { return nil }
    let seconds = hours * 3600 + minutes * 60
    return isBehind ? -seconds : seconds
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
}

extension Duration {
  /// The whole milliseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var milliseconds: Int64 { quotient(by: 30_517_578_125, shiftedBy: 15) }

  /// The whole nanoseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var nanoseconds: Int64 { quotient(by: 1_953_125, shiftedBy: 9) }

  /// Divides the attoseconds by `odd` times a power of two.
  ///
  /// Durations of up to three days for milliseconds, and of an hour for nanoseconds, have 64 bits after the shift, which are
  /// divided by a constant; 128 bits take some 200 instructions.
  @inline(__always)
  private func quotient(by odd: Int64, shiftedBy shift: Int128) -> Int64 {
    let shifted = attoseconds >> shift
    if shifted >= 0, let short = Int64(exactly: shifted) { return short / odd }
    return Int64(clamping: attoseconds / (Int128(odd) << shift))
  }
}
