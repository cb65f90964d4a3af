internal import Platform

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
    var words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    var weekday = words.removeFirst()
    var isYearShort = false
    if weekday.last == UInt8(ascii: ",") {
      weekday.removeLast()
      guard words.popLast()?.elementsEqual("GMT".utf8) == true else { return nil }
      isYearShort = words.count == 2
      if isYearShort {
        let date = words[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        words = date + [words[1]]
      }
    } else {
      // A day of one digit has two blanks before it.
      if words.count == 5, words[1].isEmpty { words.remove(at: 1) }
      guard weekday.count == 3, words.count == 4 else { return nil }
      words = [words[1], words[0], words[3], words[2]]
    }
    guard weekday.count >= 3, weekday.allSatisfy({ $0.lowercase &- 0x61 < 26 }), words.count == 4,
      let day = Self.number(words[0], 1...2), let month = Self.month(words[1]),
      let year = Self.number(words[2], isYearShort ? 2...2 : 4...4),
      let second = Self.second(words[3]),
      let moment = Timestamp(
        year: isYearShort ? now.year(endingIn: year) : year, month: month, day: day, second: second)
    else { return nil }
    self.init(moment.seconds)
  }

  private static func number(_ text: ArraySlice<UInt8>, _ digits: ClosedRange<Int>) -> Int64? {
    guard digits.contains(text.count) else { return nil }
    return text.reduce(0) { number, byte in
      byte.digitValue.flatMap { digit in number.map { $0 * 10 + Int64(digit) } }
    }
  }

  private static func month(_ text: ArraySlice<UInt8>) -> Int64? {
    months.firstIndex { $0.elementsEqual(text) }.map { Int64($0 + 1) }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ].map(\.utf8)

  /// Returns the second of the day at a time.
  private static func second(_ text: ArraySlice<UInt8>) -> Int64? {
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      .compactMap { number($0, 2...2) }
    guard text.count == 8, parts.count == 3, parts[0] < 24, parts[1] < 60, parts[2] <= 60 else {
      return nil
    }
    return parts[0] * 3600 + parts[1] * 60 + parts[2]
  }

  /// Returns the last year with these digits that is at most 50 years ahead.
  private func year(endingIn digits: Int64) -> Int64 {
    let latest = (Int64(Timestamp(seconds: clamped).text("%Y")) ?? 0) + 50
    let year = latest - latest % 100 + digits
    return year > latest ? year - 100 : year
  }

  // MARK: Writing

  /// The date as IMF-fixdate, always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// Years outside 1 to 9999 cannot be written; the first or the last second that can stands for them.
  public var text: String { Timestamp(seconds: clamped).text("%a, %d %b %04Y %H:%M:%S GMT") }

  /// A whole `Date` field line, CR LF included: what a server prepares once a second.
  public var fieldLine: [UInt8] { Array("Date: \(text)\r\n".utf8) }

  /// The seconds, within the years 1 to 9999.
  private var clamped: Int64 { min(max(seconds, -62_135_596_800), 253_402_300_799) }
}
