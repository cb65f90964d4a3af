internal import Formats

/// Text of programs without what a terminal or a screen would act on.
enum PlainText {
  /// Returns a text without terminal escape sequences, and without control characters but tab, CR and LF.
  static func cleaned(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.isControl && !isWhitespace($0) }) else {
      return text
    }
    var cleaned = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case escape: dropSequence(&rest)
      case controlSequence: dropParameters(&rest)
      case _ where scalar.isControl && !isWhitespace(scalar): break
      default: cleaned.append(scalar)
      }
    }
    return String(cleaned)
  }

  /// Returns a text on one line: cleaned, with blanks for line breaks and tabs, and without blanks around it.
  static func line(_ text: String) -> String {
    var line = String.UnicodeScalarView()
    var isBehindReturn = false
    for scalar in cleaned(text).unicodeScalars {
      let isBreak = isWhitespace(scalar) || scalar == "\u{2028}" || scalar == "\u{2029}"
      if !isBreak {
        line.append(scalar)
      } else if scalar != "\n" || !isBehindReturn {
        line.append(" ")
      }
      isBehindReturn = scalar == "\r"
    }
    return String(line).trimmingBlanks
  }

  /// Returns as much of a text as fits, with an ellipsis if it was cut at a character's boundary.
  ///
  /// - Parameter limit: the most bytes of UTF-8.
  static func cut(_ text: String, toBytes limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var room = limit - ellipsis.utf8.count
    var end = text.startIndex
    while end < text.endIndex {
      room -= text[end].utf8.count
      guard room >= 0 else { break }
      end = text.index(after: end)
    }
    return text[..<end] + ellipsis
  }

  private static let ellipsis = "…"
  private static let escape: Unicode.Scalar = "\u{1b}"
  /// The start of a sequence with parameters, in one character.
  private static let controlSequence: Unicode.Scalar = "\u{9b}"

  private static func isWhitespace(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\t" || scalar == "\n" || scalar == "\r"
  }

  /// Drops what follows an escape character (ECMA-48): parameters, a string up to its end, or the one character that is meant.
  private static func dropSequence(_ rest: inout Substring.UnicodeScalarView) {
    guard let kind = rest.first else { return }
    switch kind {
    case "[":
      rest.removeFirst()
      dropParameters(&rest)
    case "]", "P", "X", "^", "_":
      rest.removeFirst()
      dropString(&rest)
    case " "..."/":
      while let next = rest.first, (" "..."/").contains(next) { rest.removeFirst() }
      if let final = rest.first, ("0"..."~").contains(final) { rest.removeFirst() }
    case "0"..."~": rest.removeFirst()
    default: break
    }
  }

  private static func dropParameters(_ rest: inout Substring.UnicodeScalarView) {
    while let next = rest.first, (" "..."?").contains(next) { rest.removeFirst() }
    if let final = rest.first, ("@"..."~").contains(final) { rest.removeFirst() }
  }

  /// Drops a string up to BEL or ESC `\`; one without an end ends at the line's.
  private static func dropString(_ rest: inout Substring.UnicodeScalarView) {
    while let next = rest.first, next != "\n", next != "\r" {
      rest.removeFirst()
      if next == "\u{7}" || next == "\u{9c}" { return }
      if next == escape {
        if rest.first == "\\" { rest.removeFirst() }
        return
      }
    }
  }
}

extension StringProtocol {
  /// The text without blanks and line breaks around it.
  var trimmingBlanks: String {
    // Most texts have none, and are what they are.
    if let first = utf8.first, first.isPrintableASCII, let last = unicodeScalars.last,
      last.isASCII, UInt8(last.value).isPrintableASCII
    {
      return String(self)
    }
    let scalars = unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(String.UnicodeScalarView(scalars[first...last]))
  }
}

extension UInt8 {
  /// True for a visible character of ASCII.
  fileprivate var isPrintableASCII: Bool { (0x21...0x7e).contains(self) }
}
