/// A version of the TokenScript language: the year and month in the namespace of its files.
///
/// Versions compare as their dates do. A value takes four bytes, so a request's path is matched against the index
/// without allocation.
struct SchemaVersion: Hashable, Comparable, Sendable {
  /// The year times 100 plus the month.
  private let number: UInt32

  /// Makes the version of a year and month, or nil outside the ranges.
  ///
  /// - Parameters:
  ///   - year: 0 to 9999.
  ///   - month: 1 to 12.
  init?(year: Int, month: Int) {
    guard (0...9999).contains(year), (1...12).contains(month) else { return nil }
    number = UInt32(year * 100 + month)
  }

  /// Reads a version from two segments of a URL's path, or returns nil for other segments.
  init?(year: ArraySlice<UInt8>, month: ArraySlice<UInt8>) {
    guard let year = Self.number(year, digits: 4), let month = Self.number(month, digits: 2) else {
      return nil
    }
    self.init(year: year, month: month)
  }

  /// Reads a version as people write it, or returns nil for other text.
  init?(_ text: some StringProtocol) {
    let parts = Array(text.utf8).split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(year: parts[0], month: parts[1])
  }

  /// Reads the version from the namespace of a TokenScript's root element, or returns nil for other namespaces.
  init?(namespace: String) {
    guard namespace.hasPrefix(Self.prefix), namespace.hasSuffix(Self.suffix),
      namespace.utf8.count == Self.prefix.utf8.count + 7 + Self.suffix.utf8.count
    else { return nil }
    self.init(namespace.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
  }

  /// The namespace URI of files in this version.
  var namespace: String { Self.prefix + path + Self.suffix }

  /// The version as `YYYY/MM`, as in URLs and in folders of schemas.
  var path: String {
    let digits = String(number + 1_000_000).dropFirst()
    return "\(digits.prefix(4))/\(digits.suffix(2))"
  }

  /// Orders versions by their dates.
  static func < (left: SchemaVersion, right: SchemaVersion) -> Bool {
    left.number < right.number
  }

  private static let prefix = "http://tokenscript.org/"
  private static let suffix = "/tokenscript"

  private static func number(_ text: ArraySlice<UInt8>, digits: Int) -> Int? {
    guard text.count == digits else { return nil }
    var value = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}

extension SchemaVersion: CustomStringConvertible {
  /// The version as `YYYY/MM`.
  var description: String { path }
}
