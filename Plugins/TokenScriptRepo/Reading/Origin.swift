package import Ethereum

/// A contract on a chain, as a file names its origin.
package struct Origin: Hashable, Sendable {
  /// The contract.
  package let contract: EthereumAddress
  /// The contract's chain.
  package let chain: ChainID

  /// Makes an origin.
  package init(_ contract: EthereumAddress, on chain: ChainID) {
    (self.contract, self.chain) = (contract, chain)
  }
}

extension Origin {
  /// Returns the URL of a page about the contract elsewhere, or nil if none is known.
  ///
  /// - Parameter configured: the pages that the configuration names, with `{address}` in them.
  package func explorer(in configured: [ChainID: String]) -> String? {
    (configured[chain] ?? KnownChain.of(chain)?.explorer)?
      .replacing("{address}", with: contract.checksummed)
  }
}
