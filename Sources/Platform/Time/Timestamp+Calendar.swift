internal import Glibc

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
