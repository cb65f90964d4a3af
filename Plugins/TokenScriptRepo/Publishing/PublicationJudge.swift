internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Time
internal import TokenScriptReading

/// Decides whether a file is published, from its meaning and the index, without I/O.
struct PublicationJudge: Sendable {
  /// The time that a signer's clock may be ahead.
  static let clockTolerance = Duration.seconds(300)
  /// The largest number of files of a key.
  static let filesPerKey = 64
  /// The largest number of bytes of a key's files.
  static let bytesPerKey = 64 << 20
  /// The largest number of files of all keys.
  static let filesInAll = 10_000
  /// The largest number of bytes of all keys' files, which lie in memory too.
  static let bytesInAll = 1 << 30
  /// The largest number of origins of a file, each on each of its chains. Real files have ten at most.
  static let originLimit = 32

  /// A file to be published.
  struct Submission: Sendable {
    /// The meaning of the file, with all findings.
    let file: TokenScriptFile
    /// The SHA-256 of its bytes.
    let digest: SHA256.Digest
    /// The number of its bytes.
    let size: Int
  }

  /// A file that its signer has withdrawn.
  struct Mark: Sendable {
    /// The SHA-256 of its bytes.
    let digest: SHA256.Digest
    /// Its signing time.
    let time: Timestamp?
  }

  /// The decision on a file that isn't refused.
  enum Verdict: Equatable, Sendable {
    /// The same bytes are there already, at this path.
    case present(RepositoryPath)
    /// The file is to be written; whether it is its signer's first at this place.
    case write(RepositoryPath, isFirst: Bool)
  }

  /// The policy of the configuration.
  let policy: PublicationPolicy
  /// The rules of the configuration, which require the signature.
  let rules: RepositoryRules
  /// The index in service.
  let index: ContractIndex
  /// The present time.
  let now: Timestamp

  /// Decides on a file.
  ///
  /// - Parameters:
  ///   - submission: the file.
  ///   - place: the place that the request names.
  ///   - marks: the files that the signer has withdrawn, from ``marks(of:)``.
  /// - Throws: ``PublicationRefusal``.
  func judge(
    _ submission: Submission, at place: PublicationPlace, marks: [Mark]
  ) throws(PublicationRefusal) -> Verdict {
    let file = submission.file
    if case .failed(let refusal) = file.signature {
      throw PublicationRefusal(.badRequest, refusal.words)
    }
    guard let signer = file.signer else {
      throw PublicationRefusal(.badRequest, "its signer is unknown")
    }
    let chain = try chain(of: file, at: place)
    let origins = Self.origins(of: file)
    guard origins.count <= Self.originLimit else {
      throw PublicationRefusal(
        .badRequest, "the file names more than \(Self.originLimit) contracts as its origins")
    }
    for origin in origins { try authorize(signer.key, for: origin) }
    guard let time = signer.time else {
      throw PublicationRefusal(
        .badRequest, "the signature covers no signing time (XAdES), which tells new files from old")
    }
    guard time <= now + Self.clockTolerance else {
      throw PublicationRefusal(.badRequest, "it was signed in the future, at \(time)")
    }
    if let refusal = rules.judge(file).refusal {
      throw PublicationRefusal(.badRequest, refusal.words)
    }
    if marks.contains(where: { $0.digest == submission.digest }) {
      throw PublicationRefusal(.gone, "this file was withdrawn by its signer")
    }
    let target = Origin(place.contract, on: chain)
    let own = candidates(for: target).filter {
      $0.meaning.schema == place.schema && $0.signer?.key == signer.key
    }
    if let same = own.first(where: { $0.content.digest == submission.digest }) {
      return .present(same.file.path)
    }
    let others = origins.flatMap { candidates(for: $0) }
      .filter { $0.meaning.schema == place.schema && $0.signer?.key == signer.key }
    // A signing time that is still to come counts here, though it is no `Last-Modified` yet.
    let times = others.map { max($0.modified, $0.signer?.time ?? $0.modified) }
    let newest = (times + marks.compactMap(\.time)).max()
    if let newest, time <= newest {
      throw PublicationRefusal(
        .conflict, "it was signed at \(time), no later than its signer’s present file of \(newest)")
    }
    let path = RepositoryPath.published(by: signer.key, place.schema, place.contract, on: chain)
    try checkQuota(of: signer.key, path, submission.size)
    return .write(path, isFirst: own.isEmpty)
  }

