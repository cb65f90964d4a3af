internal import FoundationEssentials
internal import Platform

/// A time at which a message is to come, in a program's words: `30m`, `2 hours`, `1764201600`, `tomorrow, 10am`.
enum DelayWords {
  private static let units: [String: Int64] = [
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
    "d": 86_400, "day": 86_400, "days": 86_400,
    "w": 604_800, "week": 604_800, "weeks": 604_800,
  ]

  /// The longest words that are read, in bytes.
  private static let longest = 64

  /// Returns the moment that words mean.
  ///
  /// - Parameters:
  ///   - text: the words.
  ///   - now: the time.
  ///   - calendar: has the time zone in which a day begins.
  /// - Returns: nil for words that aren't understood.
  static func moment(
    _ text: String, from now: Timestamp, in calendar: Calendar = .server
  ) -> Timestamp? {
    guard text.utf8.count <= longest else { return nil }
    let words = text.trimmingBlanks.lowercased()
    if let seconds = Int64(words), words.utf8.count >= 9 { return Timestamp(seconds: seconds) }
    if let seconds = seconds(words) { return now + .seconds(seconds) }
    if let moment = rfc3339(text.trimmingBlanks) { return moment }
    return day(words, from: now, in: calendar)
  }

  /// Returns the length of a duration such as `1h30m` or `2 hours`; nil for anything else.
  static func seconds(_ text: String) -> Int64? {
    // So few numbers, of nine digits each, that their sum is far from the largest.
    guard text.utf8.count <= longest else { return nil }
    var rest = text.trimmingBlanks.lowercased()[...]
    if rest.hasPrefix("in ") { rest = rest.dropFirst(3) }
    var total: Int64 = 0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      rest = rest.drop { $0 == " " || $0 == "," }
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest[digits.endIndex...].drop { $0 == " " }
      let unit = rest.prefix { $0.isLetter }
      rest = rest[unit.endIndex...]
      guard digits.utf8.count <= 9, let amount = Int64(digits), let length = units[String(unit)]
      else { return nil }
      total += amount * length
    }
    return total
  }

  private static func rfc3339(_ text: String) -> Timestamp? {
    let strategies: [Date.ISO8601FormatStyle] = [
      .iso8601, Date.ISO8601FormatStyle(includingFractionalSeconds: true),
    ]
    for strategy in strategies {
      if let date = try? strategy.parse(text) {
        return Timestamp(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
      }
    }
    return nil
  }

  /// Reads `10am`, `tomorrow`, and `tomorrow, 10am`. A time of today that is over is tomorrow's.
  private static func day(
    _ words: String, from now: Timestamp, in calendar: Calendar
  ) -> Timestamp? {
    let present = Date(timeIntervalSince1970: Double(now.milliseconds) / 1000)
    var rest = words
    var isTomorrow = false
    for word in ["tomorrow", "today"] where rest.hasPrefix(word) {
      isTomorrow = word == "tomorrow"
      rest = String(rest.dropFirst(word.count).drop { " ,".contains($0) })
      if rest.hasPrefix("at ") { rest = String(rest.dropFirst(3)) }
      break
    }
    let start = calendar.startOfDay(for: present)
    guard let nextStart = calendar.date(byAdding: .day, value: 1, to: start) else { return nil }
    if rest.isEmpty, words.hasPrefix("tomorrow") {
      return calendar.date(byAdding: .day, value: 1, to: present).map(Self.timestamp)
    }
    guard let time = clock(rest) else { return nil }
    func moment(on day: Date) -> Date? {
      calendar.date(bySettingHour: time.hour, minute: time.minute, second: 0, of: day)
    }
    if isTomorrow { return moment(on: nextStart).map(Self.timestamp) }
    guard let today = moment(on: start) else { return nil }
    if today > present || words.hasPrefix("today") { return timestamp(today) }
    return moment(on: nextStart).map(Self.timestamp)
  }

  private static func timestamp(_ date: Date) -> Timestamp {
    Timestamp(milliseconds: Int64(date.timeIntervalSince1970 * 1000))
  }

  /// Reads a time of the day: `10am`, `3:30pm`, `15:30`.
  private static func clock(_ text: String) -> (hour: Int, minute: Int)? {
    let hour = text.prefix { $0.isASCII && $0.isNumber }
    var rest = text[hour.endIndex...]
    var minute = 0
    let hasMinute = rest.first == ":"
    if hasMinute {
      let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard digits.utf8.count == 2, let number = Int(digits), number < 60 else { return nil }
      minute = number
      rest = rest[digits.endIndex...]
    }
    guard (1...2).contains(hour.utf8.count), let hour = Int(hour) else { return nil }
    switch rest.trimmingBlanks {
    case "": return hasMinute && hour < 24 ? (hour, minute) : nil
    case "am": return (1...12).contains(hour) ? (hour % 12, minute) : nil
    case "pm": return (1...12).contains(hour) ? (hour % 12 + 12, minute) : nil
    default: return nil
    }
  }
}

extension Calendar {
  /// The calendar with the server's time zone.
  static var server: Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    return calendar
  }
}
