internal import Cryptography

/// The whole index at one moment, shared by all requests and never changed.
final class ContractIndex: Sendable {
  /// What one schema version has for one contract.
  struct Edition: Sendable {
    /// The contract.
    let contract: EthereumAddress
    /// The version.
    let schema: SchemaVersion
    /// Every file that may be the answer; none where it is gone.
    let candidates: [Candidate]
    /// Those of them that the answer is made of.
    let chosen: [Candidate]
    /// The answer to a request that names the version and no signer.
    let answer: Answer
    /// The answer to a request that names neither.
    let bareAnswer: Answer
    /// By the signers' names, since when each one's file has been the answer.
    let signers: [String: Publications.Since]
  }

  /// What a request for one contract and version is answered with.
  enum Answer: Sendable {
    /// One file.
    case file(PreparedFile)
    /// Several signers' files, for the wallet to choose from.
    case choices(PreparedChoices)
    /// What was served here has been taken back.
    case gone

    /// The answer for what remained of the candidates.
    ///
    /// - Parameters:
    ///   - selection: what remained.
    ///   - contract: the contract.
    ///   - schema: the version.
    ///   - since: since when it has been the answer, in seconds since 1970.
    ///   - fields: the fields of every answer.
    init(
      _ selection: Selection, for contract: EthereumAddress, _ schema: SchemaVersion,
      since: Int64 = .min, _ fields: AnswerFields
    ) {
      let chosen = selection.chosen
      self =
        chosen.count == 1
        ? .file(PreparedFile(chosen[0].content, modified: max(chosen[0].modified, since), fields))
        : .choices(PreparedChoices(chosen, contract: contract, schema: schema, fields))
    }
  }

  /// How often an index was built since the start, this time included.
  let generation: Int
  /// The schemas.
  let documents: SchemaDocuments
  /// Each contract's versions, the newest first.
  let editions: [ContractKey: [Edition]]
  /// The files, in the order of their paths; those that can't be served among them.
  let files: [RepositoryFile]
  /// A row for each contract of each file.
  let rows: [IndexRow]
  /// How many files there are in each state; one that is served for some contract counts as served.
  let counts: [IndexRow.Summary: Int]
  /// Until when the certificate is valid that expires first of all signers' of what is served, in
  /// seconds since 1970; nil if there is none.
  let firstExpiry: Int64?

  /// An index.
  ///
  /// - Parameters:
  ///   - generation: how often an index was built since the start.
  ///   - documents: the schemas.
  ///   - editions: each contract's versions, the newest first.
  ///   - files: the files.
  ///   - rows: a row for each contract of each file.
  init(
    generation: Int, documents: SchemaDocuments, editions: [ContractKey: [Edition]],
    files: [RepositoryFile], rows: [IndexRow]
  ) {
    self.generation = generation
    self.documents = documents
    self.editions = editions
    self.files = files
    self.rows = rows
    var states: [RepositoryPath: IndexRow.Summary] = [:]
    for row in rows {
      let state = row.state.summary
      states[row.path] = states[row.path].map { $0 == .served ? $0 : state } ?? state
    }
    counts = Dictionary(grouping: states.values, by: \.self).mapValues(\.count)
    firstExpiry =
      files.compactMap { file in
        guard file.content != nil, case .success(let content) = file.reading else { return nil }
        return content.signer?.expires
      }.min()
  }

  /// Before the first scan.
  static let empty = ContractIndex(
    generation: 0, documents: .none, editions: [:], files: [], rows: [])

  /// All that is served.
  var contents: [Content] { documents.contents + files.compactMap(\.content) }

  /// The refused files, with the reasons.
  var refusals: [(path: RepositoryPath, reason: Refusal)] {
    var seen: Set<RepositoryPath> = []
    return rows.compactMap { row in
      guard case .refused(let refusal) = row.state, seen.insert(row.path).inserted else {
        return nil
      }
      return (row.path, refusal)
    }
  }

  /// The sum in words, with the number of the index.
  var summary: String { "index \(generation): \(sum)" }

  /// The sum in words.
  var sum: String {
    let parts = IndexRow.Summary.allCases.compactMap { state in
      counts[state].map { "\($0) \(state.words)" }
    }
    let schemas = Set(editions.values.joined().map(\.schema)).count
    return "\(files.count) files"
      + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
      + ", \(editions.count) contracts in \(schemas) schema versions"
  }

  /// What a version has for a contract; never another version's.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - schema: the version.
  /// - Returns: nil if nothing is known of it.
  func edition(of contract: ContractKey, _ schema: SchemaVersion) -> Edition? {
    editions[contract]?.first { $0.schema == schema }
  }
}
