internal import XMLSecurity

extension XMLElement {
  /// Returns the texts of the element's label, the best one first: the English one, or else the first.
  ///
  /// - Parameter limit: the largest number of bytes of a text.
  func labels(limit: Int) -> [String] {
    guard let label = child(named: "label", in: namespace) else { return [] }
    let parts = label.children.prefix(Self.labelLimit).flatMap { part -> [XMLElement] in
      guard part.name == "plurals" else { return [part] }
      let forms = part.children(named: "string", in: namespace).prefix(Self.labelLimit)
      // One token is shown.
      return ["one", "other"].flatMap { quantity in
        forms.filter { $0.attribute("quantity") == quantity }
      } + forms.filter { !["one", "other"].contains($0.attribute("quantity")) }
    }
    return Self.englishFirst(parts.isEmpty ? [label] : parts)
      .map { $0.text.shown(limit: limit) }.filter { !$0.isEmpty }
  }

  /// Returns the text of the best of several elements of a name below the element's `meta`.
  ///
  /// - Parameters:
  ///   - limit: the largest number of bytes of the text.
  /// - Returns: nil if there is none.
  func meta(_ name: String, limit: Int) -> String? {
    let parts = child(named: "meta", in: namespace)?.children(named: name, in: namespace) ?? []
    let text = Self.englishFirst(parts).first?.text.shown(limit: limit)
    return text?.isEmpty == true ? nil : text
  }

  /// The number of texts that are read of a label.
  private static let labelLimit = 64

  private static func englishFirst(_ elements: [XMLElement]) -> [XMLElement] {
    let isEnglish = { (element: XMLElement) in
      element.language.map { $0 == "en" || $0.lowercased().hasPrefix("en-") } ?? false
    }
    return elements.filter(isEnglish) + elements.filter { !isEnglish($0) }
  }
}

extension String {
  /// Returns the text in one line, without control characters and marks of direction.
  ///
  /// - Parameter limit: the largest number of its bytes; a longer text ends with an ellipsis.
  func shown(limit: Int) -> String {
    let line = split(whereSeparator: \.isWhitespace).joined(separator: " ")
    var text = ""
    text.unicodeScalars.append(
      contentsOf: line.unicodeScalars.lazy.filter {
        $0.properties.generalCategory != .control && !$0.properties.isBidiControl
      })
    return text.utf8.count > limit ? text.bounded(to: limit - 3) : text
  }

  /// The text if it is a URL that browsers and wallets may open: `https:`, `http:` or `ipfs:` in visible ASCII.
  var openable: String? {
    let isOpenable =
      utf8.count <= 2048 && utf8.allSatisfy { (0x21..<0x7f).contains($0) }
      && ["https://", "http://", "ipfs://"].contains { hasPrefix($0) }
    return isOpenable ? self : nil
  }

  /// The text if it is the URL of an icon, which is not fetched in the clear.
  var openableIcon: String? { hasPrefix("http:") ? nil : openable }
}