  /// Returns the paths of the marks that a file's signer has left for its contracts in its version.
  func marks(of file: TokenScriptFile) -> [RepositoryPath] {
    guard let key = file.signer?.key else { return [] }
    let paths = file.originChains.flatMap { contract, chains in
      (index.edition(of: ContractKey(contract), file.schema)?.marks ?? [])
        .filter { $0.path.publisher == key && $0.chains.contains(where: chains.contains) }
        .map(\.path)
    }
    return Set(paths).sorted()
  }

  /// Checks that the place is the file's, and returns its chain.
  private func chain(
    of file: TokenScriptFile, at place: PublicationPlace
  ) throws(PublicationRefusal) -> ChainID {
    guard file.schema == place.schema else {
      throw PublicationRefusal(
        .badRequest, "the file is in the namespace \(file.schema), the URL names \(place.schema)")
    }
    guard let chains = file.originChains[place.contract] else {
      throw PublicationRefusal(
        .badRequest, "the file does not name \(place.contract) as its origin")
    }
    guard let chain = place.chain ?? (chains.count == 1 ? chains[0] : nil) else {
      throw PublicationRefusal(
        .badRequest, "the file names the contract on several chains; the URL must name one of them")
    }
    guard chains.contains(chain) else {
      throw PublicationRefusal(
        .badRequest, "the file does not name \(place.contract) on chain \(chain)")
    }
    return chain
  }

  /// Returns the contracts that a file is for.
  static func origins(of file: TokenScriptFile) -> [Origin] {
    file.originChains.flatMap { contract, chains in
      chains.map { Origin(contract, on: $0) }
    }
  }

  /// Checks that a key may publish for a contract.
  private func authorize(_ key: String, for origin: Origin) throws(PublicationRefusal) {
    let known = keys(of: origin)
    let isFree = known.isEmpty && candidates(for: origin).isEmpty
    if known.contains(key) || isFree && policy == .open { return }
    throw PublicationRefusal(
      .forbidden,
      "the signer does not stand for \(origin.contract) on chain \(origin.chain)", signer: key,
      known: known.sorted())
  }

  /// The key identifiers that stand for a contract: who has a file served or withdrawn, the deployer, and the owner.
  private func keys(of origin: Origin) -> Set<String> {
    var keys = Set(candidates(for: origin).compactMap { $0.signer?.key })
    for issuer in [rules.deployers[origin.contract], rules.owners[origin]] {
      if let issuer { keys.insert(issuer.checksummed) }
    }
    for mark in editions(of: origin).flatMap(\.marks) where mark.chains.contains(origin.chain) {
      // A mark of the operator's bears no verified key, and nobody may take the place of its file.
      keys.insert(mark.path.publisher ?? "the operator")
    }
    return keys
  }

  private func candidates(for origin: Origin) -> [Candidate] {
    editions(of: origin).flatMap(\.candidates).filter { $0.chains.contains(origin.chain) }
  }

  private func editions(of origin: Origin) -> [Edition] {
    index.editions[ContractKey(origin.contract)] ?? []
  }

  private func checkQuota(
    of key: String, _ path: RepositoryPath, _ size: Int
  ) throws(PublicationRefusal) {
    // The file takes the place of its mark, too.
    let published = index.files.filter {
      $0.path.publisher != nil && $0.path != path && $0.path != path.mark
    }
    let own = published.filter { $0.path.publisher == key }
    guard own.count < Self.filesPerKey,
      own.reduce(size, { $0 + $1.size }) <= Self.bytesPerKey
    else {
      throw PublicationRefusal(
        .insufficientStorage,
        "a key may have \(Self.filesPerKey) files and \(Self.bytesPerKey >> 20) MiB here",
        signer: key)
    }
    guard published.count < Self.filesInAll,
      published.reduce(size, { $0 + $1.size }) <= Self.bytesInAll
    else {
      throw PublicationRefusal(.insufficientStorage, "the repository takes no more files")
    }
  }
}
