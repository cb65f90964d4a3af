internal import Storage
internal import Text

/// The name of an account: 1 to 64 bytes of UTF-8 in NFC, without control, format or
/// line-separator characters.
///
/// Two names are the same if their bytes are: being in NFC, `String` compares them so.
struct UserName: Hashable, Sendable {
  /// The longest name, in bytes.
  static let longest = 64

  /// The name in NFC.
  let text: String

  /// Checks a name.
  ///
  /// - Parameters:
  ///   - text: the name as it was given, in any form.
  ///   - field: the field it came in.
  /// - Throws: ``FieldError`` that says which rule it breaks.
  init(_ text: String, in field: FieldID) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    guard let text = UnicodeText.normalized(text), text.utf8.count <= Self.longest else {
      throw FieldError(field, "is longer than \(Self.longest) bytes")
    }
    guard text.unicodeScalars.allSatisfy(Self.allows) else {
      throw FieldError(field, "has a control, format or line-separator character")
    }
    self.text = text
  }

  private static func allows(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7f }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}

extension UserName: DatabaseValueConvertible {
  /// The name, as TEXT.
  var databaseValue: DatabaseValue { .text(text) }

  /// Takes a stored name, which was checked when it was stored.
  init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.text = text
  }
}

extension UserName: Comparable {
  /// By bytes.
  static func < (left: UserName, right: UserName) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}
