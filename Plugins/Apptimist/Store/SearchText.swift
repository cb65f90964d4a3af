internal import CICU

/// The form in which names are searched for: in NFC, its case folded (page "Users and vouchers").
struct SearchText: Sendable {
  /// The longest text that is normalized, in UTF-16 code units: a long run of combining marks takes more
  /// than linear time. Names are shorter.
  private static let longest = 512
  /// The factor by which no text grows, neither by NFC nor by case folding.
  private static let growth = 3

  /// The text in UTF-8.
  let bytes: [UInt8]

  /// Makes the form of a text.
  ///
  /// - Returns: nil if the text is longer than names can be, or ICU has no data.
  init?(_ text: String) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      bytes = text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
      return
    }
    let source = Array(text.utf16)
    guard source.count <= Self.longest,
      let normal = unsafe Self.transform(source, cicu_nfc),
      let folded = unsafe Self.transform(normal, cicu_fold_case),
      // Folding can part what NFC puts together.
      let result = unsafe Self.transform(folded, cicu_nfc)
    else { return nil }
    bytes = Array(String(decoding: result, as: UTF16.self).utf8)
  }

  private static func transform(
    _ source: [UInt16],
    _ function: (UnsafePointer<UInt16>?, Int32, UnsafeMutablePointer<UInt16>?, Int32) -> Int32
  ) -> [UInt16]? {
    var length: Int32 = -1
    let result = unsafe [UInt16](unsafeUninitializedCapacity: source.count * growth) {
      buffer, count in
      length = unsafe function(
        source, Int32(source.count), buffer.baseAddress, Int32(buffer.count))
      count = Int(max(0, length))
    }
    return length < 0 ? nil : result
  }
}
