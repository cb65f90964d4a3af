/// A link to a page for people.
package struct PageLink: Sendable, Equatable {
  /// The text of the link.
  package let title: String
  /// The target: a URL, or a path on the same server.
  package let url: String

  package init(_ title: String, url: String) { (self.title, self.url) = (title, url) }

  /// The link as an HTML element.
  package var html: String { "<a href=\"\(url.htmlEscaped)\">\(title.htmlEscaped)</a>" }
}
