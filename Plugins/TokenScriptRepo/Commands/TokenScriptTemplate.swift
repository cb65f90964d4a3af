internal import Ethereum

/// A TokenScript with one contract and one card, in the latest version that has a published schema.
struct TokenScriptTemplate: Sendable {
  private let name: String

  /// Makes a template.
  ///
  /// - Parameter name: the contract's name: an ASCII letter and then letters, digits, `.`, `_` and `-`, as XML's names.
  /// - Returns: nil for another name.
  init?(name: String) {
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 64,
      name.utf8.allSatisfy({
        isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || ".-_".utf8.contains($0)
      })
    else { return nil }
    self.name = name
  }

  /// Returns the file.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - chain: the contract's chain.
  ///   - interface: the contract's interface, such as `erc20`.
  func text(for contract: EthereumAddress, on chain: ChainID, interface: String) -> String {
    String(decoding: PackageResources.new_tsml, as: UTF8.self).replacing("{{name}}", with: name)
      .replacing("{{interface}}", with: interface).replacing("{{chain}}", with: "\(chain)")
      .replacing("{{address}}", with: contract.checksummed)
  }
}
