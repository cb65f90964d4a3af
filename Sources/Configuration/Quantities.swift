internal import Platform

/// The units of a quantity that is written as a whole number with one of them.
private struct Units {
  /// The unit suffixes with what they stand for, the largest first.
  let all: [(suffix: String, factor: Int64)]
  /// The text for nothing.
  let zero: String

  /// Returns the amount, or nil if the text isn't one or is too large.
  func parse(_ text: String) -> Int64? {
    // "ms" before "s": the longer suffix is the unit.
    let fitting = all.filter { text.hasSuffix($0.suffix) }
    guard let unit = fitting.max(by: { $0.suffix.count < $1.suffix.count }),
      let number = Int(digits: text.dropLast(unit.suffix.count))
    else { return nil }
    let (amount, overflow) = Int64(number).multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : amount
  }

  /// Writes an amount in the largest unit that needs no fraction.
  func text(_ amount: Int64) -> String {
    let unit = all.first { amount != 0 && amount.isMultiple(of: $0.factor) }
    return unit.map { "\(amount / $0.factor)\($0.suffix)" } ?? zero
  }
}

/// Reads and writes sizes in bytes: a whole number with a unit, `512B`, `64KiB`, `1MiB`.
enum ByteSize {
  private static let units = Units(
    all: [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)],
    zero: "0B")

  /// Returns the number of bytes, or nil if the text isn't a size or is too large.
  static func parse(_ text: String) -> Int? { units.parse(text).map { Int($0) } }

  /// Writes a size in the largest unit that needs no fraction.
  static func text(_ bytes: Int) -> String { units.text(Int64(bytes)) }
}

/// Reads and writes durations: a whole number with a unit, `500ms`, `30s`, `10m`, `24h`, `7d`.
package enum TimeSpan {
  private static let units = Units(
    all: [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)], zero: "0s")

  /// Returns the duration, or nil if the text isn't one or is too long.
  package static func parse(_ text: String) -> Duration? {
    units.parse(text).map { .milliseconds($0) }
  }

  /// Writes a duration in whole milliseconds, in the largest unit that needs no fraction.
  static func text(_ duration: Duration) -> String { units.text(duration.milliseconds) }
}
