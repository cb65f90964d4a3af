internal import CICU

/// The forms of Unicode text in which names are kept and found, as ICU makes them.
public enum UnicodeText {
  /// The longest text that is taken, in UTF-16 code units. Normalizing takes more than linear time for a long run of
  /// combining marks.
  public static let longest = 512
  /// The largest factor by which normalizing or folding lengthens a text, in UTF-16 code units.
  private static let growth = 3

  /// Returns a text in Normalization Form C (UAX #15).
  ///
  /// - Parameter text: any text.
  /// - Returns: the text in NFC, or nil if it is longer than ``longest`` or ICU has no data.
  public static func normalized(_ text: String) -> String? {
    if isASCII(text) { return text.utf8.count <= longest ? text : nil }
    let source = Array(text.utf16)
    guard source.count <= longest, let normal = unsafe transform(source, cicu_nfc) else {
      return nil
    }
    return String(decoding: normal, as: UTF16.self)
  }

  /// Returns a text in NFC with its case folded (Unicode, full default case folding), for caseless comparison.
  ///
  /// - Parameter text: any text.
  /// - Returns: the folded text, or nil if the text is longer than ``longest`` or ICU has no data.
  public static func caseFolded(_ text: String) -> String? {
    if isASCII(text) { return text.utf8.count <= longest ? text.lowercased() : nil }
    let source = Array(text.utf16)
    guard source.count <= longest,
      let normal = unsafe transform(source, cicu_nfc),
      let folded = unsafe transform(normal, cicu_fold_case),
      // Folding can part what NFC puts together.
      let result = unsafe transform(folded, cicu_nfc)
    else { return nil }
    return String(decoding: result, as: UTF16.self)
  }

  private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

  private static func transform(
    _ source: [UInt16],
    _ function: (UnsafePointer<UInt16>?, Int32, UnsafeMutablePointer<UInt16>?, Int32) -> Int32
  ) -> [UInt16]? {
    var length: Int32 = -1
    let result = unsafe [UInt16](unsafeUninitializedCapacity: source.count * growth) {
      buffer, count in
      length = unsafe function(source, Int32(source.count), buffer.baseAddress, Int32(buffer.count))
      count = Int(max(0, length))
    }
    return length < 0 ? nil : result
  }
}
