public import Cryptography

/// An Ethereum address: 20 bytes, written as `0x` and 40 hexadecimal digits.
public struct EthereumAddress: FixedBytes {
  /// The meaning of the case of an address's letters (EIP-55).
  public enum Checksum: Sendable, Hashable {
    /// The case is the checksum of the digits.
    case valid
    /// All letters are of one case, or there are none: no checksum was given.
    case absent
    /// The case is mixed, and not that of the checksum; the address is probably mistyped.
    case wrong
  }

  private var head: UInt64 = 0
  private var middle: UInt64 = 0
  private var tail: UInt32 = 0

  /// Makes an address of 20 zero bytes, which belongs to nobody.
  public init() {}

  /// Reads `0x` and 40 digits of any case, whatever their checksum; returns nil for anything else.
  public init?(utf8 text: some Collection<UInt8>) {
    guard text.count == 42, text.first == UInt8(ascii: "0"),
      let mark = text.dropFirst().first, mark | 0x20 == UInt8(ascii: "x"),
      let bytes = Hex.decode(text.dropFirst(2))
    else { return nil }
    self.init(bytes)
  }

  /// Reads `0x` and 40 digits of any case, whatever their checksum; returns nil for anything else.
  public init?(_ text: String) { self.init(utf8: text.utf8) }

  /// Derives the address of a secp256k1 key: the last 20 bytes of the Keccak-256 of X and Y.
  ///
  /// - Parameter publicKey: X and Y, 32 bytes big-endian each, with or without the `0x04` of the uncompressed form in
  ///   front. It isn't checked that the point lies on the curve.
  /// - Returns: the address, or nil for any other length.
  public init?(publicKey: [UInt8]) {
    let point: [UInt8]
    switch publicKey.count {
    case 64: point = publicKey
    case 65 where publicKey[0] == 0x04: point = [UInt8](publicKey[1...])
    default: return nil
    }
    self.init(Keccak256.hash(point).bytes.suffix(20))
  }

  /// `0x` and 40 digits in lower case.
  public var lowercase: String { "0x" + hex }

  /// `0x` and 40 digits with the checksum in their case (EIP-55).
  public var checksummed: String {
    let digits = [UInt8](hex.utf8)
    let hash = Keccak256.hash(digits).bytes
    let cased = digits.enumerated().map { index, digit in
      let nibble = index.isMultiple(of: 2) ? hash[index / 2] >> 4 : hash[index / 2] & 0x0f
      return digit >= UInt8(ascii: "a") && nibble >= 8 ? digit & ~0x20 : digit
    }
    return "0x" + String(decoding: cased, as: UTF8.self)
  }

  /// Returns the meaning of the case of an address's letters, or nil if the text is no address.
  public static func checksum(of text: some Collection<UInt8>) -> Checksum? {
    guard let address = EthereumAddress(utf8: text) else { return nil }
    let digits = text.dropFirst(2)
    let hasUpper = digits.contains { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") }
    let hasLower = digits.contains { $0 >= UInt8(ascii: "a") }
    guard hasUpper, hasLower else { return .absent }
    return digits.elementsEqual(address.checksummed.utf8.dropFirst(2)) ? .valid : .wrong
  }

  /// Returns the meaning of the case of an address's letters, or nil if the text is no address.
  public static func checksum(of text: String) -> Checksum? { checksum(of: text.utf8) }
}

extension EthereumAddress: CustomStringConvertible {
  /// The checksummed form.
  public var description: String { checksummed }
}
