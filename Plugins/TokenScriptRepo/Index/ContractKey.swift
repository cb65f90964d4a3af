internal import Cryptography

/// A contract's address as a key of the index: 20 bytes in three words, read from a URL without allocation.
struct ContractKey: Hashable, Sendable {
  private let words: (UInt64, UInt64, UInt32)

  /// Makes the key of an address.
  init(_ address: EthereumAddress) {
    let bytes = address.bytes
    func number(_ part: Range<Int>) -> UInt64 { bytes[part].reduce(0) { $0 << 8 | UInt64($1) } }
    words = (number(0..<8), number(8..<16), UInt32(truncatingIfNeeded: number(16..<20)))
  }

  /// Reads an address from a segment of a URL's path, or returns nil for other segments.
  ///
  /// - Parameter segment: `0x` and 40 hexadecimal digits of any case.
  init?(_ segment: ArraySlice<UInt8>) {
    guard segment.count == 42, segment[segment.startIndex] == UInt8(ascii: "0"),
      segment[segment.startIndex + 1] | 0x20 == UInt8(ascii: "x")
    else { return nil }
    let digits = segment.span.extracting(last: 40)
    guard let first = Self.number(digits.extracting(0..<16)),
      let second = Self.number(digits.extracting(16..<32)),
      let third = Self.number(digits.extracting(32..<40))
    else { return nil }
    words = (first, second, UInt32(truncatingIfNeeded: third))
  }

  /// Reads at most 16 hexadecimal digits.
  private static func number(_ digits: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    var isNumber = true
    for index in digits.indices {
      let byte = unsafe digits[unchecked: index]
      let digit = byte &- UInt8(ascii: "0")
      let letter = (byte | 0x20) &- UInt8(ascii: "a")
      isNumber = isNumber && (digit < 10 || letter < 6)
      number = number << 4 | UInt64(digit < 10 ? digit : letter &+ 10)
    }
    return isNumber ? number : nil
  }

  /// Returns whether two keys are of one address.
  static func == (left: ContractKey, right: ContractKey) -> Bool { left.words == right.words }

  /// Mixes the address into a hash.
  func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
  }
}
