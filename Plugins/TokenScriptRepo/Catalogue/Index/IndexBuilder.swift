internal import Cryptography
internal import Ethereum
internal import Platform

/// Builds an index from the files of a scan, without I/O.
struct IndexBuilder {
  /// The key of a time at which bytes were first seen for a contract.
  struct Sighting: Hashable, Sendable {
    /// The version of the bytes.
    let schema: SchemaVersion
    /// The contract that they are served for.
    let contract: EthereumAddress
    /// The SHA-256 of the bytes.
    let digest: SHA256.Digest
  }

  /// The configuration's rules.
  let rules: RepositoryRules
  /// The header fields of responses.
  let headers: ResponseHeaders
  /// The present time in whole seconds.
  let now: Timestamp
  /// The times at which bytes were first seen, with those that the build added.
  private(set) var sightings: [Sighting: Timestamp]
  /// The times that the build added.
  private(set) var newSightings: [Sighting: Timestamp] = [:]
  /// The publication times until now and after the build, or nil if they don't matter.
  private(set) var publicationTimes: PublicationTimes?
  /// The files that may be served, as far as they were looked at.
  private(set) var candidates: [EthereumAddress: [SchemaVersion: [Candidate]]] = [:]
  /// The marks that withdraw contracts.
  private(set) var marks: [EthereumAddress: [SchemaVersion: [Edition.Mark]]] = [:]

  /// Builds the index.
  ///
  /// - Parameters:
  ///   - generation: the number of indexes since the start, this one included.
  /// - Returns: the index.
  mutating func build(
    _ files: [RepositoryFile], _ documents: SchemaDocuments = .none, generation: Int
  ) -> ContractIndex {
    var rows: [IndexRow] = []
    // The rows of candidates, whose state is known only after the selection.
    var places: [Place: Int] = [:]
    for file in files {
      for row in self.rows(for: file) {
        if let contract = row.contract, row.state == .served {
          places[Place(path: file.path, contract: contract)] = rows.count
        }
        rows.append(row)
      }
    }
    var editions: [ContractKey: [Edition]] = [:]
    for (contract, versions) in candidates {
      editions[ContractKey(contract)] = versions.map { schema, candidates in
        let selection = ChainSelection(candidates, for: contract, by: rules)
        for (candidate, path) in selection.shadowed {
          if let place = places[Place(path: candidate.file.path, contract: contract)] {
            rows[place].state = .shadowed(by: path)
          }
        }
        return edition(selection, candidates, contract, schema, among: versions)
      }
    }
    for (contract, versions) in marks {
      for (schema, marks) in versions where candidates[contract]?[schema] == nil {
        editions[ContractKey(contract), default: []].append(
          Edition(
            contract: contract, schema: schema, candidates: [], chains: [], response: .gone,
            bareResponse: .gone, since: [:], marks: marks))
      }
    }
    return ContractIndex(
      generation: generation, rules: rules, documents: documents,
      editions: editions.mapValues { $0.sorted { $0.schema > $1.schema } }, files: files,
      rows: rows)
  }

