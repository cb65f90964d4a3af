internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import SystemCalls
internal import Threading
internal import Time
internal import TokenScriptReading

/// Makes an index of the repository's folder and of the stored readings, one at a time, and puts it into service.
actor RepositoryIndexer {
  private let configuration: TokenScriptConfiguration
  private let store: ContractStore
  private let words: AtomicReference<ChainWords>
  private let log: Log
  private let clock: @Sendable () -> Timestamp
  private let durations: Histogram
  private let headers: ResponseHeaders
  private let currentIndex: AtomicReference<ContractIndex>
  private let currentVerification: AtomicReference<FileVerification>
  private let scanThreads = ThreadPool(named: "awd-scan", niceness: 5)
  private let compressionThreads = ThreadPool(named: "awd-compress", niceness: 10)
  private var pending: Task<Void, any Error>?
  /// The pass over the contents of the newest index.
  private(set) var compression: CompressionPass?
  /// The watch over the folders of the last scan, or nil if the system has no room for one.
  private var watch: RepositoryWatch?

  /// Makes an indexer; ``index()`` makes the first index.
  ///
  /// - Parameters:
  ///   - configuration: the place of the files, and the rules.
  ///   - headers: the header fields of responses.
  ///   - currentIndex: receives each new index.
  ///   - currentVerification: receives the checks of each new index.
  ///   - words: the chains' words on the owners of contracts.
  ///   - store: keeps readings and times.
  ///   - log: is told about refused files.
  ///   - clock: tells the time.
  ///   - durations: is told the duration of each build.
  init(
    _ configuration: TokenScriptConfiguration, _ headers: ResponseHeaders,
    _ currentIndex: AtomicReference<ContractIndex>,
    _ currentVerification: AtomicReference<FileVerification>, _ words: AtomicReference<ChainWords>,
    store: ContractStore, log: Log, clock: @escaping @Sendable () -> Timestamp,
    durations: Histogram
  ) {
    self.configuration = configuration
    self.headers = headers
    self.store = store
    self.words = words
    self.log = log
    self.clock = clock
    self.durations = durations
    watch = try? RepositoryWatch(configuration.repository)
    self.currentIndex = currentIndex
    self.currentVerification = currentVerification
  }

  /// The index in service.
  nonisolated var current: ContractIndex { currentIndex.value }

  /// Scans the whole folder and replaces the index in service.
  ///
  /// A call that comes while an index is made waits for it, and then makes another.
  ///
  /// - Throws: ``RepositoryError``, or the store's error; the old index then stays in service.
  func index() async throws {
    let previous = pending
    let task = Task {
      _ = await previous?.result
      try await self.make()
    }
    pending = task
    try await task.value
  }

  /// Returns the watch over the folders of the last scan.
  ///
  /// If there is none, or it was stopped, another is made, and a scan for what changed meanwhile.
  ///
  /// - Throws: ``SystemError`` if the system can't watch folders, or the error of ``index()``.
  func watching() async throws -> RepositoryWatch {
    if let watch, !watch.isStopped { return watch }
    let watch = try RepositoryWatch(configuration.repository)
    self.watch = watch
    try await index()
    return watch
  }

  private func make() async throws {
    let start = ContinuousClock.now
    let last = currentIndex.value
    let now = clock().wholeSecond
    let configuration = configuration
    let headers = headers
    var rules = configuration.rules
    rules.owners = words.value.owners
    let known = last.contents
    let (checks, folder, (listing, unwatched)) = try await scanThreads.run { [watch, rules] in
      let checks = try RepositoryChecks(
        configuration, headers, now: now, sharing: known, owners: rules.owners)
      do throws(SystemError) {
        let folder = try RepositoryFolder(configuration.repository)
        guard let watch else { return (checks, folder, (try folder.list(), 0)) }
        return (
          checks, folder,
          try watch.follow { enter throws(SystemError) in try folder.list(entering: enter) }
        )
      } catch { throw RepositoryError(folder: configuration.repository, reason: "\(error)") }
    }
    if unwatched > 0 {
      log.warning(
        "changes in some folders are seen on SIGHUP only: fs.inotify.max_user_watches is reached",
        ["folders": unwatched])
    }
    let memory = try await store.memory(
      under: checks.fingerprint,
      withPublicationTimes: configuration.rules.modified == .published)
    let scan = RepositoryScan(
      folder: folder, reader: checks.reader, rules: rules, now: now,
      readings: memory.readings, known: known.byDigest)
    let found = try await scan.files(listing.entries, on: scanThreads) { [log] done, total in
      log.info("indexing", ["files": done, "of": total])
    }
    let files = Self.merge(found, listing, keeping: last)

    // A file counts as published from the end of the scan on.
    let publicationTimes =
      configuration.rules.modified == .published
      ? PublicationTimes(
        memory.publications, now: clock().wholeSecond, choice: configuration.versionChoice) : nil
    let (index, builder) = try await scanThreads.run { [rules] in
      var builder = IndexBuilder(
        rules: rules, headers: headers, now: now, sightings: memory.sightings,
        publicationTimes: publicationTimes)
      let index = builder.build(
        files.served, checks.documents, generation: last.generation + 1)
      return (index, builder)
    }

    checks.workers?.rest()
    let verified = try await remember(
      files.onDisk, builder, over: memory, under: checks.fingerprint, now)
    for problem in checks.problems { log.warning("schema left out", ["reason": problem]) }
    currentIndex.replace(with: index)
    currentVerification.replace(with: checks.verification)
    compression?.stop()
    compression = CompressionPass(index.contents, on: compressionThreads)
    let took = ContinuousClock.now - start
    durations.observe(took)
    tell(of: index, after: last, listing, verified: verified, took: took)
  }

  /// Stores readings and times before they are published, so that a restart knows whatever was in service.
  ///
  /// - Returns: the number of files without a stored reading until now.
  private func remember(
    _ files: [RepositoryFile], _ builder: IndexBuilder,
    over memory: ContractStore.Memory, under rules: String, _ now: Timestamp
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
    if let times = builder.publicationTimes { try await store.remember(times) }
    return readings.count
  }

  /// Joins the files of a scan with those that could not be opened, and keeps the last good version of files that are
  /// half-written.
  static func merge(
    _ found: [RepositoryFile], _ listing: RepositoryFolder.Listing, keeping last: ContractIndex
  ) -> (onDisk: [RepositoryFile], served: [RepositoryFile]) {
    var onDisk = found
    for problem in listing.problems where problem.path.kind != nil {
      onDisk.append(
        RepositoryFile(
          path: problem.path, reading: .failure(FileRefusal(reason: problem.message))))
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

  /// Logs the refusals that are new, and a summary.
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
    let stopped = Set(last.files.filter(\.isTooMuchWork).map(\.digest))
    for file in index.files where file.isTooMuchWork && !stopped.contains(file.digest) {
      guard case .success(let meaning) = file.reading, case .failed(let refusal) = meaning.validity
      else { continue }
      log.warning("too much work", ["path": file.path.text, "reason": refusal.words])
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

extension Result<TokenScriptFile, FileRefusal> {
  /// Returns whether the same bytes would be read the same way at any later time: neither the clock nor a failure of
  /// the machine has a part in the reading.
  fileprivate func isLasting(_ now: Timestamp) -> Bool {
    guard case .success(let file) = self else { return true }
    for case .failed(let refusal) in [file.signature, file.validity] where refusal.isTransient {
      return false
    }
    guard let time = file.signer?.time else { return true }
    return time <= now
  }
}
