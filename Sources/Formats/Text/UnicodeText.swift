internal import CICU

/// The forms of Unicode text in which names are kept and found, as ICU makes them.
package enum UnicodeText {
  /// The longest text that is taken, in UTF-16 code units. Normalizing takes more than linear time for a long run of
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
  /// - Parameter limit: the longest text that is taken, in UTF-16 code units.
  /// - Returns: the text in NFKC, or nil if it is longer or ICU has no data.
  package static func compatible(_ text: String, upTo limit: Int = longest) -> String? {
    unsafe transform(text, upTo: limit, cicu_nfkc)
  }

  /// Returns a text in NFC with its case folded (Unicode, full default case folding), for caseless comparison.
  ///
  /// - Returns: the folded text, or nil if the text is longer than ``longest`` or ICU has no data.
  package static func caseFolded(_ text: String) -> String? {
    if isASCII(text) { return text.utf8.count <= longest ? text.lowercased() : nil }
    // Folding can part what NFC puts together.
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
