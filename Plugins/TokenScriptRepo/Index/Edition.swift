internal import Cryptography
internal import Ethereum
internal import TokenScriptReading

/// The index's entry for one contract in one schema version.
struct Edition: Sendable {
  /// The files of one chain, with the responses to requests that name it and no signer.
  struct OnChain: Sendable {
    /// The chain.
    let chain: ChainID
    /// The files that the response is made of.
    let chosen: [Candidate]
    /// The response to a request that names the version.
    let response: PreparedResponse
    /// The response to a request that doesn't.
    let bareResponse: PreparedResponse
  }

  /// The contract.
  let contract: EthereumAddress
  /// The version.
  let schema: SchemaVersion
  /// The files that may be served; none if the contract is gone on all chains.
  let candidates: [Candidate]
  /// The files of each chain, in the order of the chains' numbers.
  let chains: [OnChain]
  /// The response to a request that names the version, no chain and no signer.
  let response: PreparedResponse
  /// The response to a request that names none of them.
  let bareResponse: PreparedResponse
  /// The times since when files have been served to requests that name a signer.
  let since: [FileQuery: PublicationTimes.Since]
  /// The chains on which the contract was withdrawn.
  let gone: Set<ChainID>

  /// Returns whether a file may be served on a chain or, without one, on any.
  func isServed(on chain: ChainID?) -> Bool {
    chain.map { chain in chains.contains { $0.chain == chain } } ?? !chains.isEmpty
  }

  /// Returns whether the contract was withdrawn on a chain or, without one, on any.
  func isGone(on chain: ChainID?) -> Bool { chain.map(gone.contains) ?? !gone.isEmpty }
}
