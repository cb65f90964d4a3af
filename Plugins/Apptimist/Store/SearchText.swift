internal import Formats

/// The form in which names are searched for: in NFC, its case folded (page "Users and vouchers").
struct SearchText: Sendable {
  /// The text in UTF-8.
  let bytes: [UInt8]

  /// Makes the form of a text.
  ///
  /// - Returns: nil if the text is longer than names can be, or ICU has no data.
  init?(_ text: String) {
    guard let folded = UnicodeText.caseFolded(text) else { return nil }
    bytes = Array(folded.utf8)
  }
}
