internal import Foundation
internal import Formats

/// The text of a header field, of which HTTP libraries send more than ASCII in three ways: UTF-8, ISO 8859-1, and the encoded
/// words of RFC 2047.
enum HeaderText {
  /// Returns the text of a field.
  static func decode(_ bytes: some Collection<UInt8>) -> String {
    let text = String(validating: bytes, as: UTF8.self) ?? TextEncoding.latin1(bytes)
    return decodingWords(of: text)
  }

  /// Returns a text with its encoded words decoded; what isn't well-formed stays as it is.
  static func decodingWords(of text: String) -> String {
    guard text.contains("=?") else { return text }
    var decoded = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "=?") {
      guard let (word, end) = word(in: rest[start.lowerBound...]) else {
        decoded += rest[..<start.upperBound]
        rest = rest[start.upperBound...]
        continue
      }
      decoded += rest[..<start.lowerBound]
      decoded += word
      rest = rest[end...]
      // Blanks between two encoded words belong to neither (section 6.2).
      let behind = rest.drop { " \t\r\n".contains($0) }
      if self.word(in: behind) != nil { rest = behind }
    }
    return decoded + rest
  }

  /// Reads an encoded word: `=?charset?B?text?=`.
  ///
  /// - Returns: its text and its end; nil if the text doesn't begin with one.
  private static func word(in text: Substring) -> (String, Substring.Index)? {
    guard text.hasPrefix("=?") else { return nil }
    let parts = text.dropFirst(2).split(
      separator: "?", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let end = parts[2].firstRange(of: "?=") else { return nil }
    let content = parts[2][..<end.lowerBound]
    // A language may stand behind the charset (RFC 2231 section 5).
    let charset = parts[0].prefix { $0 != "*" }
    guard !content.contains(where: \.isWhitespace) else { return nil }
    let bytes: [UInt8]?
    switch parts[1] {
    case "B", "b": bytes = Data(base64Encoded: padded(content)).map { Array($0) }
    case "Q", "q": bytes = quoted(content)
    default: bytes = nil
    }
    guard let bytes, let word = TextEncoding.decode(bytes, as: String(charset)) else { return nil }
    return (word, end.upperBound)
  }

  private static func padded(_ text: Substring) -> String {
    let missing = (4 - text.utf8.count % 4) % 4
    return text + String(repeating: "=", count: missing)
  }

  /// Decodes the encoding Q (section 4.2).
  private static func quoted(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "_"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "="):
        guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit; nil for any other character.
  fileprivate var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
