internal import Cryptography

/// Makes an index of the files that a scan found: a pure function, but for the memory it takes.
struct IndexBuilder {
  /// What the moment is remembered by at which some bytes were first seen for a contract.
  struct Sighting: Hashable, Sendable {
    /// The version that the bytes are for.
    let schema: SchemaVersion
    /// The contract that they are for.
    let contract: EthereumAddress
    /// Their SHA-256.
    let digest: [UInt8]
  }

  /// What the configuration makes of findings.
  let rules: RepositoryRules
  /// The fields of every answer.
  let fields: AnswerFields
  /// The time, in seconds since 1970.
  let now: Int64
  /// When bytes were first seen, in seconds since 1970; new ones are added.
  private(set) var sightings: [Sighting: Int64]
  /// Those that were added.
  private(set) var newSightings: [Sighting: Int64] = [:]

  /// Since when answers have been answers; nil where that says nothing.
  private(set) var publications: Publications?

  private var candidates: [EthereumAddress: [SchemaVersion: [Candidate]]] = [:]
  private var gone: [EthereumAddress: Set<SchemaVersion>] = [:]

  /// A builder.
  ///
  /// - Parameters:
  ///   - rules: what the configuration makes of findings.
  ///   - fields: the fields of every answer.
  ///   - now: the time, in seconds since 1970.
  ///   - sightings: when bytes were first seen, in seconds since 1970.
  ///   - publications: since when answers have been answers; nil where that says nothing.
  init(
    rules: RepositoryRules, fields: AnswerFields, now: Int64, sightings: [Sighting: Int64],
    publications: Publications? = nil
  ) {
    self.publications = publications
    self.rules = rules
    self.fields = fields
    self.now = now
    self.sightings = sightings
  }

  /// Builds the index.
  ///
  /// - Parameters:
  ///   - files: the files, in the order of their paths.
  ///   - documents: the schemas, to be served.
  ///   - generation: how often an index was built since the start, this time included.
  /// - Returns: the index.
  mutating func build(
    _ files: [RepositoryFile], _ documents: SchemaDocuments = .none, generation: Int
  ) -> ContractIndex {
    var rows: [IndexRow] = []
    // Where the rows of candidates stand, to be told what became of them.
    var places: [Place: Int] = [:]
    for file in files {
      for row in self.rows(for: file) {
        if let contract = row.contract, row.state == .served {
          places[Place(path: file.path, contract: contract)] = rows.count
        }
        rows.append(row)
      }
    }
    var editions: [ContractKey: [ContractIndex.Edition]] = [:]
    for (contract, versions) in candidates {
      editions[ContractKey(contract)] = versions.map { schema, candidates in
        let selection = Selection(candidates, for: contract, by: rules)
        for (candidate, path) in selection.shadowed {
          if let place = places[Place(path: candidate.file.path, contract: contract)] {
            rows[place].state = .shadowed(by: path)
          }
        }
        return edition(selection, candidates, contract, schema, among: versions)
      }
    }
    for (contract, versions) in gone {
      for schema in versions where candidates[contract]?[schema] == nil {
        editions[ContractKey(contract), default: []].append(
          ContractIndex.Edition(
            contract: contract, schema: schema, candidates: [], chosen: [], answer: .gone,
            bareAnswer: .gone, signers: [:]))
      }
    }
    return ContractIndex(
      generation: generation, documents: documents,
      editions: editions.mapValues { $0.sorted { $0.schema > $1.schema } }, files: files,
      rows: rows)
  }

