// The `xs:dateTime` of XML Schema Part 2, section 3.2.7, as XAdES writes the signing time.
extension Timestamp {
  /// Reads a date and time, or returns nil for other text.
  ///
  /// - Parameter text: `YYYY-MM-DDThh:mm:ss`, an optional fraction, which is cut off, and an optional zone; without a
  ///   zone the time is UTC.
  package init?(dateTime text: String) {
    let (date, clock) = (/([0-9]{4})-([0-9]{2})-([0-9]{2})T/, /([0-9]{2}):([0-9]{2}):([0-9]{2})/)
    let rest = /(?:\.[0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))?/
    let text = text.filter { !$0.isWhitespace }
    func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
    guard let day = text.prefixMatch(of: date),
      let time = text[day.range.upperBound...].prefixMatch(of: clock),
      let end = text[time.range.upperBound...].wholeMatch(of: rest),
      case let (hour, minute, second) = (number(time.1), number(time.2), number(time.3)),
      hour < 24 || hour == 24 && minute == 0 && second == 0, minute < 60, second < 60,
      case let (hours, minutes) = (number(end.2), number(end.3)), hours <= 14, minutes < 60,
      case let year = number(day.1), year > 0
    else { return nil }
    let offset = (end.1 == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
    self.init(
      year: year, month: number(day.2), day: number(day.3),
      second: hour * 3600 + minute * 60 + second - offset)
  }

  /// The moment as `YYYY-MM-DDThh:mm:ssZ`, or nil outside the years 1 to 9999.
  package var dateTime: String? {
    guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
    return description.prefix(19) + "Z"
  }
}
