internal import Platform

/// Writes numbers with their units for people.
enum StatusQuantity {
  /// Writes a value.
  ///
  /// - Parameters:
  ///   - value: the value, or nil if there is none.
  ///   - name: the metric's name. Its end tells the unit.
  /// - Returns: text such as `12`, `3.4 ms`, `1.2 MB`, or `–` for no value.
  static func text(_ value: Double?, of name: String) -> String {
    guard let value, value.isFinite else { return "–" }
    if name.hasSuffix("_timestamp_seconds") {
      return value > 0 ? String("\(Timestamp(seconds: Int64(value)))".prefix(10)) : "–"
    }
    if name.hasSuffix("_seconds") { return duration(value) }
    if name.hasSuffix("_bytes") || name.hasSuffix("_bytes_total") {
      return scaled(value, ["B", "kB", "MB", "GB", "TB"])
    }
    return value < 10_000 ? rounded(value) : scaled(value, ["", "k", "M", "G", "T"])
  }

  private static func duration(_ seconds: Double) -> String {
    switch abs(seconds) {
    case 0: "0 s"
    case ..<0.001: "\(rounded(seconds * 1e6)) µs"
    case ..<1: "\(rounded(seconds * 1e3)) ms"
    case ..<120: "\(rounded(seconds)) s"
    case ..<7200: "\(rounded(seconds / 60)) min"
    case ..<172_800: "\(rounded(seconds / 3600)) h"
    default: "\(rounded(seconds / 86_400)) d"
    }
  }

  private static func scaled(_ value: Double, _ units: [String]) -> String {
    var value = value
    var unit = 0
    while abs(value) >= 1000, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    return units[unit].isEmpty ? rounded(value) : "\(rounded(value)) \(units[unit])"
  }

  /// Rounds to an integer, or to tenths below 100.
  private static func rounded(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    guard abs(tenths) < 1000, !tenths.isMultiple(of: 10) else { return "\(Int(value.rounded()))" }
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }
}
