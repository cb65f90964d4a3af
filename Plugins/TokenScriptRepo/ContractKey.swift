internal import Cryptography

/// A contract's address as the index is searched by: 20 bytes in three words, read from a URL
/// without allocation.
struct ContractKey: Hashable, Sendable {
  private let words: (UInt64, UInt64, UInt32)

  /// The key of an address.
  ///
  /// - Parameter address: the address.
  init(_ address: EthereumAddress) {
    var words: (UInt64, UInt64, UInt32) = (0, 0, 0)
    for (index, byte) in address.bytes.enumerated() {
      Self.append(byte >> 4, at: 2 * index, to: &words)
      Self.append(byte & 15, at: 2 * index + 1, to: &words)
    }
    self.words = words
  }

  /// Reads an address from a segment of a URL's path; its case says nothing.
  ///
  /// - Parameter segment: `0x` and 40 hexadecimal digits.
  /// - Returns: nil for anything else.
  init?(_ segment: ArraySlice<UInt8>) {
    guard segment.count == 42, segment[segment.startIndex] == UInt8(ascii: "0"),
      segment[segment.startIndex + 1] | 0x20 == UInt8(ascii: "x")
    else { return nil }
    var words: (UInt64, UInt64, UInt32) = (0, 0, 0)
    for place in 0..<40 {
      let byte = segment[segment.startIndex + 2 + place]
      let letter = byte | 0x20
      let digit: UInt8
      if byte &- UInt8(ascii: "0") < 10 {
        digit = byte - UInt8(ascii: "0")
      } else if letter &- UInt8(ascii: "a") < 6 {
        digit = letter - UInt8(ascii: "a") + 10
      } else {
        return nil
      }
      Self.append(digit, at: place, to: &words)
    }
    self.words = words
  }

  /// Adds a hexadecimal digit; 16 fill each of the first two words.
  private static func append(
    _ digit: UInt8, at place: Int, to words: inout (UInt64, UInt64, UInt32)
  ) {
    if place < 16 {
      words.0 = words.0 << 4 | UInt64(digit)
    } else if place < 32 {
      words.1 = words.1 << 4 | UInt64(digit)
    } else {
      words.2 = words.2 << 4 | UInt32(digit)
    }
  }

  /// Whether two keys are of one address.
  static func == (left: ContractKey, right: ContractKey) -> Bool { left.words == right.words }

  /// Mixes the address into a hash.
  func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
  }
}
