internal import CICU

/// The forms of Unicode text in which names are kept and found, as ICU makes them.
package enum UnicodeText {
  /// The longest text that is accepted, in UTF-16 code units. Normalizing takes more than linear time for a long run of
  /// combining marks.
  package static let longest = 512
  /// The largest factor by which normalizing or folding lengthens a text, in UTF-16 code units: that of U+FDFA in NFKC.
  private static let growth = 18

  /// Returns a text in Normalization Form C (UAX #15).
  ///
  /// - Returns: the text in NFC, or nil if it is longer than ``longest`` or ICU has no data.
  package static func normalized(_ text: String) -> String? {
    if isASCII(text) { return text.utf8.count <= longest ? text : nil }
    return unsafe transform(text, cicu_nfc)
  }

  /// Returns a text in Normalization Form KC (UAX #15), in which signs that differ in their looks only are the same.
  ///
  /// - Parameter limit: the longest text that is accepted, in UTF-16 code units.
  /// - Returns: the text in NFKC, or nil if it is longer or ICU has no data.
  package static func compatible(_ text: String, upTo limit: Int = longest) -> String? {
    unsafe transform(text, upTo: limit, cicu_nfkc)
  }

  /// Returns a text in NFC with its case folded (Unicode, full default case folding), for caseless comparison.
  ///
  /// - Returns: the folded text, or nil if the text is longer than ``longest`` or ICU has no data.
  package static func caseFolded(_ text: String) -> String? {
    if isASCII(text) { return text.utf8.count <= longest ? text.lowercased() : nil }
    // Folding can split characters that NFC has composed.
    return unsafe transform(text, cicu_nfc, cicu_fold_case, cicu_nfc)
  }

  private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

  private static func transform(
    _ text: String, upTo limit: Int = longest,
    _ steps: (UnsafePointer<UInt16>?, Int32, UnsafeMutablePointer<UInt16>?, Int32) -> Int32...
  ) -> String? {
    var units = Array(text.utf16)
    guard units.count <= limit else { return nil }
    for index in unsafe steps.indices {
      var length: Int32 = -1
      // Room for one more keeps the places of two empty texts apart, as ICU wants.
      units = unsafe [UInt16](unsafeUninitializedCapacity: 1 + units.count * growth) {
        buffer, count in
        length = unsafe steps[index](
          units, Int32(units.count), buffer.baseAddress, Int32(buffer.count))
        count = Int(max(0, length))
      }
      guard length >= 0 else { return nil }
    }
    return String(decoding: units, as: UTF16.self)
  }
}

/// A fault that makes a new name look like another one, or like nothing. Names that accounts have already are not checked.
package enum NameFault: Error, CaseIterable {
  /// A character that is not seen: a variation selector, a filler, a joiner, a tag, a format character.
  case invisibleCharacter
  /// A blank at an end, two in a row, or one other than the usual.
  case blanks
  /// No character that is seen.
  case nothingVisible

  /// The fault in words that follow the name of the text.
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

/// Text in other encodings than UTF-8, as ICU knows them.
package enum TextEncoding {
  /// The mark with which editors on Windows begin a text in UTF-8.
  package static let mark: [UInt8] = [0xef, 0xbb, 0xbf]
  /// The longest name of an encoding.
  private static let longestName = 64

  /// Returns whether an encoding's name, in any case, is one of UTF-8 or of ASCII, which is a part of it.
  package static func isUTF8(_ name: String) -> Bool {
    ["utf-8", "utf8", "us-ascii"].contains(name.lowercased())
  }

  /// Decodes a text in a named encoding.
  ///
  /// - Parameter name: the name of the encoding, such as `iso-8859-1`, in any case.
  /// - Returns: the text, with U+FFFD for malformed bytes; nil if there is no such encoding.
  package static func decode(_ bytes: some Collection<UInt8>, as name: String) -> String? {
    let name = name.lowercased()
    if isUTF8(name) { return String(decoding: bytes, as: UTF8.self) }
    switch name {
    case "iso-8859-1", "latin1": return latin1(bytes)
    default: break
    }
    guard !name.isEmpty, name.utf8.count <= longestName,
      name.utf8.allSatisfy({ $0.isLetterOrDigit || "-_:.+".utf8.contains($0) })
    else { return nil }
    let input = bytes.map { CChar(bitPattern: $0) }
    // No encoding gives more than two code units for a byte.
    let capacity = 2 * input.count + 2
    var length: Int32 = -1
    let units = unsafe [UInt16](unsafeUninitializedCapacity: capacity) { buffer, count in
      length = unsafe cicu_decode(
        name, input, Int32(clamping: input.count), buffer.baseAddress, Int32(clamping: capacity))
      count = Int(max(0, length))
    }
    return length < 0 ? nil : String(decoding: units, as: UTF16.self)
  }

  /// Returns a text in ISO 8859-1, of which each byte is a character.
  package static func latin1(_ bytes: some Collection<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
