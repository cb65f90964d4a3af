package import Time

// The `xs:dateTime` of XML Schema Part 2, section 3.2.7, as XAdES writes the signing time.
extension Timestamp {
  /// Reads a date and time, or returns nil for other text.
  ///
  /// - Parameter text: `YYYY-MM-DDThh:mm:ss`, an optional fraction, which is cut off, and an optional zone; without a
  ///   zone the time is UTC.
  package init?(dateTime text: String) {
    var rest = Substring(text.filter { !$0.isWhitespace })[...]
    guard let year = Self.number(&rest, digits: 4), Self.take("-", &rest),
      let month = Self.number(&rest, digits: 2), Self.take("-", &rest),
      let day = Self.number(&rest, digits: 2), Self.take("T", &rest),
      let hour = Self.number(&rest, digits: 2), Self.take(":", &rest),
      let minute = Self.number(&rest, digits: 2), Self.take(":", &rest),
      let second = Self.number(&rest, digits: 2),
      year > 0, let date = CalendarDate(year: year, month: month, day: day),
      hour < 24 || hour == 24 && minute == 0 && second == 0, minute < 60, second < 60,
      Self.skipFraction(&rest), let offset = Self.zone(rest)
    else { return nil }
    self.init(seconds: date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset)
  }

  /// The moment as `YYYY-MM-DDThh:mm:ssZ`, or nil outside the years 1 to 9999.
  package var dateTime: String? {
    guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
    return description.prefix(19) + "Z"
  }

  private static func number(_ text: inout Substring, digits: Int) -> Int64? {
    let head = text.utf8.prefix(digits)
    guard head.count == digits, head.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    text.removeFirst(digits)
    return head.reduce(0) { $0 * 10 + Int64($1) - 0x30 }
  }

  private static func take(_ character: Character, _ text: inout Substring) -> Bool {
    guard text.first == character else { return false }
    text.removeFirst()
    return true
  }

  private static func skipFraction(_ text: inout Substring) -> Bool {
    guard text.first == "." else { return true }
    text.removeFirst()
    let digits = text.utf8.prefix { (0x30...0x39).contains($0) }.count
    text.removeFirst(digits)
    return digits > 0
  }

  /// Reads a zone as seconds east of UTC.
  private static func zone(_ text: Substring) -> Int64? {
    if text.isEmpty || text == "Z" { return 0 }
    var rest = text
    guard let sign = rest.popFirst(), sign == "+" || sign == "-",
      let hours = number(&rest, digits: 2), take(":", &rest),
      let minutes = number(&rest, digits: 2), rest.isEmpty, hours <= 14, minutes < 60
    else { return nil }
    return (sign == "+" ? 1 : -1) * (hours * 3600 + minutes * 60)
  }
}
