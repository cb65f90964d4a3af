internal import Cryptography

/// The data that a contract's function has returned, as the contract ABI of Solidity encodes it.
///
/// Contracts are anybody's: every offset and length is checked, and the result is bounded.
public struct ReturnData: Hashable, Sendable {
  /// The largest number of strings in an array.
  public static let stringLimit = 64
  /// The largest number of bytes of a string.
  public static let lengthLimit = 4096

  /// The largest number of entries of a registry.
  private static let entryLimit = 500

  /// An entry of ERC-7738's registry.
  public struct ScriptEntry: Hashable, Sendable {
    /// The name that its holder has given.
    public let name: String
    /// The URL of its icon.
    public let icon: String
    /// The number of its token in 32 bytes.
    public let token: [UInt8]
    /// The place of the script.
    public let place: String
    /// True if the contract's owner has made it.
    public let isAuthenticated: Bool

    /// The number of its token in decimal digits.
    public var tokenNumber: String { token.decimalNumber }
  }

  private let bytes: [UInt8]

  /// Makes return data from its bytes.
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

  /// The 32 bytes of the number, if the function returns one.
  public var word: [UInt8]? { bytes.count == 32 ? bytes : nil }

  /// True if `isValidSignature` returns that a signature is good: its own selector, and zeros behind it.
  public var isGoodSignature: Bool {
    bytes == [0x16, 0x26, 0xba, 0x7e] + [UInt8](repeating: 0, count: 28)
  }

  /// True if `ValidateSigOffchain` returns that a signature is good: the byte 1.
  public var isValidation: Bool { bytes == [1] }

  /// True if the function returns a bool, and that is true: a word that is 1.
  public var isTrue: Bool { bytes == [UInt8](repeating: 0, count: 31) + [1] }

  /// The text, if the function returns a `string` or, as it does in old tokens, 32 bytes with zeros behind the text.
  public var text: String? {
    guard bytes.count == 32 else { return string(at: number(at: 0), from: 0) }
    let text = bytes.prefix { $0 != 0 }
    return bytes[text.count...].allSatisfy { $0 == 0 }
      ? String(validating: text, as: UTF8.self) : nil
  }

  /// The entries, if the function returns a registry's; those that can't be read are passed over.
  public var scriptEntries: [ScriptEntry] {
    guard let start = number(at: 0), let count = number(at: start), count <= Self.entryLimit else {
      return []
    }
    let base = start + 32
    return (0..<count).compactMap { index in
      guard let tuple = number(at: base + 32 * index).map({ base + $0 }),
        let name = string(at: number(at: tuple), from: tuple),
        let icon = string(at: number(at: tuple + 32), from: tuple),
        let place = string(at: number(at: tuple + 96), from: tuple),
        let isAuthenticated = number(at: tuple + 128)
      else { return nil }
      return ScriptEntry(
        name: name, icon: icon, token: Array(bytes[tuple + 64..<tuple + 96]), place: place,
        isAuthenticated: isAuthenticated == 1)
    }
  }

  /// The strings, if the function returns `string[]` or, as it did in drafts of ERC-5169, one `string`.
  public var strings: [String]? { array ?? string(at: number(at: 0), from: 0).map { [$0] } }

  private var array: [String]? {
    guard let start = number(at: 0), let count = number(at: start), count <= Self.stringLimit
    else { return nil }
    // Offsets count from behind the array's length. Malformed and too long strings are skipped.
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