  /// Makes the edition of a contract in a version.
  private mutating func edition(
    _ selection: ChainSelection, _ candidates: [Candidate], _ contract: EthereumAddress,
    _ schema: SchemaVersion, among versions: [SchemaVersion: [Candidate]]
  ) -> Edition {
    func since(_ query: FileQuery, _ answer: ChainSelection.Answer) -> PublicationTimes.Since {
      guard publicationTimes != nil else { return PublicationTimes.Since() }
      let others = versions.filter { $0.value.contains(where: query.selects) }.keys
      return publicationTimes?.record(answer, contract, schema, query, among: others)
        ?? PublicationTimes.Since()
    }
    var responses = ResponsePreparation(contract: contract, schema: schema, headers: headers)
    let chains = selection.chains.map { selected in
      let answer = ChainSelection.Answer.files(selected.chosen, on: selected.chain)
      let since = since(FileQuery(chain: selected.chain), answer)
      return Edition.OnChain(
        chain: selected.chain, chosen: selected.chosen,
        response: responses.response(with: answer, since: since.versioned),
        bareResponse: responses.response(with: answer, since: since.bare))
    }
    var signers: [FileQuery: PublicationTimes.Since] = [:]
    if publicationTimes != nil {
      for name in Set(candidates.flatMap(\.signerNames)) {
        let own = candidates.filter { $0.isSigned(by: name) }
        let selection = ChainSelection(own, for: contract, by: rules)
        for chain in [nil] + selection.chains.map({ Optional($0.chain) }) {
          guard let answer = selection.answer(on: chain) else { continue }
          let query = FileQuery(signer: name, chain: chain)
          signers[query] = since(query, answer)
        }
      }
    }
    let unnamed = since(FileQuery(), selection.unnamed)
    return Edition(
      contract: contract, schema: schema, candidates: candidates, chains: chains,
      response: responses.response(with: selection.unnamed, since: unnamed.versioned),
      bareResponse: responses.response(with: selection.unnamed, since: unnamed.bare),
      since: signers, marks: marks[contract]?[schema] ?? [])
  }

  private struct Place: Hashable {
    let path: RepositoryPath
    let contract: EthereumAddress
  }

  /// Adds a file to the candidates or to the withdrawn contracts, and makes its rows.
  private mutating func rows(for file: RepositoryFile) -> [IndexRow] {
    var row = IndexRow(
      isPublished: file.publication != nil, path: file.path, digest: file.digest, size: file.size,
      state: .servesNothing)
    let meaning: TokenScriptFile
    switch file.reading {
    case .failure(let refusal):
      row.state = .refused(refusal)
      return [row]
    case .success(var read):
      // An authority counts for a published file only if it counted at the publication.
      if let publication = file.publication, publication.slot.signer != read.signer?.authority {
        read.signer?.authority = nil
      }
      meaning = read
    }
    row.schema = meaning.schema
    row.warnings = meaning.warnings
    if file.path.kind == .gone {
      row.state = .gone
      for (contract, chains) in meaning.originChains {
        marks[contract, default: [:]][meaning.schema, default: []].append(
          Edition.Mark(path: file.path, isPublishers: file.publication != nil, chains: chains))
      }
      return rows(row, for: meaning)
    }
    row.signer = meaning.signer
    row.cids = meaning.cids
    row.time = meaning.signer?.time
    if row.time == nil { row.accepted = file.publication?.accepted }
    let (refusal, warnings) = rules.evaluate(meaning)
    row.warnings += warnings
    // The server names published files by their content.
    if file.publication == nil { row.warnings += file.path.warnings(for: meaning) }
    if let time = row.time, time > now { row.warnings.append("it was signed in the future") }
    if let newer = file.replacedBy {
      row.warnings.append("its last good version is served; the one on disk is \(newer.words)")
    }
    if let refusal {
      row.state = .refused(refusal)
      return rows(row, for: meaning)
    }
    guard let content = file.content else { return [row] }
    row.state = .served
    for (contract, chains) in meaning.originChains {
      let (modified, firstSeen) = times(of: file, meaning, content.digest, for: contract)
      candidates[contract, default: [:]][meaning.schema, default: []].append(
        Candidate(
          file: file, content: content, meaning: meaning, chains: chains, modified: modified,
          firstSeen: firstSeen))
    }
    return rows(row, for: meaning)
  }

  /// Returns a file's `Last-Modified` for a contract, and the time at which its bytes were first seen for it.
  private mutating func times(
    of file: RepositoryFile, _ meaning: TokenScriptFile, _ digest: SHA256.Digest,
    for contract: EthereumAddress
  ) -> (modified: Timestamp, firstSeen: Timestamp) {
    // A signing time in the future counts as absent.
    let signed = meaning.signer?.time.flatMap { $0 <= now ? $0 : nil }
    if let accepted = file.publication?.accepted { return (signed ?? accepted, accepted) }
    let sighting = Sighting(schema: meaning.schema, contract: contract, digest: digest)
    let firstSeen = sightings[sighting] ?? min(max(file.modified, Timestamp(seconds: 0)), now)
    if sightings.updateValue(firstSeen, forKey: sighting) == nil {
      newSightings[sighting] = firstSeen
    }
    return (signed ?? firstSeen, firstSeen)
  }

