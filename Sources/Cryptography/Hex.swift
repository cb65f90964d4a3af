/// Hexadecimal text of bytes, without a prefix.
public enum Hex {
  /// Returns bytes as lower-case digits, two for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    // Without code that is generic over the sequence, which would call a function for each byte.
    let text = bytes.withContiguousStorageIfAvailable { unsafe encode($0.span) }
    return text ?? encode(Array(bytes).span)
  }

  private static func encode(_ bytes: Span<UInt8>) -> String {
    unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for index in bytes.indices {
        unsafe text[2 * index] = digit(bytes[index] >> 4)
        unsafe text[2 * index + 1] = digit(bytes[index] & 0x0f)
      }
      return text.count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
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