  /// What a version has for a contract.
  private mutating func edition(
    _ selection: Selection, _ candidates: [Candidate], _ contract: EthereumAddress,
    _ schema: SchemaVersion, among versions: [SchemaVersion: [Candidate]]
  ) -> ContractIndex.Edition {
    func answer(since: Int64 = .min) -> ContractIndex.Answer {
      ContractIndex.Answer(selection, for: contract, schema, since: since, fields)
    }
    guard var publications else {
      let answer = answer()
      return ContractIndex.Edition(
        contract: contract, schema: schema, candidates: candidates, chosen: selection.chosen,
        answer: answer, bareAnswer: answer, signers: [:])
    }
    self.publications = nil
    let since = publications.record(selection, contract, schema, among: versions.keys)
    var signers: [String: Publications.Since] = [:]
    for name in Set(candidates.flatMap(\.signerNames)) {
      let own = Selection(
        candidates.filter { $0.isSigned(by: name) }, for: contract, by: rules)
      let others = versions.filter { $0.value.contains { $0.isSigned(by: name) } }.keys
      signers[name] = publications.record(own, contract, schema, among: others, signer: name)
    }
    self.publications = publications
    return ContractIndex.Edition(
      contract: contract, schema: schema, candidates: candidates, chosen: selection.chosen,
      answer: answer(since: since.versioned), bareAnswer: answer(since: since.bare),
      signers: signers)
  }

  private struct Place: Hashable {
    let path: RepositoryPath
    let contract: EthereumAddress
  }

  /// Takes a file in, as candidate or as mark, and describes it.
  private mutating func rows(for file: RepositoryFile) -> [IndexRow] {
    var row = IndexRow(
      path: file.path, digest: file.digest, size: file.size, state: .servesNothing)
    let meaning: TokenScriptFile
    switch file.reading {
    case .failure(let refusal):
      row.state = .refused(refusal)
      return [row]
    case .success(let read): meaning = read
    }
    row.schema = meaning.schema
    row.warnings = meaning.warnings
    if file.path.kind == .gone {
      row.state = .gone
      for contract in meaning.origins { gone[contract, default: []].insert(meaning.schema) }
      return Self.rows(row, for: meaning)
    }
    row.signer = meaning.signer
    row.time = meaning.signer?.time
    let (refusal, warnings) = rules.judge(meaning)
    row.warnings += warnings + file.path.warnings(for: meaning)
    if let time = row.time, time > now { row.warnings.append("it was signed in the future") }
    if let newer = file.replacedBy {
      row.warnings.append("its last good version is served; the one on disk is \(newer.words)")
    }
    if let refusal {
      row.state = .refused(refusal)
      return Self.rows(row, for: meaning)
    }
    guard let content = file.content else { return [row] }
    row.state = .served
    for contract in meaning.origins {
      let (modified, firstSeen) = times(of: file, meaning, content.digest, for: contract)
      candidates[contract, default: [:]][meaning.schema, default: []].append(
        Candidate(
          file: file, content: content, meaning: meaning, modified: modified, firstSeen: firstSeen))
    }
    return Self.rows(row, for: meaning)
  }

  /// The time that a file goes by for a contract, and when its bytes were first seen for it.
  private mutating func times(
    of file: RepositoryFile, _ meaning: TokenScriptFile, _ digest: [UInt8],
    for contract: EthereumAddress
  ) -> (modified: Int64, firstSeen: Int64) {
    let sighting = Sighting(schema: meaning.schema, contract: contract, digest: digest)
    let firstSeen = sightings[sighting] ?? min(max(file.modified, 0), now)
    if sightings.updateValue(firstSeen, forKey: sighting) == nil {
      newSightings[sighting] = firstSeen
    }
    // A signing time in the future counts as absent.
    let signed = meaning.signer?.time.flatMap { $0 <= now ? $0 : nil }
    return (signed ?? firstSeen, firstSeen)
  }

  /// One row for each origin, or the only row of a file without one.
  private static func rows(_ row: IndexRow, for meaning: TokenScriptFile) -> [IndexRow] {
    var byAddress: [EthereumAddress: [TokenScriptFile.Contract]] = [:]
    for contract in meaning.contracts { byAddress[contract.address, default: []].append(contract) }
    let rows = meaning.origins.map { address in
      var row = row
      let named = byAddress[address] ?? []
      row.contract = address
      row.name = named.first { $0.isOrigin }?.name
      row.networks = Set(named.compactMap(\.network)).sorted()
      return row
    }
    return rows.isEmpty ? [row] : rows
  }
}
