internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import ServiceKit
internal import Synchronization

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
  /// The URLs by address of the folder's files `*.tsml`, by their paths; only files whose bytes are served have one.
  let links: [RepositoryPath: String]
  /// The earliest expiry of a signer's certificate among the served files, or nil.
  let firstExpiry: Timestamp?

  /// Makes an index.
  ///
  /// - Parameters:
  ///   - generation: the number of indexes since the start, this one included.
  init(
    generation: Int, rules: RepositoryRules = RepositoryRules(), documents: SchemaDocuments,
    editions: [ContractKey: [Edition]],
    files: [RepositoryFile], rows: [IndexRow]
  ) {
    self.generation = generation
    self.rules = rules
    self.documents = documents
    self.editions = editions
    self.files = files
    self.rows = rows
    schemaCount = Set(editions.values.joined().map(\.schema)).count
    var states: [RepositoryPath: IndexRow.Summary] = [:]
    for row in rows {
      let state = row.state.summary
      states[row.path] = states[row.path].map { $0 == .served ? $0 : state } ?? state
    }
    counts = Dictionary(grouping: states.values, by: \.self).mapValues(\.count)
    links = Self.links(to: files, rows, editions)
    firstExpiry =
      files.compactMap { file in
        guard file.content != nil, case .success(let meaning) = file.reading else { return nil }
        return meaning.signer?.expires
      }.min()
    if contents.allSatisfy({ $0.bytes != nil }) { contentsAreRead() }
  }

  private static func links(
    to files: [RepositoryFile], _ rows: [IndexRow], _ editions: [ContractKey: [Edition]]
  ) -> [RepositoryPath: String] {
    var urls: [SHA256.Digest: String] = [:]
    for row in rows where row.state == .served {
      guard let digest = row.digest, urls[digest] == nil else { continue }
      urls[digest] = url(of: row, in: editions)
    }
    var links: [RepositoryPath: String] = [:]
    for file in files where file.publication == nil && file.path.bytes.hasSuffix(".tsml") {
      links[file.path] = file.digest.flatMap { urls[$0] }
    }
    return links
  }

  /// Returns the URL, a path and a query, that gives the file of a served row.
  func url(of row: IndexRow) -> String? { Self.url(of: row, in: editions) }

  private static func url(of row: IndexRow, in editions: [ContractKey: [Edition]]) -> String? {
    guard row.state == .served, let contract = row.contract, let schema = row.schema else {
      return nil
    }
    let chains = editions[ContractKey(contract)]?.first { $0.schema == schema }?.chains ?? []
    let served = chains.first { $0.chosen.contains { $0.file.path == row.path } }
    let chain = chains.count > 1 ? served.map { "chain/\($0.chain)/" } ?? "" : ""
    let isChoice = (served?.chosen.count ?? 1) > 1
    let signer = isChoice ? row.signer.map { "?signer=\(PercentEncoding.encode($0.key))" } : nil
    return "/\(schema)/\(chain)\(contract.checksummed)\(signer ?? "")"
  }

  /// True if the bytes of all contents are there.
  var isRead: Bool { readFlag.load(ordering: .acquiring) }

  /// Records that the bytes of all contents are there.
  func contentsAreRead() { readFlag.store(true, ordering: .releasing) }

  /// The index before the first scan.
  static let empty = ContractIndex(
    generation: 0, documents: .none, editions: [:], files: [], rows: [])

  /// The rows as searches see them, made with the first page.
  var search: IndexSearch { storedSearch.value ?? storedSearch.keep(IndexSearch(rows)) }

  /// The contracts that files name as their origins, served or not, on each of their chains, with their files' keys: first
  /// those of the operator's own files.
  var chainRequests: [ChainRequest] {
    var places: [OriginContract: Int] = [:]
    var requests: [ChainRequest] = []
    for row in rows.filter({ !$0.isPublished }) + rows.filter(\.isPublished) {
      guard let contract = row.contract else { continue }
      for chain in row.chains {
        let origin = OriginContract(contract, on: chain)
        let place = places[origin] ?? requests.count
        if place == requests.count { requests.append(ChainRequest(origin: origin, keys: [])) }
        places[origin] = place
        requests[place].keys += row.signer?.addresses ?? []
      }
    }
    return requests
  }

  /// The contents of all files and schemas that are served.
  var contents: [FileContent] { documents.contents + files.compactMap(\.content) }

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
    return quantity(files.count, "file")
      + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
      + ", \(quantity(editions.count, "contract")) in \(quantity(schemaCount, "schema version"))"
  }

  /// Returns a version's files for a contract, and never another version's.
  ///
  /// - Returns: nil if there are none.
  func edition(of contract: ContractKey, _ schema: SchemaVersion) -> Edition? {
    editions[contract]?.first { $0.schema == schema }
  }
}

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

