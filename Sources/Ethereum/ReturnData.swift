internal import Cryptography

/// The data that a contract's function has returned, as the contract ABI of Solidity encodes it.
///
/// Contracts are anybody's: every offset and length is checked, and what is read is bounded whatever they say.
public struct ReturnData: Hashable, Sendable {
  /// The largest number of strings in an array.
  public static let stringLimit = 64
  /// The largest number of bytes of a string.
  public static let lengthLimit = 4096

  private let bytes: [UInt8]

  /// Takes the data.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads `0x` and hexadecimal digits, or returns nil for other text.
  public init?(hex text: String) {
    guard text.hasPrefix("0x"), let bytes = Hex.decode(text.utf8.dropFirst(2)) else { return nil }
    self.bytes = bytes
  }

  /// The address, if the function returns one and it isn't zero.
  public var address: EthereumAddress? {
    guard bytes.count == 32, bytes[..<12].allSatisfy({ $0 == 0 }),
      let address = EthereumAddress(bytes[12...]), address != EthereumAddress()
    else { return nil }
    return address
  }

  /// The strings, if the function returns `string[]` or, as it did in drafts of ERC-5169, one `string`.
  public var strings: [String]? { array ?? string(at: number(at: 0), from: 0).map { [$0] } }

  private var array: [String]? {
    guard let start = number(at: 0), let count = number(at: start), count <= Self.stringLimit
    else { return nil }
    // Offsets count from behind the array's length. What is no text or too long is passed over.
    let strings = (0..<count).compactMap {
      string(at: number(at: start + 32 + 32 * $0), from: start + 32)
    }
    return strings.isEmpty && count > 0 ? nil : strings
  }

  /// Reads the string at an offset from a base.
  private func string(at offset: Int?, from base: Int) -> String? {
    guard let offset, let length = number(at: base + offset), length <= Self.lengthLimit else {
      return nil
    }
    let start = base + offset + 32
    // A NUL shows that these are other data; no place of a script has one.
    guard bytes.count - start >= length, !bytes[start..<start + length].contains(0) else {
      return nil
    }
    return String(validating: bytes[start..<start + length], as: UTF8.self)
  }

  /// Reads a number that can be an offset into the data, or returns nil for any other.
  private func number(at offset: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - 32 else { return nil }
    let word = bytes[offset..<offset + 32]
    guard word.dropLast(4).allSatisfy({ $0 == 0 }) else { return nil }
    let number = word.suffix(4).reduce(0) { $0 << 8 | Int($1) }
    return number <= bytes.count ? number : nil
  }
}
