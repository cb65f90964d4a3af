/// A version of the TokenScript language: the year and month that its XML namespace names.
///
/// A wallet lists the versions that it understands, the preferred one first.
public struct TokenScriptNamespace: Hashable, Sendable, CustomStringConvertible {
  /// `YYYY/MM`, as it stands in the repository's URLs.
  public let path: String

  /// The URI of the root element's namespace.
  public var uri: String { "http://tokenscript.org/\(path)/tokenscript" }

  /// The same as ``path``.
  public var description: String { path }

  /// Reads a version as people write it.
  ///
  /// - Parameter text: `YYYY/MM`, with a month from 01 to 12.
  /// - Returns: the version, or nil for anything else.
  public init?(_ text: some StringProtocol) {
    path = String(text)
    guard path.wholeMatch(of: /[0-9]{4}\/(0[1-9]|1[0-2])/) != nil else { return nil }
  }

  /// Reads a version from the namespace of a root element.
  ///
  /// - Parameter uri: `http://tokenscript.org/<YYYY>/<MM>/tokenscript`.
  /// - Returns: the version, or nil for any other URI.
  public init?(uri: String) {
    let form = /http:\/\/tokenscript\.org\/(.{7})\/tokenscript/
    guard let version = uri.wholeMatch(of: form)?.1 else { return nil }
    self.init(version)
  }
}
