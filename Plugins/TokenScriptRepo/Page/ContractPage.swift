internal import Ethereum
internal import Platform

/// The page about one contract: what is served, every file for it, and what its issuer needs.
struct ContractPage: Sendable {
  /// The largest number of bytes of source on a page; further sources are linked.
  static let sourceLimit = 1 << 20

  /// The contract on its chain.
  let origin: Origin
  /// The rows of the contract, the newest version first, and in it the served files first.
  let rows: [IndexRow]
  /// The URLs of the served files, the newest version first; none if the server's own URL is not known.
  let urls: [String]
  /// The chain's answer on the contract, or nil if it wasn't asked.
  let answer: ChainAnswer?
  /// The URL of a page about the contract elsewhere, or nil.
  let explorer: String?
  private let files: [RepositoryPath: RepositoryFile]

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - origin: the contract on its chain.
  ///   - index: the index.
  ///   - base: the server's URL without a slash at its end, or nil if it is not known.
  ///   - explorers: the pages about contracts elsewhere that the configuration names, with `{address}` in them.
  /// - Returns: nil if no file names the contract on the chain.
  init?(_ origin: Origin, in index: ContractIndex, base: String?, explorers: [ChainID: String]) {
    let rows = index.rows.filter {
      $0.contract == origin.contract && $0.chains.contains(origin.chain)
    }
    guard !rows.isEmpty else { return nil }
    self.origin = origin
    func rank(_ row: IndexRow) -> (String, Int, Timestamp) {
      (row.schema?.path ?? "", row.state == .served ? 1 : 0, row.time ?? Timestamp(seconds: 0))
    }
    self.rows = rows.sorted { rank($0) > rank($1) }
    let editions = index.editions[ContractKey(origin.contract)] ?? []
    answer = index.rules.answers[origin]
    urls =
      base.map {
        ContractPlaces(of: origin, in: editions, base: $0, by: index.rules).files.map(\.url)
      } ?? []
    explorer = origin.explorer(in: explorers)
    let paths = Set(rows.map(\.path))
    files = Dictionary(
      index.files.lazy.filter { paths.contains($0.path) }.map { ($0.path, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The name that the newest file gives the contract.
  var name: String? { rows.lazy.compactMap(\.name).first }

  /// True if nothing but withdrawn files is left.
  var isGone: Bool { rows.allSatisfy { $0.state == .gone } }

  /// Returns the meaning of a row's file, or nil if it has none.
  func meaning(of row: IndexRow) -> TokenScriptFile? {
    guard case .success(let meaning)? = files[row.path]?.reading else { return nil }
    return meaning
  }

  /// Returns the bytes of a row's file, or nil if they are not served.
  func content(of row: IndexRow) -> Content? { files[row.path]?.content }
}
