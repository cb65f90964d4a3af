internal import Ethereum

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

  /// A mark that withdraws the contract on some chains.
  struct Mark: Sendable {
    /// The path of the mark.
    let path: RepositoryPath
    /// True if a signer has withdrawn a published file, and not the operator one of the folder.
    let isPublishers: Bool
    /// The chains.
    let chains: [ChainID]
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
  /// The marks that withdraw the contract.
  let marks: [Mark]

  /// Returns whether a file may be served on a chain or, without one, on any.
  func isServed(on chain: ChainID?) -> Bool {
    chain.map { chain in chains.contains { $0.chain == chain } } ?? !chains.isEmpty
  }

  /// Returns whether the contract was withdrawn on a chain or, without one, on any.
  func isGone(on chain: ChainID?) -> Bool {
    marks.contains { mark in chain.map(mark.chains.contains) ?? true }
  }
}
