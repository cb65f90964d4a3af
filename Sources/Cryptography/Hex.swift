internal import CSodium

/// Hexadecimal text of bytes, without a prefix.
public enum Hex {
  /// Returns bytes as lower-case digits, two for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    // Its NUL needs room too.
    return unsafe String(unsafeUninitializedCapacity: 2 * bytes.count + 1) { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        guard let start = text.baseAddress else { return 0 }
        unsafe sodium_bin2hex(start, text.count, bytes, bytes.count)
        return 2 * bytes.count
      }
    }
  }

  /// Reads digits of either case.
  ///
  /// - Parameter text: ASCII digits, two for each byte.
  /// - Returns: the bytes, or nil if the number of digits is odd or a character is no digit.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    let digits = text.map(CChar.init(bitPattern:))
    var bytes = [UInt8](repeating: 0, count: digits.count / 2)
    let result = unsafe sodium_hex2bin(&bytes, bytes.count, digits, digits.count, nil, nil, nil)
    return result == 0 ? bytes : nil
  }
}
