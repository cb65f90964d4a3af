/// A token, and the least number of it that somebody must hold: an asset (CAIP-19), a blank and the number.
///
/// `eip155:1/erc721:0x…` alone requires one token of the collection.
public struct TokenGate: Hashable, Sendable {
  /// The token's chain.
  public let chain: ChainID
  /// The token's contract.
  public let contract: EthereumAddress
  /// True for one token of ERC-721, which has one owner.
  private let isOne: Bool
  /// The number of a token in 32 bytes, or nil for all of the contract.
  private let token: [UInt8]?
  /// The least number in 32 bytes.
  private let least: [UInt8]

  /// Reads a gate.
  ///
  /// - Parameter text: the gate in ASCII, without an end of the line.
  /// - Returns: nil for anything else, also for a gate that everybody passes or nobody.
  public init?(parsing text: [UInt8]) {
    guard text.count <= 256, text.allSatisfy({ $0 < 0x80 }) else { return nil }
    let grammar =
      /eip155:([0-9]+)\/erc(20|721|1155):(0x[0-9A-Fa-f]{40})(\/(0|[1-9][0-9]*))?( ([1-9][0-9]*))?/
    guard let parts = String(decoding: text, as: UTF8.self).wholeMatch(of: grammar)?.output,
      let chain = ChainID(parts.1), let contract = EthereumAddress(String(parts.3)),
      EthereumAddress.checksum(of: parts.3.utf8) != .wrong, let least = Self.number(parts.7 ?? "1"),
      let token = Self.number(parts.5 ?? "0")
    else { return nil }
    let namesToken = parts.5 != nil
    let namesLeast = parts.7 != nil
    switch parts.2 {
    case "20": guard !namesToken, namesLeast else { return nil }
    case "721": guard !namesToken || parts.7 == "1" else { return nil }
    default: guard namesToken, namesLeast else { return nil }
    }
    isOne = parts.2 == "721" && namesToken
    self.chain = chain
    self.contract = contract
    self.least = least
    self.token = namesToken ? token : nil
  }

  /// Returns the call whose outcome says whether somebody holds enough.
  public func call(about holder: EthereumAddress) -> FunctionCall {
    guard let token else { return .balanceOf(holder) }
    return isOne ? .ownerOf(token) : .balanceOf(holder, of: token)
  }

  /// Returns whether somebody holds enough; nil if that isn't known.
  public func admits(_ holder: EthereumAddress, by outcome: CallBatch.Outcome) -> Bool? {
    switch outcome {
    case .failed: nil
    case .none: false
    case .returned(let data) where isOne: data.address == holder
    case .returned(let data): data.word.map { !$0.lexicographicallyPrecedes(least) } ?? false
    }
  }

  /// Reads decimal digits into 32 bytes, or returns nil for a larger number.
  private static func number(_ digits: Substring) -> [UInt8]? {
    var number = [UInt8](repeating: 0, count: 32)
    for digit in digits.utf8 {
      var rest = Int(digit - UInt8(ascii: "0"))
      for index in number.indices.reversed() {
        rest += 10 * Int(number[index])
        number[index] = UInt8(truncatingIfNeeded: rest)
        rest >>= 8
      }
      guard rest == 0 else { return nil }
    }
    return number
  }
}
