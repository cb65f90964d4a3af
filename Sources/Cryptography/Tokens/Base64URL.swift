internal import CCJose

/// Base64 for URLs without padding (RFC 4648 section 5), as JSON Web Tokens and Web Push have it.
public enum Base64URL {
  /// Encodes bytes.
  ///
  /// - Parameter bytes: any number of bytes.
  /// - Returns: the text, without padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    var start: UnsafeMutablePointer<CChar>?
    var count = 0
    guard unsafe cjose_base64url_encode(bytes, bytes.count, &start, &count, nil) else { return "" }
    defer { unsafe cjose_get_dealloc()(start) }
    return unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Decodes a text, with or without padding.
  ///
  /// - Returns: the bytes, or nil unless the text is base64url of at least one byte.
  public static func decode(_ text: String) -> [UInt8]? {
    let signs = Array(text.utf8.prefix { $0 != UInt8(ascii: "=") })
    let padding = text.utf8.dropFirst(signs.count)
    guard isWellFormed(signs), padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") })
    else { return nil }
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    let isDecoded = unsafe signs.withUnsafeBytes { signs in
      unsafe cjose_base64url_decode(
        signs.bindMemory(to: CChar.self).baseAddress, signs.count, &start, &count, nil)
    }
    guard isDecoded else { return nil }
    defer { unsafe cjose_get_dealloc()(start) }
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// Returns whether a text has only signs of the alphabet, and as many as some number of bytes makes.
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
