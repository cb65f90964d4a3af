internal import Glibc
internal import Time

/// A moment as HTTP writes it, in whole seconds of UTC (RFC 9110 section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
  /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let seconds: Int64

  /// A moment.
  ///
  /// - Parameter seconds: seconds since 1970-01-01T00:00:00Z.
  public init(_ seconds: Int64) { self.seconds = seconds }

  /// Returns whether a moment is before another.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

  // MARK: Reading

  /// Reads a date in any of the three forms: IMF-fixdate, RFC 850, asctime.
  ///
  /// The day of the month may lack its zero (`Thu, 1 Jan 1970 00:00:00 GMT`). The weekday must
  /// be a word and is not compared with the date. A leap second counts as the second after it.
  ///
  /// - Parameters:
  ///   - text: the field's value without surrounding blanks.
  ///   - now: the moment that a two-digit year is never more than 50 years ahead of.
  /// - Returns: nil for anything else.
  public init?(_ text: ArraySlice<UInt8>, now: HTTPDate) {
    // No form is longer; this bounds the work.
    guard text.count <= 40 else { return nil }
    var reader = Reader(text)
    let weekday = reader.letters()
    guard weekday >= 3 else { return nil }
    let date: (year: Int64, month: Int64, day: Int64, second: Int64)
    if reader.take(",") {
      guard reader.take(" "), let day = reader.number(1...2) else { return nil }
      let hasDashes = reader.take("-")
      guard hasDashes || reader.take(" "), let month = reader.month(),
        reader.take(hasDashes ? "-" : " ")
      else { return nil }
      guard let year = hasDashes ? reader.shortYear(now: now) : reader.number(4...4),
        reader.take(" "), let time = reader.time(), reader.take(" "), reader.takeZone()
      else { return nil }
      date = (year, month, day, time)
    } else {
      guard weekday == 3, reader.take(" "), let month = reader.month(), reader.take(" ") else {
        return nil
      }
      _ = reader.take(" ")
      guard let day = reader.number(1...2), reader.take(" "), let time = reader.time(),
        reader.take(" "), let year = reader.number(4...4)
      else { return nil }
      date = (year, month, day, time)
    }
    guard reader.isAtEnd,
      let day = CalendarDate(year: date.year, month: date.month, day: date.day)
    else { return nil }
    self.init(day.daysSince1970 * 86400 + date.second)
  }

  /// A position in a text, which moves over the recognized parts.
  private struct Reader {
    private let text: ArraySlice<UInt8>
    private var position: Int

    init(_ text: ArraySlice<UInt8>) {
      self.text = text
      position = text.startIndex
    }

    var isAtEnd: Bool { position == text.endIndex }

    private var next: UInt8? { position < text.endIndex ? text[position] : nil }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard next == UInt8(ascii: character) else { return false }
      position += 1
      return true
    }

    /// Skips letters; says how many.
    mutating func letters() -> Int {
      let start = position
      while let letter = next, letter.lowercase &- 0x61 < 26 { position += 1 }
      return position - start
    }

    mutating func number(_ digits: ClosedRange<Int>) -> Int64? {
      var value: Int64 = 0
      var count = 0
      while count < digits.upperBound, let digit = next?.digitValue {
        value = value * 10 + Int64(digit)
        count += 1
        position += 1
      }
      return digits.contains(count) ? value : nil
    }

    mutating func month() -> Int64? {
      let letters = text[position...].prefix(3)
      guard
        let index = (0..<12).first(where: { HTTPDate.months[($0 * 3)...].starts(with: letters) }),
        letters.count == 3
      else { return nil }
      position += 3
      return Int64(index + 1)
    }

    mutating func time() -> Int64? {
      guard let hour = number(2...2), hour < 24, take(":"), let minute = number(2...2),
        minute < 60, take(":"), let second = number(2...2), second <= 60
      else { return nil }
      return hour * 3600 + minute * 60 + second
    }

    mutating func shortYear(now: HTTPDate) -> Int64? {
      guard let digits = number(2...2) else { return nil }
      let latest = Timestamp(seconds: now.clamped).dayAndSecond.day.year + 50
      let year = latest - latest % 100 + digits
      return year > latest ? year - 100 : year
    }

    mutating func takeZone() -> Bool { take("G") && take("M") && take("T") }
  }

  // MARK: Writing

  /// Appends the date as IMF-fixdate, always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// Years outside 1 to 9999 cannot be written; the first or the last second that can stands for them.
  ///
  /// - Parameter output: the bytes to append to.
  public func append(to output: inout [UInt8]) {
    var moment = time_t(clamped)
    var parts = unsafe tm()
    unsafe gmtime_r(&moment, &parts)
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 30) { text in
      guard let start = text.baseAddress else { return }
      let count = unsafe strftime(start, text.count, "%a, %d %b %04Y %H:%M:%S GMT", &parts)
      unsafe output.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  /// The date as IMF-fixdate.
  public var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A whole `Date` field line, CR LF included: what a server prepares once a second.
  public var fieldLine: [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(37)
    line.append("Date: ")
    append(to: &line)
    line.append("\r\n")
    return line
  }

  // MARK: Calendar

  /// The seconds, within the years 1 to 9999.
  private var clamped: Int64 { min(max(seconds, -62_135_596_800), 253_402_300_799) }

  private static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)
}
