/// The warnings about one file: the first are kept, the others counted.
///
/// They quote the file, and each row of the index has them.
struct WarningList {
  private static let limit = 32
  private static let lengthLimit = 160

  private var first: [String] = []
  private var others = 0

  /// The warnings, and a last one for those that were only counted.
  var texts: [String] { others == 0 ? first : first + ["and \(others) more"] }

  /// Adds a warning.
  ///
  /// - Parameter text: a sentence, which isn't made if it would only be counted.
  mutating func add(_ text: @autoclosure () -> String) {
    if first.count < Self.limit {
      first.append(text().bounded(to: Self.lengthLimit))
    } else {
      others += 1
    }
  }
}

extension StringProtocol {
  /// Returns the text, or as many of its characters as fit into a number of bytes with an ellipsis behind them.
  func bounded(to limit: Int) -> String {
    guard utf8.count > limit else { return String(self) }
    var end = utf8.index(startIndex, offsetBy: limit)
    // No scalar is cut.
    while end > startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(end, offsetBy: -1) }
    return String(self[..<end]) + "…"
  }
}
