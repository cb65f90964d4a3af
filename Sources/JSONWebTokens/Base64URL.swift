internal import FoundationEssentials

/// Base64 for URLs (RFC 4648 section 5), as JSON Web Tokens, their keys and Web Push have it.
package enum Base64URL {
  /// Encodes bytes, without padding.
  package static func encode(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  /// Decodes a text, with or without padding.
  ///
  /// - Returns: nil for anything else.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = text.replacing("-", with: "+").replacing("_", with: "/").prefix { $0 != "=" }
    let padding = String(repeating: "=", count: (4 - digits.count % 4) % 4)
    return Data(base64Encoded: digits + padding).map { Array($0) }
  }

  /// Whether a text has only signs of the alphabet, and as many as some number of bytes makes.
  ///
  /// Nothing else may reach cjose, whose decoder ends the process at a single sign behind the last four.
  static func isWellFormed(_ text: some Collection<UInt8>) -> Bool {
    !text.isEmpty && text.count % 4 != 1
      && text.allSatisfy { sign in
        switch sign {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
