internal import Cryptography
internal import HTTPProtocol

/// A file that may be the answer for one contract in one schema version.
struct Candidate: Sendable {
  /// The file.
  let file: RepositoryFile
  /// Its bytes.
  let bytes: Bytes
  /// The SHA-256 of its bytes.
  let digest: [UInt8]
  /// What it means.
  let meaning: TokenScriptFile
  /// The time that it goes by, in seconds since 1970: signed, or else first seen.
  let modified: Int64
  /// When these bytes were first seen for the contract and version, in seconds since 1970.
  let firstSeen: Int64

  /// Whose signature it bears.
  var signer: TokenScriptFile.Signer? { meaning.signer }

  /// Whether `?signer=` means this one.
  ///
  /// - Parameter name: a common name or a key identifier, in any case.
  func isSigned(by name: String) -> Bool {
    guard let signer else { return false }
    let name = name.lowercased()
    return signer.commonName?.lowercased() == name || signer.key.lowercased() == name
  }

  /// Whether this file comes before another one of the same signer.
  ///
  /// - Parameter other: the other file.
  func isNewer(than other: Candidate) -> Bool {
    if modified != other.modified { return modified > other.modified }
    if firstSeen != other.firstSeen { return firstSeen > other.firstSeen }
    return file.path < other.file.path
  }

  /// What makes two files' signers the same: a key, or a name that a trusted chain vouches for. An
  /// unverified name proves nothing.
  fileprivate var identities: Set<String> {
    guard let signer else { return ["unsigned"] }
    var identities: Set<String> = ["key \(signer.key.lowercased())"]
    if let name = signer.commonName, meaning.trust == .passed {
      identities.insert("name \(name.lowercased())")
    }
    return identities
  }
}

/// What remains of the candidates for one contract and version.
struct Selection: Sendable {
  /// The answer, if it is one; several are the wallet's to choose from, the newest first.
  let chosen: [Candidate]
  /// Those that are not, with the path of the file that is served in their place.
  let shadowed: [(candidate: Candidate, by: RepositoryPath)]

  /// Chooses among candidates, in the order that the specification's readers agreed on: identical
  /// bytes are one file, of each signer the newest counts, then the rule decides.
  ///
  /// - Parameters:
  ///   - candidates: at least one.
  ///   - contract: the address, for the issuer's sake.
  ///   - rules: the rule of choice and the issuers.
  init(_ candidates: [Candidate], for contract: EthereumAddress, by rules: RepositoryRules) {
    var shadowed: [(candidate: Candidate, by: RepositoryPath)] = []
    var firstOfBytes: [[UInt8]: Candidate] = [:]
    var distinct: [Candidate] = []
    for candidate in candidates.sorted(by: { $0.file.path < $1.file.path }) {
      if let first = firstOfBytes[candidate.digest] {
        shadowed.append((candidate, first.file.path))
      } else {
        firstOfBytes[candidate.digest] = candidate
        distinct.append(candidate)
      }
    }
    var winners: [Candidate] = []
    for group in Self.groups(distinct.sorted { $0.isNewer(than: $1) }) {
      winners.append(group[0])
      for older in group.dropFirst() { shadowed.append((older, group[0].file.path)) }
    }
    winners.sort { $0.isNewer(than: $1) }
    // What nobody signed can't be asked for by its signer, so it is no choice beside what is.
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
      case .issuer: winners.first { rules.isIssuer($0.signer, of: contract) }
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

  /// Gathers the candidates of each signer, the order kept.
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