/// A contract's address as a key of the index: 20 bytes in three words, read from a URL without allocation.
struct ContractKey: Hashable, Sendable {
  private let high: UInt64
  private let middle: UInt64
  private let low: UInt32

  /// Makes the key of an address.
  init(_ address: EthereumAddress) {
    let bytes = address.bytes
    func number(_ part: Range<Int>) -> UInt64 { bytes[part].reduce(0) { $0 << 8 | UInt64($1) } }
    high = number(0..<8)
    middle = number(8..<16)
    low = UInt32(truncatingIfNeeded: number(16..<20))
  }

  /// Reads an address from a segment of a URL's path, or returns nil for other segments.
  ///
  /// - Parameter segment: `0x` and 40 hexadecimal digits of any case.
  init?(_ segment: ArraySlice<UInt8>) {
    guard segment.count == 42, segment[segment.startIndex] == UInt8(ascii: "0"),
      segment[segment.startIndex + 1] | 0x20 == UInt8(ascii: "x")
    else { return nil }
    let digits = segment.span.extracting(last: 40)
    guard let high = Self.number(digits.extracting(0..<16)),
      let middle = Self.number(digits.extracting(16..<32)),
      let low = Self.number(digits.extracting(32..<40))
    else { return nil }
    self.high = high
    self.middle = middle
    self.low = UInt32(truncatingIfNeeded: low)
  }

  /// Reads at most 16 hexadecimal digits.
  private static func number(_ digits: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    var isNumber = true
    for index in digits.indices {
      let byte = unsafe digits[unchecked: index]
      let digit = byte &- UInt8(ascii: "0")
      let letter = (byte | 0x20) &- UInt8(ascii: "a")
      isNumber = isNumber && (digit < 10 || letter < 6)
      number = number << 4 | UInt64(digit < 10 ? digit : letter &+ 10)
    }
    return isNumber ? number : nil
  }
}

extension ContractIndex {
  /// Logs the refusals that are new since another index, and a summary.
  ///
  /// - Parameters:
  ///   - listing: the walk over the folder that this one was made of.
  func log(
    to log: Log, after last: ContractIndex, _ listing: RepositoryFolder.Listing, verified: Int,
    took: Duration
  ) {
    for problem in listing.problems where problem.path.kind == nil {
      log.warning("file can't be read", ["path": problem.path.text, "reason": problem.message])
    }
    let known = Set(last.refusals.map { "\($0.path)\u{0}\($0.reason.words)" })
    for (path, reason) in refusals where !known.contains("\(path)\u{0}\(reason.words)") {
      log.warning("refused", ["path": path.text, "reason": reason.words])
    }
    let stopped = Set(last.files.filter { $0.overrun != nil }.map(\.digest))
    for file in files {
      if let overrun = file.overrun, !stopped.contains(file.digest) {
        log.warning(
          "refused: checking takes too long", ["path": file.path.text, "reason": overrun.words])
      }
      if let newer = file.replacedBy {
        log.warning("its last good version stays", ["path": file.path.text, "reason": newer.words])
      }
    }
    let facts: Log.Fields = ["verified": verified, "took": took]
    if rows == last.rows, last.generation > 0 {
      log.debug("\(summary), as before", facts)
    } else {
      log.info("\(summary)", facts)
    }
  }
}
