/// What makes a new name look like another one, or like nothing. Names that accounts have already are not judged by it.
package enum NameFault: Error, CaseIterable {
  /// A character that is not seen: a variation selector, a filler, a joiner, a tag, a format character.
  case invisibleCharacter
  /// A blank at an end, two in a row, or one other than the usual.
  case blanks
  /// No character that is seen.
  case nothingVisible

  /// The fault in words that follow the name of what has it.
  package var description: String {
    switch self {
    case .invisibleCharacter: "has a character that can't be seen"
    case .blanks: "has a blank at an end, two in a row, or another than the space"
    case .nothingVisible: "has no character that can be seen"
    }
  }

  /// The blank of Braille, which is a symbol without dots.
  private static let brailleBlank: Unicode.Scalar = "\u{2800}"

  /// Finds the fault of a new name, if it has one.
  ///
  /// - Parameter text: the name in NFC.
  package static func find(in text: String) -> NameFault? {
    var before: Unicode.Scalar = " "
    var hasVisible = false
    for scalar in text.unicodeScalars {
      let properties = scalar.properties
      let category = properties.generalCategory
      guard !properties.isDefaultIgnorableCodePoint, category != .format, category != .control
      else { return .invisibleCharacter }
      let isBlank = properties.isWhitespace || scalar == brailleBlank
      if isBlank, scalar != " " || before == " " { return .blanks }
      let isMark = category == .nonspacingMark || category == .enclosingMark
      if !isBlank, !isMark { hasVisible = true }
      before = scalar
    }
    guard hasVisible else { return .nothingVisible }
    return before == " " ? .blanks : nil
  }
}
