package import HTTPProtocol

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
