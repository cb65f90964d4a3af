/// A day of the proleptic Gregorian calendar.
public struct CalendarDate: Sendable {
  /// The year.
  public let year: Int64
  /// The month, 1 to 12.
  public let month: Int64
  /// The day of the month, counted from 1.
  public let day: Int64

  /// A day by its numbers.
  ///
  /// - Returns: nil if the calendar has no such day.
  public init?(year: Int64, month: Int64, day: Int64) {
    let length: Int64 =
      switch month {
      case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
      case 4, 6, 9, 11: 30
      default: 31
      }
    guard (1...12).contains(month), (1...length).contains(day) else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  // Years begin in March here, so that the leap day is their last; 400 of them have 146,097 days.

  /// The day that lies a number of days after 1970-01-01.
  init(daysSince1970: Int64) {
    let shifted = daysSince1970 + 719_468
    let dayOfEra = shifted.modulo(146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + (shifted - dayOfEra) / 146_097 * 400 + (month <= 2 ? 1 : 0)
  }

  /// The number of days from 1970-01-01 to this day.
  public var daysSince1970: Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let yearOfEra = shiftedYear.modulo(400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return (shiftedYear - yearOfEra) / 400 * 146_097 + yearOfEra * 365 + yearOfEra / 4
      - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension Timestamp {
  /// The day that the moment lies in, in UTC, and the number of whole seconds since it began.
  public var dayAndSecond: (day: CalendarDate, second: Int64) {
    let second = seconds.modulo(86_400)
    return (CalendarDate(daysSince1970: (seconds - second) / 86_400), second)
  }
}

extension Int64 {
  /// The remainder that is never negative.
  func modulo(_ divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
