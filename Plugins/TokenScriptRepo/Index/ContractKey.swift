internal import Cryptography
internal import Ethereum

/// A contract's address as a key of the index: 20 bytes in three words, read from a URL without allocation.
struct ContractKey: Hashable, Sendable {
  private let high: UInt64
  private let middle: UInt64
  private let low: UInt32

  /// Makes the key of an address.
  init(_ address: EthereumAddress) {
    let bytes = address.bytes
    func number(_ part: Range<Int>) -> UInt64 { bytes[part].reduce(0) { $0 << 8 | UInt64($1) } }
    high = number(0..<8)
    middle = number(8..<16)
    low = UInt32(truncatingIfNeeded: number(16..<20))
  }

  /// Reads an address from a segment of a URL's path, or returns nil for other segments.
  ///
  /// - Parameter segment: `0x` and 40 hexadecimal digits of any case.
  init?(_ segment: ArraySlice<UInt8>) {
    guard segment.count == 42, segment[segment.startIndex] == UInt8(ascii: "0"),
      segment[segment.startIndex + 1] | 0x20 == UInt8(ascii: "x")
    else { return nil }
    let digits = segment.span.extracting(last: 40)
    guard let high = Self.number(digits.extracting(0..<16)),
      let middle = Self.number(digits.extracting(16..<32)),
      let low = Self.number(digits.extracting(32..<40))
    else { return nil }
    (self.high, self.middle) = (high, middle)
    self.low = UInt32(truncatingIfNeeded: low)
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
}
