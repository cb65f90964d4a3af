internal import Ethereum

/// The selection among the candidates for one contract and version: by chain, and then by signer.
struct ChainSelection: Sendable {
  /// The files of one chain.
  struct OnChain: Sendable {
    /// The chain.
    let chain: ChainID
    /// The file to serve, or several for the wallet to choose from, the newest first.
    let chosen: [Candidate]
  }

  /// The files that a response is made of.
  enum Answer: Sendable {
    /// The file to serve, or several signers' for the wallet to choose from; their chain, unless they are for all.
    case files([Candidate], on: ChainID?)
    /// The files of each chain; the wallet must choose one.
    case chains([OnChain])

    /// All files.
    var files: [Candidate] {
      switch self {
      case .files(let files, _): files
      case .chains(let chains): chains.flatMap(\.chosen)
      }
    }
  }

  /// The selection on each chain, in the order of the chains' numbers.
  let chains: [OnChain]
  /// The answer to a request that names no chain.
  ///
  /// A file for all chains of the contract can't be the wrong one. Without one the main network counts, since clients
  /// that name no chain were made when others were for tests.
  let unnamed: Answer
  /// The candidates that are selected on no chain, each with the path of the file that is served instead.
  let shadowed: [(candidate: Candidate, by: RepositoryPath)]

  /// Selects on each chain, and for requests that name none.
  ///
  /// - Parameters:
  ///   - candidates: the candidates, at least one.
  ///   - contract: the contract, whose issuer is known to the rules.
  ///   - rules: the rule of choice and the issuers.
  init(_ candidates: [Candidate], for contract: EthereumAddress, by rules: RepositoryRules) {
    var byChain: [ChainID: [Candidate]] = [:]
    for candidate in candidates {
      for chain in candidate.chains { byChain[chain, default: []].append(candidate) }
    }
    let selections = byChain.sorted { $0.key < $1.key }.map { chain, candidates in
      (chain: chain, selection: Selection(candidates, for: contract, by: rules))
    }
    chains = selections.map { OnChain(chain: $0.chain, chosen: $0.selection.chosen) }
    let served = Set(chains.flatMap(\.chosen).map(\.file.path))
    var told = served
    shadowed = selections.flatMap(\.selection.shadowed).filter {
      told.insert($0.candidate.file.path).inserted
    }
    let all = chains.map(\.chain)
    let complete = candidates.filter { $0.chains == all && served.contains($0.file.path) }
    unnamed =
      if !complete.isEmpty {
        .files(Selection(complete, for: contract, by: rules).chosen, on: nil)
      } else if let main = chains.first(where: { $0.chain == .main }) {
        .files(main.chosen, on: .main)
      } else { .chains(chains) }
  }

  /// Returns the answer to a request, or nil if no file names the chain.
  ///
  /// - Parameter chain: the chain, or nil if the request names none.
  func answer(on chain: ChainID?) -> Answer? {
    guard let chain else { return unnamed }
    return chains.first { $0.chain == chain }.map { .files($0.chosen, on: chain) }
  }
}
