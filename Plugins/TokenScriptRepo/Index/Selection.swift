internal import Cryptography
internal import Ethereum

/// The selection among candidates for one contract and version, all for one chain or for the same chains.
struct Selection: Sendable {
  /// The file to serve, or several for the wallet to choose from, the newest first.
  let chosen: [Candidate]
  /// The other candidates, each with the path of the file that is served instead.
  let shadowed: [(candidate: Candidate, by: RepositoryPath)]

  /// Selects: equal bytes are one file, then the newest file of each signer counts, then the rule of choice decides.
  ///
  /// - Parameters:
  ///   - candidates: the candidates, at least one.
  ///   - contract: the contract, whose issuer is known to the rules.
  ///   - rules: the rule of choice and the issuers.
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