  /// Makes a row for each origin, or the only row of a file without any.
  private func rows(_ row: IndexRow, for meaning: TokenScriptFile) -> [IndexRow] {
    var byAddress: [EthereumAddress: [TokenScriptFile.Contract]] = [:]
    for contract in meaning.contracts { byAddress[contract.address, default: []].append(contract) }
    let chains = meaning.originChains
    let rows = meaning.origins.map { address in
      var row = row
      let named = byAddress[address] ?? []
      row.contract = address
      row.name = named.first { $0.isOrigin }?.name
      row.chains = chains[address] ?? []
      let answers = row.chains.compactMap { rules.answers[OriginContract(address, on: $0)] }
      row.owners = answers.compactMap(\.owner)
      row.contractName = answers.lazy.compactMap(\.name).first
      guard row.state != .gone else { return row }
      row.standing = rules.standing(of: meaning, for: address)
      let names = Set((meaning.labels + [row.name ?? "", ""]).map(\.comparable))
      for name in Set(answers.compactMap(\.name)).sorted() where !names.contains(name.comparable) {
        row.warnings.append("the contract calls itself “\(name.bounded(to: 120))”")
      }
      return row
    }
    return rows.isEmpty ? [row] : rows
  }
}

extension String {
  /// The letters and digits in lower case, by which names are compared.
  fileprivate var comparable: String { lowercased().filter { $0.isLetter || $0.isNumber } }
}

extension RepositoryPath {
  /// Compares the names in a file's path with its content.
  ///
  /// Two layouts are known: `<contract name>/schema<N>/<signer>-signed.xml` of 2018, and
  /// `<signer>/<YYYY>/<MM>/<contract name or address>.tsml` of 2019. The content decides, so a wrong name only makes a
  /// warning.
  ///
  /// - Returns: a sentence for each contradiction.
  func warnings(for file: TokenScriptFile) -> [String] {
    let segments = segments.map { String(decoding: $0, as: UTF8.self) }
    guard let name = segments.last else { return [] }
    var warnings: [String] = []
    var folders = segments.dropLast()
    if folders.count >= 2, let schema = SchemaVersion(folders.suffix(2).joined(separator: "/")) {
      if schema != file.schema {
        warnings.append("the folder says schema \(schema), the file \(file.schema)")
      }
      folders = folders.dropLast(2)
      if let folder = folders.last { warnings += Self.warning(signer: folder, of: file) }
    }
    let stem = name.replacing(/\.(tsml|xml)$/, with: "")
    if stem == "signed" || stem.hasSuffix("-signed") {
      if stem != "signed" { warnings += Self.warning(signer: String(stem.dropLast(7)), of: file) }
      if let folder = folders.dropLast().last, folders.last?.hasPrefix("schema") == true {
        warnings += Self.warning(contract: folder, of: file)
      }
    } else {
      warnings += Self.warning(contract: stem, of: file)
    }
    return warnings
  }

  private static func warning(signer folder: String, of file: TokenScriptFile) -> [String] {
    guard let name = file.signer?.commonName else { return [] }
    let plain = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
    guard plain.lowercased() != folder.lowercased() else { return [] }
    return ["its name says that “\(folder)” signed it, but it was “\(name)”"]
  }

  private static func warning(contract name: String, of file: TokenScriptFile) -> [String] {
    guard !file.contracts.isEmpty else { return [] }
    if let address = EthereumAddress(name) {
      guard !file.contracts.contains(where: { $0.address == address }) else { return [] }
      return ["its name says \(name), but the file does not name that contract"]
    }
    let names = file.contracts.filter(\.isOrigin).map(\.name)
    guard !names.isEmpty, !names.contains(where: { $0.lowercased() == name.lowercased() }) else {
      return []
    }
    return ["its name says contract “\(name)”, the file “\(names[0])”"]
  }
}
