internal import WebAppsResources
internal import Platform
internal import Cryptography
internal import FoundationEssentials

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
