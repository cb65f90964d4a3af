/// The version of the TokenScript language that a file is written in: the year and month that its
/// namespace names.
///
/// Two versions compare as their dates do. A value takes four bytes, so that a request's path is
/// matched against the index without allocation.
struct SchemaVersion: Hashable, Comparable, Sendable {
  /// The year times 100 plus the month.
  private let number: UInt32

  /// The version for a year and a month.
  ///
  /// - Parameters:
  ///   - year: from 0 to 9999.
  ///   - month: from 1 to 12.
  /// - Returns: nil outside these ranges.
  init?(year: Int, month: Int) {
    guard (0...9999).contains(year), (1...12).contains(month) else { return nil }
    number = UInt32(year * 100 + month)
  }

  /// Reads a version from the two segments of a URL's path.
  ///
  /// - Parameters:
  ///   - year: four ASCII digits.
  ///   - month: two ASCII digits.
  /// - Returns: nil for anything else.
  init?(year: some Collection<UInt8>, month: some Collection<UInt8>) {
    guard let year = Self.number(year, digits: 4), let month = Self.number(month, digits: 2) else {
      return nil
    }
    self.init(year: year, month: month)
  }

  /// Reads a version as people write it.
  ///
  /// - Parameter text: `YYYY/MM`.
  /// - Returns: nil for anything else.
  init?(_ text: some StringProtocol) {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(year: parts[0], month: parts[1])
  }

  /// Reads the version from the namespace of a TokenScript's root element.
  ///
  /// - Parameter namespace: `http://tokenscript.org/<YYYY>/<MM>/tokenscript`.
  /// - Returns: nil for any other URI.
  init?(namespace: String) {
    guard namespace.hasPrefix(Self.prefix), namespace.hasSuffix(Self.suffix),
      namespace.utf8.count == Self.prefix.utf8.count + 7 + Self.suffix.utf8.count
    else { return nil }
    self.init(namespace.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
  }

  /// The namespace URI of files in this version.
  var namespace: String { Self.prefix + path + Self.suffix }

  /// `YYYY/MM`, as it stands in URLs and in folders of schemas.
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

  private static func number(_ text: some Collection<UInt8>, digits: Int) -> Int? {
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
  /// The same as ``path``.
  var description: String { path }
}
