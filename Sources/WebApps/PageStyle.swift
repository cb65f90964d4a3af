package import HTTPProtocol

internal import Cryptography
internal import FoundationEssentials
internal import Platform
internal import WebAppsResources

/// The style of a page for people, and the policy that allows this style and nothing else.
package struct PageStyle: Sendable {
  /// The content of the page's `style` element: the style that all pages share, and the page's own.
  package let text: String
  /// The value of `Content-Security-Policy` (CSP level 3), which allows the style by its hash.
  package let contentSecurityPolicy: String

  /// Makes the style of a page.
  ///
  /// - Parameters:
  ///   - own: the rules of this page alone, in UTF-8.
  ///   - formAction: the source of the policy that forms may be sent to.
  package init(_ own: [UInt8], formAction: String = "'none'") {
    let rules = Resource(webapps_base_css()).bytes + own
    text = String(decoding: rules, as: UTF8.self)
    let digest = Data(SHA256.hash(rules).bytes).base64EncodedString()
    contentSecurityPolicy =
      "default-src 'none'; style-src 'sha256-\(digest)'; img-src 'self'; base-uri 'none'; "
      + "form-action \(formAction); frame-ancestors 'none'"
  }

  /// Makes an HTML document with this style.
  ///
  /// - Parameter content: the elements of the page, as HTML.
  package func document(title: String, _ content: String) -> String {
    Self.page.html(["title": title, "style": text, "content": content])
  }

  private static let page = PageTemplate(Resource(webapps_page_html()).bytes)

  /// The style of a short message.
  package static let message = PageStyle(Resource(webapps_message_css()).bytes)
}

/// A link to a page for people.
package struct PageLink: Sendable, Equatable {
  /// The text of the link.
  package let title: String
  /// The target: a URL, or a path on the same server.
  package let url: String

  package init(_ title: String, url: String) {
    self.title = title
    self.url = url
  }

  /// The link as an HTML element.
  package var html: String { "<a href=\"\(url.htmlEscaped)\">\(title.htmlEscaped)</a>" }
}

extension Response {
  /// Makes a response with a page, which may use its style, and no script.
  ///
  /// - Parameter page: the HTML document.
  package init(_ status: Status = .ok, page: String, _ style: PageStyle) {
    self.init(status, type: "text/html; charset=utf-8", text: page)
    fields.append(.contentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, style.contentSecurityPolicy)
    fields.append(.referrerPolicy, "no-referrer")
  }
}
