internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import SystemCalls
internal import Time

/// Makes each index out of the folder and of what is remembered, one at a time.
actor RepositoryIndexer {
  private let configuration: TokenScriptConfiguration
  private let store: ContractStore
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let fields: AnswerFields
  private let published: Published<ContractIndex>
  private let verification: Published<FileVerification>
  private var pending: Task<Void, any Error>?
  /// Compresses what the newest index serves.
  private(set) var compression: CompressionPass?
  /// The folders that the last scan walked, by their paths below the root.
  private(set) var folders: [RepositoryPath] = []

  /// An indexer that has made nothing yet.
  ///
  /// - Parameters:
  ///   - configuration: where the files lie and what becomes of findings.
  ///   - fields: the fields of every answer.
  ///   - published: where the newest index is found.
  ///   - verification: where the newest checks are found.
  ///   - store: what is remembered.
  ///   - log: where refused files are told.
  ///   - clock: tells the time.
  init(
    _ configuration: TokenScriptConfiguration, _ fields: AnswerFields,
    _ published: Published<ContractIndex>, _ verification: Published<FileVerification>,
    store: ContractStore, log: Log,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.configuration = configuration
    self.fields = fields
    self.store = store
    self.log = log
    self.clock = clock
    self.published = published
    self.verification = verification
  }

  /// The newest index.
  nonisolated var current: ContractIndex { published.value }

  /// Looks at the whole folder anew, and puts the new index in the place of the old one.
  ///
  /// Calls that come while an index is made wait for it, and then make one more.
  ///
  /// - Throws: what stands in its way; the old index stays.
  func index() async throws {
    let previous = pending
    let task = Task {
      _ = await previous?.result
      try await self.make()
    }
    pending = task
    try await task.value
  }

  private func make() async throws {
    let start = ContinuousClock.now
    let last = published.value
    let now = clock().seconds
    let configuration = configuration
    let fields = fields
    let known = last.contents
    let (checks, folder, listing) = try await WorkerThreads.run {
      let checks = try RepositoryChecks(configuration, fields, now: now, sharing: known)
      do throws(SystemError) {
        let folder = try RepositoryFolder(configuration.repository)
        return (checks, folder, try folder.list())
      } catch { throw RepositoryError(folder: configuration.repository, reason: "\(error)") }
    }
    let memory = try await store.memory(
      under: checks.fingerprint, withAnswers: configuration.rules.modified == .published)
    let scan = RepositoryScan(
      folder: folder, reader: checks.reader, rules: configuration.rules, now: now,
      readings: memory.readings, known: known)
    let found = try await scan.files(listing.entries) { [log] done, total in
      log.info("indexing", ["files": done, "of": total])
    }
    let files = Self.merge(found, listing, keeping: last)

    // Some hundred files are compressed by then; of many, none is kept back for the others' sake.
    compression?.stop()
    let compression = CompressionPass(
      files.served.compactMap(\.content) + checks.documents.contents)
    self.compression = compression
    await compression.wait(atMost: Self.patience)

    // What is published counts from now on, not from when the scan began.
    let publications =
      configuration.rules.modified == .published
      ? Publications(
        memory.answers, now: clock().seconds, choice: configuration.versionChoice) : nil
    let (index, builder) = try await WorkerThreads.run {
      var builder = IndexBuilder(
        rules: configuration.rules, fields: fields, now: now, sightings: memory.sightings,
        publications: publications)
      let index = builder.build(
        files.served, checks.documents, generation: last.generation + 1)
      return (index, builder)
    }

    let verified = try await remember(
      files.onDisk, builder, over: memory, under: checks.fingerprint, now)
    for problem in checks.problems { log.warning("schema left out", ["reason": problem]) }
    folders = listing.folders
    published.replace(with: index)
    verification.replace(with: checks.verification)
    tell(of: index, after: last, listing, verified: verified, took: .now - start)
  }

  private static let patience = Duration.seconds(1)

  /// Stores what was found out; nothing is published that would not be known after a restart.
  ///
  /// - Returns: how many files it was that nothing was known of before.
  private func remember(
    _ files: [RepositoryFile], _ builder: IndexBuilder,
    over memory: ContractStore.Memory, under rules: String, _ now: Int64
  ) async throws -> Int {
    var readings: [(key: ContractStore.Key, reading: ContractStore.Reading)] = []
    var present: Set<ContractStore.Key> = []
    for file in files where file.reading.isLasting(now) {
      guard let digest = file.digest else { continue }
      let key = ContractStore.Key(path: file.path, digest: digest)
      present.insert(key)
      if memory.readings[key] == nil { readings.append((key, file.reading)) }
    }
    try await store.remember(
      readings, under: rules, sightings: builder.newSightings,
      forgetting: memory.outdated + memory.readings.keys.filter { !present.contains($0) })
    if let publications = builder.publications { try await store.remember(publications) }
    return readings.count
  }

  /// Puts together what the scan found, what it came upon but could not open, and the last good
  /// versions of files that are half-written.
  static func merge(
    _ found: [RepositoryFile], _ listing: RepositoryFolder.Listing, keeping last: ContractIndex
  ) -> (onDisk: [RepositoryFile], served: [RepositoryFile]) {
    var onDisk = found
    for problem in listing.problems where problem.path.kind != nil {
      onDisk.append(
        RepositoryFile(
          path: problem.path, reading: .failure(Refusal(reason: problem.message, detail: ""))))
    }
    onDisk.sort { $0.path < $1.path }
    var good: [RepositoryPath: RepositoryFile] = [:]
    for file in last.files where file.content != nil { good[file.path] = file }
    let served = onDisk.map { file in
      guard case .failure(let refusal) = file.reading, refusal.isMalformed,
        let old = good[file.path]
      else { return file }
      return old.kept(because: refusal)
    }
    return (onDisk, served)
  }

  /// Tells what is refused that was not refused before, and the sum of it.
  private func tell(
    of index: ContractIndex, after last: ContractIndex, _ listing: RepositoryFolder.Listing,
    verified: Int, took: Duration
  ) {
    for problem in listing.problems where problem.path.kind == nil {
      log.warning("left out", ["path": problem.path.text, "reason": problem.message])
    }
    let known = Set(last.refusals.map { "\($0.path)\u{0}\($0.reason.words)" })
    for (path, reason) in index.refusals where !known.contains("\(path)\u{0}\(reason.words)") {
      log.warning("refused", ["path": path.text, "reason": reason.words])
    }
    for file in index.files {
      guard let newer = file.replacedBy else { continue }
      log.warning(
        "its last good version stays", ["path": file.path.text, "reason": newer.words])
    }
    let summary: Log.Fields = ["verified": verified, "took": took]
    if index.rows == last.rows, last.generation > 0 {
      log.debug("\(index.summary), as before", summary)
    } else {
      log.info("\(index.summary)", summary)
    }
  }
}

/// The repository can't be read.
struct RepositoryError: Error, CustomStringConvertible {
  /// As the configuration names it.
  let folder: String
  /// The system's words.
  let reason: String

  /// Both, in a sentence.
  var description: String { "the repository \(folder) can't be read: \(reason)" }
}

extension Result<TokenScriptFile, Refusal> {
  /// Whether the same bytes would be read the same way at any time: neither the clock nor a failure
  /// of the machine has a part in it.
  ///
  /// - Parameter now: the time of the reading, in seconds since 1970.
  fileprivate func isLasting(_ now: Int64) -> Bool {
    guard case .success(let file) = self else { return true }
    if case .failed(let refusal) = file.signature, refusal.isTransient { return false }
    guard let time = file.signer?.time else { return true }
    return time <= now
  }
}
