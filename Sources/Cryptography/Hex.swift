/// Hexadecimal text of bytes, without a prefix.
public enum Hex {
  private static let digits = [UInt8]("0123456789abcdef".utf8)

  /// Returns bytes as lower-case digits, two for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 0x0f)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads digits of either case.
  ///
  /// - Parameter text: ASCII digits, two for each byte.
  /// - Returns: the bytes, or nil if the number of digits is odd or a character is no digit.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2)
    var high: UInt8?
    for digit in text {
      guard let value = value(of: digit) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return bytes
  }

  private static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
