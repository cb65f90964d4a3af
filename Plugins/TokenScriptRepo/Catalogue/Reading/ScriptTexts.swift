internal import FoundationEssentials
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

  /// Returns the icon below the element's `meta`: a URL that may be opened, or a small picture in a `data:` URL.
  ///
  /// - Parameter allowingClearText: whether `http:` is allowed.
  func icon(allowingClearText: Bool) -> String? {
    // One more character than is allowed shows that the text was cut.
    guard let text = meta("iconUrl", limit: PictureURL.lengthLimit + 4) else { return nil }
    return allowingClearText && text.hasPrefix("http:") ? text.openable : text.openableIcon
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

  /// The text if it is the URL of an icon, which is not fetched in the clear, or a small picture in a `data:` URL.
  var openableIcon: String? {
    if hasPrefix("data:") { return PictureURL.isPicture(self) ? self : nil }
    return hasPrefix("http:") ? nil : openable
  }
}

/// A picture in a URL (RFC 2397), of the kinds that browsers show without running anything.
enum PictureURL {
  /// The largest picture in bytes.
  private static let sizeLimit = 16 << 10
  /// The longest URL: the picture in base64, with the type before it.
  static let lengthLimit = (sizeLimit + 2) / 3 * 4 + 32

  /// The types, and the bytes that a picture of each begins with.
  private static let types: [(type: String, beginning: [[UInt8]])] = [
    ("png", [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]]),
    ("jpeg", [[0xff, 0xd8, 0xff]]),
    ("gif", [Array("GIF87a".utf8), Array("GIF89a".utf8)]),
    ("webp", [Array("RIFF".utf8)]),
  ]

  /// Returns whether a text is a picture's URL, and the bytes begin as its type says.
  static func isPicture(_ text: String) -> Bool {
    guard text.utf8.count <= lengthLimit else { return false }
    for (type, beginnings) in types {
      let head = "data:image/\(type);base64,"
      guard text.hasPrefix(head) else { continue }
      guard let data = Data(base64Encoded: String(text.dropFirst(head.count))),
        data.count <= sizeLimit, beginnings.contains(where: { data.starts(with: $0) })
      else { return false }
      return type != "webp" || data.dropFirst(8).starts(with: "WEBP".utf8)
    }
    return false
  }
}
