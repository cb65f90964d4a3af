/// An Ethereum address: 20 bytes, written as `0x` and 40 hexadecimal digits.
///
/// The bytes lie inline, so that an address is a cheap key of a dictionary.
public struct EthereumAddress: Hashable, Sendable {
  /// The meaning of the case of an address's letters (EIP-55).
  public enum Checksum: Sendable, Hashable {
    /// The case is the checksum of the digits.
    case valid
    /// All letters are of one case, or there are none: no checksum was given.
    case absent
    /// The case is mixed, and not that of the checksum; the address is probably mistyped.
    case wrong
  }

  private let head: UInt64
  private let middle: UInt64
  private let tail: UInt32

  /// Takes the bytes of an address, or returns nil if they are not 20.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 20 else { return nil }
    head = bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
    middle = bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
    tail = bytes[16..<20].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Reads `0x` and 40 digits of any case, whatever their checksum; returns nil for anything else.
  public init?(utf8 text: some Collection<UInt8>) {
    guard text.count == 42, text.first == UInt8(ascii: "0"),
      let mark = text.dropFirst().first, mark | 0x20 == UInt8(ascii: "x"),
      let bytes = Hex.decode(text.dropFirst(2))
    else { return nil }
    self.init(bytes: bytes)
  }

  /// Reads `0x` and 40 digits of any case, whatever their checksum; returns nil for anything else.
  public init?(_ text: String) {
    self.init(utf8: text.utf8)
  }

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
    self.init(bytes: [UInt8](Keccak256.hash(point).bytes.suffix(20)))
  }

  /// The 20 bytes.
  public var bytes: [UInt8] {
    func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
      stride(from: value.bitWidth - 8, through: 0, by: -8).map {
        UInt8(truncatingIfNeeded: value >> $0)
      }
    }
    return bigEndian(head) + bigEndian(middle) + bigEndian(tail)
  }

  /// `0x` and 40 digits in lower case.
  public var lowercase: String { "0x" + Hex.encode(bytes) }

  /// `0x` and 40 digits with the checksum in their case (EIP-55).
  public var checksummed: String {
    let digits = [UInt8](Hex.encode(bytes).utf8)
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
  public static func checksum(of text: String) -> Checksum? {
    checksum(of: text.utf8)
  }
}

extension EthereumAddress: CustomStringConvertible {
  /// The checksummed form.
  public var description: String { checksummed }
}
