internal import FoundationEssentials

/// Base64 for URLs without padding (RFC 4648 section 5), as JSON Web Tokens and Web Push have it.
enum Base64URL {
  /// Encodes bytes.
  static func encode(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  /// Decodes a text, with or without padding.
  ///
  /// - Returns: nil for anything else.
  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.replacing("-", with: "+").replacing("_", with: "/").prefix { $0 != "=" }
    let padding = String(repeating: "=", count: (4 - digits.count % 4) % 4)
    return Data(base64Encoded: digits + padding).map { Array($0) }
  }
}
