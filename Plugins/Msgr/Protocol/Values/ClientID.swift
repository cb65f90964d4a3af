internal import Formats

/// A client's own name for a message that it sends: 1 to 64 of `[0-9A-Za-z_-]`, the same at each attempt.
struct ClientID: Hashable, Sendable {
  /// The longest name, in bytes.
  static let longest = 64

  /// The name.
  let text: String

  /// Checks a name.
  ///
  /// - Parameter text: the name.
  /// - Throws: ``FieldError`` for anything else.
  init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.clientID, "is empty") }
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.allows) else {
      throw FieldError(
        .clientID, "is not 1 to \(Self.longest) letters, digits, hyphens and underscores")
    }
    self.text = text
  }

  /// Takes a stored name, which was checked before it was stored.
  init(stored text: String) { self.text = text }

  private static func allows(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
