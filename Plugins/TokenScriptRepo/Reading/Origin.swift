internal import Ethereum

/// A contract on a chain, as a file names its origin.
struct Origin: Hashable, Sendable {
  /// The contract.
  let contract: EthereumAddress
  /// The contract's chain.
  let chain: ChainID

  /// Makes an origin.
  init(_ contract: EthereumAddress, on chain: ChainID) {
    (self.contract, self.chain) = (contract, chain)
  }
}

extension Origin {
  /// Returns the URL of a page about the contract elsewhere, or nil if none is known.
  ///
  /// - Parameter configured: the pages that the configuration names, with `{address}` in them.
  func explorer(in configured: [ChainID: String]) -> String? {
    (configured[chain] ?? KnownChain.of(chain)?.explorer)?
      .replacing("{address}", with: contract.checksummed)
  }
}
