/// A password as it was given: 1 to 128 bytes, not normalized. No description shows it.
struct Password: Sendable {
  /// The longest password, in bytes.
  static let longest = 128

  /// The bytes of the password.
  let bytes: [UInt8]

  /// Checks a password.
  ///
  /// - Parameter field: the field that holds it.
  /// - Throws: ``FieldError`` that says which rule the password breaks.
  init(_ text: String, in field: FieldID = .password) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    guard text.utf8.count <= Self.longest else {
      throw FieldError(field, "is longer than \(Self.longest) bytes")
    }
    guard !text.unicodeScalars.contains(where: \.isControl) else {
      throw FieldError(field, "has a control character")
    }
    bytes = Array(text.utf8)
  }
}

extension Password: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Asterisks in place of the password.
  var description: String { "***" }
  /// Asterisks in place of the password.
  var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension Unicode.Scalar {
  /// True if the scalar is one of Unicode's control characters (Cc).
  var isControl: Bool { value < 0x20 || (0x7f...0x9f).contains(value) }
}
