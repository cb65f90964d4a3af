internal import HTTPProtocol
internal import Platform
internal import WebApps

/// The parts of pages that stand for single facts.
///
/// Paths, names and signers are other people's words: all are escaped, and isolated from the direction of the text
/// around them.
enum Markup {
  /// A list of warnings, or an empty string without any.
  static func warnings(_ warnings: [String]) -> String {
    guard !warnings.isEmpty else { return "" }
    let items = warnings.map { "<li>\($0.isolatedHTML)</li>" }.joined()
    return "<ul class=\"warnings\" aria-label=\"Warnings\">\(items)</ul>"
  }

  /// A number of bytes, as `12.3 kB`.
  static func size(_ size: Int) -> String {
    size < 1000 ? "\(size) B" : "\(size / 1000).\(size % 1000 / 100) kB"
  }

  /// A path, which a browser may break behind a slash.
  static func path(_ path: RepositoryPath) -> String {
    let text = path.text.htmlEscaped
    let breakable = text.replacing("/", with: "/<wbr>")
    return "<span class=\"mono\" title=\"\(text)\"><bdi>\(breakable)</bdi></span>"
  }

  /// A moment to the minute, as `2026-11-21 22:45 UTC`.
  static func time(_ time: Timestamp) -> String {
    let text = time.description
    let minute = text.prefix(16).replacing("T", with: " ")
    return "<time datetime=\"\(text)\">\(minute) UTC</time>"
  }
}

extension IndexRow {
  /// The values that pages have for the row.
  var values: PageTemplate.Values {
    let note: String? =
      switch state {
      case .shadowed(let path): "by \(Markup.path(path))"
      case .servesNothing: "it names no contract as its origin"
      case .served, .refused, .gone: nil
      }
    var reason: String?
    if case .refused(let refusal) = state { reason = refusal.reason.htmlEscaped }
    return [
      "path": Markup.path(path), "note": note, "reason": reason, "size": Markup.size(size),
      "badge": "<span class=\"state \(state.summary.rawValue)\">\(state.summary.label)</span>",
      "warnings": Markup.warnings(warnings), "signer": signer?.commonName, "key": signer?.key,
    ]
  }
}

extension String {
  /// The text escaped, and isolated from the direction of the text around it.
  var isolatedHTML: String { "<bdi>\(htmlEscaped)</bdi>" }
}

/// The icon of the pages: a token with a script on it.
enum Favicon {
  /// The response with the icon.
  static let response = Response(
    .ok, type: "image/svg+xml",
    text: """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" \
      fill="#0a55c4"/><path d="M12 10l-6 6 6 6m8-12l6 6-6 6" fill="none" stroke="#fff" \
      stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>
      """
  ).with(ResponseHeaders.fields([.cacheControl: "max-age=86400"]), ResponseHeaders.foreignContent)
}
