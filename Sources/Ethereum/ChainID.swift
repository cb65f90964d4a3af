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
    guard let first = text.first, first != UInt8(ascii: "0") else { return nil }
    var number: Int64 = 0
    for byte in text {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isOver) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
      guard !isTooLarge, !isOver else { return nil }
      number = sum
    }
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
