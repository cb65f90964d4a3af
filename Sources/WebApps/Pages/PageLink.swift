/// A link to a page for people.
public struct PageLink: Sendable, Equatable {
  /// The text of the link.
  public let title: String
  /// The target: a URL, or a path on the same server.
  public let url: String

  /// Makes a link.
  ///
  /// - Parameters:
  ///   - title: the text of the link.
  ///   - url: the target.
  public init(_ title: String, url: String) { (self.title, self.url) = (title, url) }

  /// The link as an HTML element.
  public var html: String { "<a href=\"\(url.htmlEscaped)\">\(title.htmlEscaped)</a>" }
}
