internal import CICU

/// Unicode's Normalization Form C (UAX #15).
enum NormalizedText {
  /// The longest text that is looked at, in UTF-16 code units: normalizing takes more than linear
  /// time for a long run of combining marks.
  static let longest = 512

  /// A text in NFC.
  ///
  /// - Parameter text: any text.
  /// - Returns: nil if it is longer than ``longest``, or ICU has no data.
  static func nfc(_ text: String) -> String? {
    // No ASCII character changes.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count <= longest ? text : nil }
    let source = Array(text.utf16)
    guard source.count <= longest else { return nil }
    // No text grows to more than three times its length.
    var normalized = [UInt16](repeating: 0, count: source.count * 3)
    let length = unsafe cicu_nfc(
      source, Int32(source.count), &normalized, Int32(normalized.count))
    guard length >= 0 else { return nil }
    return String(decoding: normalized.prefix(Int(length)), as: UTF16.self)
  }
}
