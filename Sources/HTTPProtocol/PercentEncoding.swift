/// Percent-encoding of URIs (RFC 3986 section 2.1).
public enum PercentEncoding {
  /// Decodes a path segment or another part of a URI.
  ///
  /// Decode only after splitting: a decoded `/` is no separator any more.
  ///
  /// - Parameters:
  ///   - encoded: the part.
  ///   - plusIsBlank: whether `+` stands for a blank, as in forms.
  /// - Returns: the bytes, or nil if a `%` is not followed by two hexadecimal digits.
  public static func decode(_ encoded: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(encoded.count)
    var rest = encoded
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else {
          return nil
        }
        decoded.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsBlank: decoded.append(0x20)
      default: decoded.append(byte)
      }
    }
    return decoded
  }

  /// Decodes a part of a URI to text.
  ///
  /// - Parameters:
  ///   - encoded: the part.
  ///   - plusIsBlank: whether `+` stands for a blank, as in forms.
  /// - Returns: the text, or nil if the encoding is malformed, if it isn't UTF-8, or if it has a NUL,
  ///   which C libraries would take for the end.
  public static func decodeText(
    _ encoded: ArraySlice<UInt8>, plusIsBlank: Bool = false
  ) -> String? {
    guard let bytes = decode(encoded, plusIsBlank: plusIsBlank), !bytes.contains(0) else {
      return nil
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Encodes all bytes but letters, digits, `-`, `.`, `_` and `~`.
  ///
  /// - Parameter text: any text.
  /// - Returns: text that can stand in a path segment, in a query or in a form.
  public static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let unreserved = ByteSet.hostName
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if unreserved.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
