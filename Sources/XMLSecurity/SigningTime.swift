/// The point in time of an `xs:dateTime` (XML Schema Part 2, section 3.2.7).
enum SigningTime {
  /// Reads a date and time.
  ///
  /// - Parameter text: `YYYY-MM-DDThh:mm:ss`, then at most a fraction, which is cut off, and a zone;
  ///   without a zone it is UTC.
  /// - Returns: seconds since 1970 UTC; nil if the text is no date.
  static func seconds(of text: String) -> Int64? {
    var rest = Substring(text.filter { !$0.isWhitespace })[...]
    guard let year = number(&rest, digits: 4), take("-", &rest),
      let month = number(&rest, digits: 2), take("-", &rest),
      let day = number(&rest, digits: 2), take("T", &rest),
      let hour = number(&rest, digits: 2), take(":", &rest),
      let minute = number(&rest, digits: 2), take(":", &rest),
      let second = number(&rest, digits: 2),
      year > 0, (1...12).contains(month), day >= 1, day <= days(in: month, of: year),
      hour < 24 || hour == 24 && minute == 0 && second == 0, minute < 60, second < 60,
      skipFraction(&rest), let offset = zone(rest)
    else { return nil }
    let days = daysSince1970(year: year, month: month, day: day)
    return Int64(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
  }

  /// Writes a time as `YYYY-MM-DDThh:mm:ssZ`; nil outside the years 1 to 9999.
  static func text(of seconds: Int64) -> String? {
    guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
    let days = Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
    let time = Int(seconds) - days * 86_400
    // The civil calendar counted from 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func padded(_ value: Int, _ width: Int = 2) -> String {
      String(repeating: "0", count: max(0, width - String(value).count)) + String(value)
    }
    return "\(padded(year, 4))-\(padded(month))-\(padded(day))"
      + "T\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))Z"
  }

  private static func number(_ text: inout Substring, digits: Int) -> Int? {
    let head = text.utf8.prefix(digits)
    guard head.count == digits, head.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    text.removeFirst(digits)
    return head.reduce(0) { $0 * 10 + Int($1) - 0x30 }
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

  /// Seconds east of UTC.
  private static func zone(_ text: Substring) -> Int? {
    if text.isEmpty || text == "Z" { return 0 }
    var rest = text
    guard let sign = rest.popFirst(), sign == "+" || sign == "-",
      let hours = number(&rest, digits: 2), take(":", &rest),
      let minutes = number(&rest, digits: 2), rest.isEmpty, hours <= 14, minutes < 60
    else { return nil }
    return (sign == "+" ? 1 : -1) * (hours * 3600 + minutes * 60)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
