internal import Synchronization
internal import Platform

/// The whole index at one moment: an immutable snapshot that all requests share.
final class ContractIndex: Sendable {
  /// The number of indexes since the start, this one included.
  let generation: Int
  /// The rules that the index was made by.
  let rules: RepositoryRules
  /// The schemas.
  let documents: SchemaDocuments
  /// The versions of each contract, the newest first.
  let editions: [ContractKey: [Edition]]
  /// All files in the order of their paths, with those that can't be served.
  let files: [RepositoryFile]
  /// A row for each contract of each file.
  let rows: [IndexRow]
  /// The number of schema versions with contracts.
  let schemaCount: Int
  private let readFlag = Atomic<Bool>(false)
  private let storedSearch = LazyReference<IndexSearch>()
  /// The number of files in each state; a file that is served for some contract counts as served.
  let counts: [IndexRow.Summary: Int]
  /// The earliest expiry of a signer's certificate among the served files, or nil.
  let firstExpiry: Timestamp?

  /// Makes an index.
  ///
  /// - Parameters:
  ///   - generation: the number of indexes since the start, this one included.
  ///   - rules: the rules that the index was made by.
  ///   - documents: the schemas.
  ///   - editions: the versions of each contract, the newest first.
  ///   - files: all files in the order of their paths.
  ///   - rows: a row for each contract of each file.
  init(
    generation: Int, rules: RepositoryRules = RepositoryRules(), documents: SchemaDocuments,
    editions: [ContractKey: [Edition]],
    files: [RepositoryFile], rows: [IndexRow]
  ) {
    (self.generation, self.rules, self.documents) = (generation, rules, documents)
    (self.editions, self.files, self.rows) = (editions, files, rows)
    schemaCount = Set(editions.values.joined().map(\.schema)).count
    var states: [RepositoryPath: IndexRow.Summary] = [:]
    for row in rows {
      let state = row.state.summary
      states[row.path] = states[row.path].map { $0 == .served ? $0 : state } ?? state
    }
    counts = Dictionary(grouping: states.values, by: \.self).mapValues(\.count)
    firstExpiry =
      files.compactMap { file in
        guard file.content != nil, case .success(let meaning) = file.reading else { return nil }
        return meaning.signer?.expires
      }.min()
    if contents.allSatisfy({ $0.bytes != nil }) { contentsAreRead() }
  }

  /// True if the bytes of all contents are there.
  var isRead: Bool { readFlag.load(ordering: .acquiring) }

  /// Notes that the bytes of all contents are there.
  func contentsAreRead() { readFlag.store(true, ordering: .releasing) }

  /// The index before the first scan.
  static let empty = ContractIndex(
    generation: 0, documents: .none, editions: [:], files: [], rows: [])

  /// The rows as searches see them, made with the first page.
  var search: IndexSearch { storedSearch.value ?? storedSearch.keep(IndexSearch(rows)) }

  /// The contracts that files name as their origins, served or not, on each of their chains, with their files' keys: first
  /// those of the operator's own files.
  var questions: [ChainQuestion] {
    var places: [Origin: Int] = [:]
    var questions: [ChainQuestion] = []
    for row in rows.filter({ !$0.isPublished }) + rows.filter(\.isPublished) {
      guard let contract = row.contract else { continue }
      for chain in row.chains {
        let origin = Origin(contract, on: chain)
        let place = places[origin] ?? questions.count
        if place == questions.count { questions.append(ChainQuestion(origin: origin, keys: [])) }
        places[origin] = place
        questions[place].keys += row.signer?.addresses ?? []
      }
    }
    return questions
  }

  /// The contents of all files and schemas that are served.
  var contents: [Content] { documents.contents + files.compactMap(\.content) }

  /// The refused files with the reasons.
  var refusals: [(path: RepositoryPath, reason: FileRefusal)] {
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
    return "\(files.count) files"
      + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
      + ", \(editions.count) contracts in \(schemaCount) schema versions"
  }

  /// Returns a version's files for a contract, and never another version's.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - schema: the version.
  /// - Returns: nil if there are none.
  func edition(of contract: ContractKey, _ schema: SchemaVersion) -> Edition? {
    editions[contract]?.first { $0.schema == schema }
  }
}
