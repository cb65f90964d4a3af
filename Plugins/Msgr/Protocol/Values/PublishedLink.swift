/// A link of a published message: `https`, `http` or `mailto`, and nothing that a browser would run.
struct PublishedLink: Hashable, Sendable {
  /// The longest link, in bytes.
  static let longest = 1024
  private static let schemes = ["https://", "http://", "mailto:"]

  /// The link as it was given.
  let text: String

  /// Checks a link.
  ///
  /// - Parameter text: the link: printable ASCII.
  /// - Throws: ``FieldError`` that says which rule it breaks.
  init(_ text: String) throws(FieldError) {
    guard text.utf8.count <= Self.longest else {
      throw FieldError(.link, "is longer than \(Self.longest) bytes")
    }
    let lower = text.lowercased()
    guard Self.schemes.contains(where: { lower.hasPrefix($0) && lower != $0 }),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
    else { throw FieldError(.link, "is no link with https, http or mailto") }
    self.text = text
  }

  /// Takes a stored link, which was checked before it was stored.
  init(stored text: String) { self.text = text }
}
