internal import Time

/// Reads and writes sizes in bytes: a whole number with a unit, `512B`, `64KiB`, `1MiB`.
enum ByteSize {
  private static let units: [(suffix: String, bytes: Int)] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
  ]

  /// Returns the number of bytes, or nil if the text isn't a size or is too large.
  static func parse(_ text: String) -> Int? {
    guard let unit = units.first(where: { text.hasSuffix($0.suffix) }),
      let number = Int(digits: text.dropLast(unit.suffix.count))
    else { return nil }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
    return overflow ? nil : bytes
  }

  /// Writes a size in the largest unit that needs no fraction.
  static func text(_ bytes: Int) -> String {
    let unit = units.first { bytes != 0 && bytes.isMultiple(of: $0.bytes) } ?? ("B", 1)
    return "\(bytes / unit.bytes)\(unit.suffix)"
  }
}

/// Reads and writes durations: a whole number with a unit, `500ms`, `30s`, `10m`, `24h`, `7d`.
public enum TimeSpan {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1000),
  ]

  /// Returns the duration, or nil if the text isn't one or is too long.
  public static func parse(_ text: String) -> Duration? {
    // "ms" before "s": the longer suffix is the unit.
    let fitting = units.filter { text.hasSuffix($0.suffix) }
    guard let unit = fitting.max(by: { $0.suffix.count < $1.suffix.count }),
      let number = Int(digits: text.dropLast(unit.suffix.count))
    else { return nil }
    let (milliseconds, overflow) = Int64(number).multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? nil : .milliseconds(milliseconds)
  }

  /// Writes a duration in whole milliseconds, in the largest unit that needs no fraction.
  static func text(_ duration: Duration) -> String {
    let whole = duration.milliseconds
    let unit = units.sorted { $0.milliseconds > $1.milliseconds }
      .first { whole != 0 && whole.isMultiple(of: $0.milliseconds) }
    return unit.map { "\(whole / $0.milliseconds)\($0.suffix)" } ?? "0s"
  }
}
