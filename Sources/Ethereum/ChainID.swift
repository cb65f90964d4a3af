/// The number of an Ethereum chain (EIP-155), from 1 to 2^63 − 1.
public struct ChainID: Hashable, Sendable {
  /// The number.
  public let number: Int64

  /// Ethereum's main network.
  public static let main = ChainID(unchecked: 1)

  private init(unchecked number: Int64) { self.number = number }

  /// Makes a chain's number, or returns nil for a number below 1.
  public init?(_ number: Int64) {
    guard number >= 1 else { return nil }
    self.number = number
  }

  /// Reads decimal digits without a sign or a leading zero, or returns nil for other text.
  public init?(_ text: some StringProtocol) { self.init(utf8: text.utf8) }

  /// Reads decimal digits without a sign or a leading zero, or returns nil for other text.
  public init?(utf8 text: some Collection<UInt8>) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.first != digits.lowerBound, text.allSatisfy(digits.contains),
      let number = Int64(String(decoding: text, as: UTF8.self))
    else { return nil }
    self.number = number
  }
}

extension ChainID: Comparable {
  /// Orders chains by their numbers.
  public static func < (left: ChainID, right: ChainID) -> Bool { left.number < right.number }
}

extension ChainID: CustomStringConvertible {
  /// The decimal digits.
  public var description: String { "\(number)" }
}
