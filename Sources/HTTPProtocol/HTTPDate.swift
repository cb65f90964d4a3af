/// A moment as HTTP writes it, in whole seconds of UTC (RFC 9110 section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
  /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let seconds: Int64

  /// A moment.
  ///
  /// - Parameter seconds: seconds since 1970-01-01T00:00:00Z.
  public init(_ seconds: Int64) {
    self.seconds = seconds
  }

  /// Whether a moment is before another.
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
    let date: (year: Int64, month: Int64, day: Int64)
    let second: Int64
    if reader.take(",") {
      guard reader.take(" "), let day = reader.number(1...2) else { return nil }
      let hasDashes = reader.take("-")
      guard hasDashes || reader.take(" "), let month = reader.month(),
        reader.take(hasDashes ? "-" : " ")
      else { return nil }
      guard let year = hasDashes ? reader.shortYear(now: now) : reader.number(4...4),
        reader.take(" "), let time = reader.time(), reader.take(" "), reader.takeZone()
      else { return nil }
      date = (year, month, day)
      second = time
    } else {
      guard weekday == 3, reader.take(" "), let month = reader.month(), reader.take(" ") else {
        return nil
      }
      _ = reader.take(" ")
      guard let day = reader.number(1...2), reader.take(" "), let time = reader.time(),
        reader.take(" "), let year = reader.number(4...4)
      else { return nil }
      date = (year, month, day)
      second = time
    }
    guard reader.isAtEnd, date.day >= 1,
      date.day <= Self.length(ofMonth: date.month, year: date.year)
    else { return nil }
    self.init(Self.days(date.year, date.month, date.day) * 86400 + second)
  }

  /// A position in a text, which it moves over what it recognizes.
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
      guard let letters = threeLetters() else { return nil }
      for index in 0..<12 where HTTPDate.months.packed(index) == letters {
        return Int64(index + 1)
      }
      return nil
    }

    private mutating func threeLetters() -> UInt32? {
      guard position + 3 <= text.endIndex else { return nil }
      defer { position += 3 }
      return Names.pack(text[position], text[position + 1], text[position + 2])
    }

    mutating func time() -> Int64? {
      guard let hour = number(2...2), hour < 24, take(":"), let minute = number(2...2),
        minute < 60, take(":"), let second = number(2...2), second <= 60
      else { return nil }
      return hour * 3600 + minute * 60 + second
    }

    mutating func shortYear(now: HTTPDate) -> Int64? {
      guard let digits = number(2...2) else { return nil }
      let present = HTTPDate.civil(day: now.clamped.seconds.flooredQuotient(86400)).year
      let latest = present + 50
      let year = latest - latest % 100 + digits
      return year > latest ? year - 100 : year
    }

    mutating func takeZone() -> Bool {
      take("G") && take("M") && take("T")
    }
  }

  // MARK: Writing

  /// Appends the date as IMF-fixdate, always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// Years outside 1 to 9999 cannot be written; the first or the last second that can stands for them.
  ///
  /// - Parameter output: the bytes to append to.
  public func append(to output: inout [UInt8]) {
    let seconds = clamped.seconds
    let day = seconds.flooredQuotient(86400)
    let time = Int(seconds - day * 86400)
    let (year, month, dayOfMonth) = Self.civil(day: day)
    // 1970-01-01 was a Thursday; weekdays are counted from Sunday.
    let weekday = Int(day + 4 - (day + 4).flooredQuotient(7) * 7)
    output.append(contentsOf: Self.weekdays.name(weekday))
    output.append(", ")
    output.append(twoDigits: Int(dayOfMonth))
    output.append(" ")
    output.append(contentsOf: Self.months.name(Int(month) - 1))
    output.append(" ")
    output.append(twoDigits: Int(year) / 100)
    output.append(twoDigits: Int(year) % 100)
    output.append(" ")
    output.append(twoDigits: time / 3600)
    output.append(":")
    output.append(twoDigits: time / 60 % 60)
    output.append(":")
    output.append(twoDigits: time % 60)
    output.append(" GMT")
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

  /// The moment within the years 1 to 9999.
  private var clamped: HTTPDate { HTTPDate(min(max(seconds, -62_135_596_800), 253_402_300_799)) }

  private static let weekdays = Names("SunMonTueWedThuFriSat")
  private static let months = Names("JanFebMarAprMayJunJulAugSepOctNovDec")

  /// Names of three letters each.
  private struct Names {
    private let letters: [UInt8]

    init(_ names: StaticString) {
      letters = names.withUTF8Buffer { unsafe Array($0) }
    }

    func name(_ index: Int) -> ArraySlice<UInt8> { letters[index * 3..<index * 3 + 3] }

    /// A name as one number.
    func packed(_ index: Int) -> UInt32 {
      Names.pack(letters[index * 3], letters[index * 3 + 1], letters[index * 3 + 2])
    }

    static func pack(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> UInt32 {
      UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)
    }
  }

  private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March here, so that
  /// the leap day is their last; 400 of them have 146,097 days.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted.flooredQuotient(400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The inverse of ``days(_:_:_:)``.
  private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = shifted.flooredQuotient(146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}

extension Int64 {
  /// The quotient rounded down; the divisor is positive.
  fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
  }
}

extension [UInt8] {
  fileprivate mutating func append(twoDigits value: Int) {
    append(UInt8(ascii: "0") + UInt8(value / 10))
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }
}
