/// A version of the TokenScript language: the year and month that its XML namespace names.
///
/// A wallet lists the versions that it understands, the preferred one first.
public struct TokenScriptNamespace: Hashable, Sendable, CustomStringConvertible {
  /// `YYYY/MM`, as it stands in the repository's URLs.
  public let path: String

  /// The URI of the root element's namespace.
  public var uri: String { Self.prefix + path + Self.suffix }

  /// The same as ``path``.
  public var description: String { path }

  /// Reads a version as people write it.
  ///
  /// - Parameter text: `YYYY/MM`, with a month from 01 to 12.
  /// - Returns: the version, or nil for anything else.
  public init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    let isDigit = bytes.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard isDigit == [true, true, true, true, false, true, true], bytes[4] == UInt8(ascii: "/"),
      let month = Int(text.suffix(2)), (1...12).contains(month)
    else { return nil }
    path = String(text)
  }

  /// Reads a version from the namespace of a root element.
  ///
  /// - Parameter uri: `http://tokenscript.org/<YYYY>/<MM>/tokenscript`.
  /// - Returns: the version, or nil for any other URI.
  public init?(uri: String) {
    guard uri.hasPrefix(Self.prefix), uri.hasSuffix(Self.suffix),
      uri.utf8.count == Self.prefix.utf8.count + 7 + Self.suffix.utf8.count
    else { return nil }
    self.init(uri.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
  }

  private static let prefix = "http://tokenscript.org/"
  private static let suffix = "/tokenscript"
}
