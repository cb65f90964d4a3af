internal import Wire

/// A client's own name for a message that it sends: 1 to 64 of `[0-9A-Za-z_-]`, the same at each attempt.
package struct ClientID: Hashable, Sendable {
  /// The longest name, in bytes.
  package static let longest = 64

  /// The name.
  package let text: String

  /// Checks a name.
  ///
  /// - Parameter text: the name.
  /// - Throws: ``FieldError`` for anything else.
  package init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.clientID, "is empty") }
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.allows) else {
      throw FieldError(
        .clientID, "is not 1 to \(Self.longest) letters, digits, hyphens and underscores")
    }
    self.text = text
  }

  /// Takes a stored name, which was checked before it was stored.
  package init(stored text: String) { self.text = text }

  private static func allows(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
