internal import Ethereum

/// A TokenScript with one contract and one card, in the latest version that has a published schema.
struct TokenScriptTemplate: Sendable {
  private let name: String

  /// Makes a template.
  ///
  /// - Parameter name: the contract's name: an ASCII letter and then letters, digits, `.`, `_` and `-`, as XML's names.
  /// - Returns: nil for another name.
  init?(name: String) {
    guard name.wholeMatch(of: /[A-Za-z][A-Za-z0-9._-]{0,63}/) != nil else { return nil }
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
