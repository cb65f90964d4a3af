internal import Formats

/// The name of an account: 1 to 64 bytes of UTF-8 in NFC, without control, format or line-separator characters.
///
/// Two names are the same if their bytes are: being in NFC, `String` compares them so.
struct UserName: Hashable, Sendable {
  /// The longest name, in bytes.
  static let longest = 64
  /// The longest sender, in bytes: a publisher's has the owner's name, a slash and its own.
  static let longestSender = 2 * longest + 1

  /// The name in NFC.
  let text: String

  /// Checks a name.
  ///
  /// - Parameters:
  ///   - field: the field that holds it.
  ///   - longest: the most bytes.
  /// - Throws: ``FieldError`` that says which rule the name breaks.
  init(_ text: String, in field: FieldID, atMost longest: Int = longest) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    guard let text = UnicodeText.normalized(text), text.utf8.count <= longest else {
      throw FieldError(field, "is longer than \(longest) bytes")
    }
    guard text.unicodeScalars.allSatisfy(Self.allows) else {
      throw FieldError(field, "has a control, format or line-separator character")
    }
    self.text = text
  }

  /// Checks the name of a new account or publisher. It has no slash, as names with one are publishers', and looks like no
  /// other name.
  ///
  /// - Throws: ``FieldError`` that says which rule the name breaks.
  init(ofNewAccount text: String, in field: FieldID) throws(FieldError) {
    try self.init(text, in: field)
    // By bytes: with an accent behind it a slash is another character.
    guard !self.text.utf8.contains(UInt8(ascii: "/")) else {
      throw FieldError(field, "has a slash")
    }
    if let fault = NameFault.find(in: self.text) { throw FieldError(field, fault.description) }
  }

  /// Takes a stored name, which was checked before it was stored.
  init(stored text: String) { self.text = text }

  private static func allows(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7f }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}

extension UserName: Comparable {
  /// Compares two names by their bytes.
  static func < (left: UserName, right: UserName) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
