internal import Cryptography
internal import Ethereum
internal import Platform

/// A file that may be served for one contract in one schema version, on some chains.
struct Candidate: Sendable {
  /// The file.
  let file: RepositoryFile
  /// The file's bytes.
  let content: FileContent
  /// The file's meaning.
  let meaning: TokenScriptFile
  /// The chains that the file names the contract on, in the order of their numbers; at least one.
  let chains: [ChainID]
  /// The signing time, or else the time at which the bytes were first seen.
  let modified: Timestamp
  /// The time at which these bytes were first seen for the contract and version.
  let firstSeen: Timestamp

  /// The file's signer.
  var signer: TokenScriptFile.Signer? { meaning.signer }

  /// The values of `?signer=` that select the file, in lower case.
  var signerNames: [String] {
    guard let signer else { return [] }
    return [signer.key, signer.authority, signer.commonName].compactMap { $0?.lowercased() }
  }

  /// Returns whether a value of `?signer=` selects the file.
  ///
  /// - Parameter name: a common name, or the identifier of the key or of its authority, in any case.
  func isSigned(by name: String) -> Bool { signerNames.contains(name.lowercased()) }

  /// Returns whether this file supersedes another one of the same signer.
  func isNewer(than other: Candidate) -> Bool {
    (modified, firstSeen, other.file.path) > (other.modified, other.firstSeen, file.path)
  }

  /// The identities of the signer; files that share one have the same signer.
  ///
  /// An identity is a key, its authority, or a name that a trusted chain vouches for. An unverified name proves nothing.
  var identities: Set<String> {
    guard let signer else { return ["unsigned"] }
    var identities = Set([signer.key, signer.authority].compactMap { $0.map { "key \($0)" } })
    if let name = signer.commonName, meaning.trust == .passed {
      identities.insert("name \(name.lowercased())")
    }
    return identities
  }
}

/// The selection among candidates for one contract and version, all for one chain or for the same chains.
struct Selection: Sendable {
  /// The file to serve, or several for the wallet to choose from, the newest first.
  let chosen: [Candidate]
  /// The other candidates, each with the path of the file that is served instead.
  let shadowed: [(candidate: Candidate, by: RepositoryPath)]

  /// Selects: equal bytes are one file, then the newest file of each signer counts, then the rule of choice decides.
  init(_ candidates: [Candidate], for contract: EthereumAddress, by rules: RepositoryRules) {
    var shadowed: [(candidate: Candidate, by: RepositoryPath)] = []
    var firstOfBytes: [SHA256.Digest: Candidate] = [:]
    var distinct: [Candidate] = []
    for candidate in candidates.sorted(by: { $0.file.path < $1.file.path }) {
      if let first = firstOfBytes[candidate.content.digest] {
        shadowed.append((candidate, first.file.path))
      } else {
        firstOfBytes[candidate.content.digest] = candidate
        distinct.append(candidate)
      }
    }
    var winners: [Candidate] = []
    for group in Self.groups(distinct.sorted { $0.isNewer(than: $1) }) {
      winners.append(group[0])
      for older in group.dropFirst() { shadowed.append((older, group[0].file.path)) }
    }
    winners.sort { $0.isNewer(than: $1) }
    // No value of `?signer=` selects an unsigned file, so it is no choice beside signed ones.
    if let signed = winners.first(where: { $0.signer != nil }) {
      for unsigned in winners where unsigned.signer == nil {
        shadowed.append((unsigned, signed.file.path))
      }
      winners.removeAll { $0.signer == nil }
    }
    let preferred: Candidate? =
      switch rules.choice {
      case .ask: nil
      case .newest: winners.first
      case .issuer:
        winners.first { rules.issuerProof(of: $0.meaning, for: contract, on: $0.chains) != nil }
      }
    if let preferred {
      for other in winners where other.file !== preferred.file {
        shadowed.append((other, preferred.file.path))
      }
      winners = [preferred]
    }
    chosen = winners
    self.shadowed = shadowed
  }

  /// Groups the candidates by signer, and keeps their order.
  private static func groups(_ candidates: [Candidate]) -> [[Candidate]] {
    var groups: [(identities: Set<String>, members: [Int])] = []
    for (index, candidate) in candidates.enumerated() {
      var merged = (identities: candidate.identities, members: [index])
      groups.removeAll { group in
        guard !group.identities.isDisjoint(with: merged.identities) else { return false }
        merged.identities.formUnion(group.identities)
        merged.members += group.members
        return true
      }
      groups.append(merged)
    }
    return groups.map { $0.members.sorted().map { candidates[$0] } }
  }
}

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
    var listed = served
    shadowed = selections.flatMap(\.selection.shadowed).filter {
      listed.insert($0.candidate.file.path).inserted
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
