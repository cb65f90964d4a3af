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
    // Without a regular expression, which would be read anew each time: strangers may ask for it often.
    guard text.count <= 256 else { return nil }
    let words = text.split(
      separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    let parts = words[0].split(
      separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
    let chainPrefix = Array("eip155:".utf8)
    guard parts.count >= 2, parts[0].starts(with: chainPrefix),
      let chain = ChainID(utf8: parts[0].dropFirst(chainPrefix.count))
    else { return nil }
    let asset = parts[1].split(
      separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard asset.count == 2, asset[1].starts(with: "0x".utf8),
      let standard = Standard(rawValue: String(decoding: asset[0], as: UTF8.self)),
      let contract = EthereumAddress(utf8: asset[1]),
      EthereumAddress.checksum(of: asset[1]) != .wrong
    else { return nil }
    let tokenDigits = parts.count > 2 ? parts[2] : nil
    let leastDigits = words.count > 1 ? words[1] : nil
    guard let token = Self.number(tokenDigits ?? [UInt8(ascii: "0")][...]),
      let least = Self.number(leastDigits ?? [UInt8(ascii: "1")][...]),
      least.contains(where: { $0 > 0 })
    else { return nil }
    switch standard {
    case .erc20: guard tokenDigits == nil, leastDigits != nil else { return nil }
    case .erc721:
      guard tokenDigits == nil || leastDigits?.elementsEqual("1".utf8) == true else { return nil }
    case .erc1155: guard tokenDigits != nil, leastDigits != nil else { return nil }
    }
    isOne = standard == .erc721 && tokenDigits != nil
    self.chain = chain
    self.contract = contract
    self.least = least
    self.token = tokenDigits == nil ? nil : token
  }

  /// The kinds of tokens, as CAIP-19 writes them.
  private enum Standard: String {
    case erc20
    case erc721
    case erc1155
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

  /// Reads decimal digits into 32 bytes, or returns nil for a larger number, leading zeros and anything else.
  private static func number(_ digits: some Collection<UInt8>) -> [UInt8]? {
    let zero = UInt8(ascii: "0")
    guard let first = digits.first, first != zero || digits.count == 1,
      digits.allSatisfy({ $0 >= zero && $0 <= UInt8(ascii: "9") })
    else { return nil }
    var number = [UInt8](repeating: 0, count: 32)
    for digit in digits {
      var rest = Int(digit - zero)
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
