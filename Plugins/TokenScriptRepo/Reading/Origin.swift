internal import Cryptography
package import Ethereum

/// A contract on a chain, as a file names its origin.
package struct Origin: Hashable, Sendable {
  /// The contract.
  package let contract: EthereumAddress
  /// The contract's chain.
  package let chain: ChainID

  /// Makes an origin.
  package init(_ contract: EthereumAddress, on chain: ChainID) {
    self.contract = contract
    self.chain = chain
  }
}
