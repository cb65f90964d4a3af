internal import Formats
internal import Observability
internal import Platform
internal import ServiceKit

/// Makes an index of the repository's folder and of the stored readings, one at a time, and puts it into service.
actor RepositoryIndexer {
  let repository: Repository
  let answers: AtomicReference<ChainAnswers>
  private let durations: Histogram
  let scanThreads = ThreadPool(named: "awd-scan", niceness: 5)
  private let contentThreads = ThreadPool(named: "awd-content", niceness: 10)
  private var pending: Task<Void, any Error>?
  /// The scan of the newest index, or nil if the store may have another content.
  var latest: Scan?
  /// The time at which the readings were last recorded to be in use.
  private var kept: ContinuousClock.Instant?
  /// The pass over the contents of the newest index.
  private(set) var contentPass: ContentPass?
  /// The watch over the folders of the last scan, or nil if the system has no room for one.
  var watch: RepositoryWatch?

  /// Makes an indexer; ``index()`` makes the first index.
  ///
  /// - Parameters:
  ///   - repository: the state of the service, which gets each new index and its checks.
  init(_ repository: Repository, _ answers: AtomicReference<ChainAnswers>) {
    self.repository = repository
    self.answers = answers
    durations = repository.context.metrics.histogram(
      "awd_tokenscript_index_duration_seconds", "Duration of an index build",
      bounds: [0.01, 0.1, 0.5, 1, 5, 10, 60].map { .seconds($0) })
    watch = try? RepositoryWatch(repository.configuration.repository)
  }

  /// The index in service.
  nonisolated var current: ContractIndex { repository.index.value }
  nonisolated var configuration: TokenScriptConfiguration { repository.configuration }
  nonisolated var store: ContractStore { repository.store }
  nonisolated var log: Log { repository.log }
  nonisolated var now: Timestamp { repository.clock().wholeSecond }

  /// Scans the whole folder and replaces the index in service.
  ///
  /// A call that comes while an index is made waits for it, and then makes another.
  ///
  /// - Throws: ``RepositoryError``, or the store's error; the old index then stays in service.
  func index() async throws { try await afterOthers { try await self.make(self.scan()) } }

  /// Replaces the index in service if any node has published or withdrawn something since it was made. All other files are
  /// as the last scan found them.
  ///
  /// - Throws: as ``index()``.
  func indexPublications() async throws {
    try await afterOthers {
      // A publication that is replaced while it is read appears with the next poll.
      while let scan = try await self.scanOfPublications() { try await self.make(scan) }
    }
  }

  /// Makes one index at a time.
  private func afterOthers(_ make: @escaping @Sendable () async throws -> Void) async throws {
    let previous = pending
    let task = Task {
      _ = await previous?.result
      try await make()
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

  /// Makes the index of a scan, and puts it into service.
  private func make(_ scan: Scan) async throws {
    let last = current
    let checks = scan.checks
    let rules = rules
    let time = scan.now
    latest = nil
    let (onDisk, served) = Self.merge(scan.files, scan.listing, keeping: last)
    let files = (served + scan.published.values).sorted { $0.path < $1.path }

    func build(_ memory: ContractStore.Memory) async throws -> (ContractIndex, IndexBuilder) {
      // A file counts as published from the end of the scan on.
      let times = PublicationTimes(
        previous: memory.publications, now: now, choice: configuration.versionChoice)
      return try await scanThreads.run { [repository] in
        var builder = IndexBuilder(
          rules: rules, headers: repository.headers, now: time, sightings: memory.sightings,
          publicationTimes: rules.modified == .published ? times : nil)
        return (builder.build(files, checks.documents, generation: last.generation + 1), builder)
      }
    }
    var (index, builder) = try await build(scan.memory)

    checks.workers?.rest()
    var (verified, memory) = try await remember(
      onDisk + scan.published.values, builder, after: scan)
    if let others = try await store.memoryOfOthers(than: builder, under: checks.fingerprint) {
      (index, builder) = try await build(others)
      memory.sightings = builder.sightings
      memory.publications = builder.publicationTimes?.current ?? [:]
    }
    var done = scan
    done.memory = memory
    latest = done
    for problem in checks.problems { log.warning("schema left out", ["reason": problem]) }
    repository.index.replace(with: index)
    repository.verification.replace(with: checks.verification)
    contentPass?.stop()
    let pass = ContentPass(index.contents, on: contentThreads)
    contentPass = pass
    if !index.isRead { Task { await read(index, by: pass) } }
    keep(Array(memory.readings.keys), under: checks.fingerprint)
    let took = ContinuousClock.now - scan.start
    durations.observe(took)
    index.log(to: log, after: last, scan.listing, verified: verified, took: took)
  }

  /// Records once a day that readings are in use, so that no node deletes them.
  private func keep(_ readings: [ContractStore.Key], under rules: String) {
    guard kept.map({ .now - $0 > .seconds(86_400) }) ?? true else { return }
    kept = .now
    // If this fails, a later start reads the files again, at worst.
    Task { [store] in try? await store.keep(readings, under: rules) }
  }

  /// Waits until the contents of an index are read, and makes another index if files turn out to have changed.
  private func read(_ index: ContractIndex, by pass: ContentPass) async {
    if await pass.hasRead() { return index.contentsAreRead() }
    guard index.contents.contains(where: \.hasChanged) else { return }
    do { try await self.index() } catch {
      log.error("the repository could not be read; the old index stays", ["reason": "\(error)"])
    }
  }

  /// Stores readings and times before they are published, so that a restart knows whatever was in service.
  ///
  /// - Returns: the number of files without a stored reading until now, and the content of the store.
  private func remember(
    _ files: [RepositoryFile], _ builder: IndexBuilder, after scan: Scan
  ) async throws -> (verified: Int, memory: ContractStore.Memory) {
    let rules = scan.checks.fingerprint
    var memory = ContractStore.Memory(sightings: builder.sightings)
    var new: [(key: ContractStore.Key, reading: ContractStore.Reading)] = []
    var statuses: [(key: ContractStore.Key, status: FileStatus)] = []
    for file in files where file.reading.isLasting(scan.now) {
      guard let digest = file.digest, file.publication?.isWithdrawn != true else { continue }
      let key = ContractStore.Key(path: file.path, digest: digest)
      memory.readings[key] = file.reading
      if scan.memory.readings[key] == nil { new.append((key, file.reading)) }
      guard let status = file.status else { continue }
      memory.seen[file.path] = (digest, status)
      if scan.memory.seen[file.path]?.status != status { statuses.append((key, status)) }
    }
    let old = scan.memory.readings.keys.filter { memory.readings[$0] == nil }.map { ($0, rules) }
    try await store.remember(
      new, under: rules, sightings: builder.newSightings, statuses: statuses,
      forgetting: scan.memory.outdated + old)
    if let times = builder.publicationTimes {
      try await store.remember(times)
      memory.publications = times.current
    }
    return (new.count, memory)
  }
}

extension Result<TokenScriptFile, FileRefusal> {
  /// Returns true if the same bytes would be read the same way at any later time: neither the clock nor a failure of
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

extension RepositoryIndexer {
  /// The files on disk, and what they were read with.
  struct Scan {
    var start = ContinuousClock.now
    var now: Timestamp
    let checks: RepositoryChecks
    let listing: RepositoryFolder.Listing
    /// The files of the folder.
    let files: [RepositoryFile]
    /// The publications.
    var published: [PublishedFile.Slot: RepositoryFile] = [:]
    /// The last change of a publication.
    var change: Int64 = 0
    /// The content of the store.
    var memory: ContractStore.Memory
  }

  /// The configuration's rules, with the chains' last answers.
  var rules: RepositoryRules {
    var rules = configuration.rules
    rules.answers = answers.value.byOrigin
    return rules
  }

  /// Reads the checks, the folder and the store.
  ///
  /// - Throws: as ``index()``.
  func scan() async throws -> Scan {
    let start = ContinuousClock.now
    let now = now
    let rules = rules
    let root = configuration.repository
    let known = current.contents
    let last = latest?.checks
    let checks = try await scanThreads.run { [repository] in
      try RepositoryChecks(
        repository.configuration, repository.headers, now: now, sharing: known,
        answers: rules.answers, after: last)
    }
    async let stored = store.memory(
      under: checks.fingerprint, withPublicationTimes: rules.modified == .published)
    let folder = try await scanThreads.run {
      try RepositoryError.naming(root) { () throws(SystemError) in try RepositoryFolder(root) }
    }
    let (listing, unwatched) = try await scanThreads.run { [watch] in
      try RepositoryError.naming(root) {
        () throws(SystemError) -> (listing: RepositoryFolder.Listing, unwatched: Int) in
        guard let watch else { return (try folder.list(), 0) }
        return try watch.follow { enter throws(SystemError) in try folder.list(entering: enter) }
      }
    }
    if unwatched > 0 {
      log.warning(
        "changes in some folders are seen on SIGHUP only: fs.inotify.max_user_watches is reached",
        ["folders": unwatched])
    }
    let memory = try await stored
    let scan = RepositoryScan(
      folder: folder, reader: checks.reader, rules: rules, now: now, memory: memory,
      known: known.byDigest)
    let files = try await scan.files(listing.entries, on: scanThreads) { [log] done, total in
      log.info("indexing", ["files": done, "of": total])
    }
    let digests = files.map { (path: $0.path, digest: $0.digest) } + listing.unreadable
    repository.context.contents.record(RepositoryDigest.of(digests), of: "tokenscript.repository")
    let changes = try await store.publications(after: 0)
    return Scan(
      start: start, now: now, checks: checks, listing: listing,
      files: changes.filesBeside(files), published: try await published(changes, scan),
      change: changes.last, memory: memory)
  }

  /// Returns the last scan with what has been published and withdrawn since, or nil if nothing has.
  func scanOfPublications() async throws -> Scan? {
    guard var scan = latest else { return try await self.scan() }
    let start = ContinuousClock.now
    let changes = try await store.publications(after: scan.change)
    guard changes.last > scan.change else { return nil }
    scan.start = start
    scan.now = now
    scan.change = changes.last
    let reading = RepositoryScan(
      folder: nil, reader: scan.checks.reader, rules: rules, now: scan.now, memory: scan.memory,
      known: current.contents.byDigest)
    scan.published.merge(try await published(changes, reading)) { $1 }
    return scan
  }

  /// Makes the files of publications. One that is being replaced stays as it was until the next poll.
  private func published(
    _ changes: ContractStore.Changes, _ scan: RepositoryScan
  ) async throws -> [PublishedFile.Slot: RepositoryFile] {
    let files = try await scan.files(changes.publications, from: store, on: scanThreads)
    let old = changes.publications.compactMap { latest?.published[$0.slot] }
    return Dictionary(
      (old + files).compactMap { file in file.publication.map { ($0.slot, file) } },
      uniquingKeysWith: { $1 })
  }

  /// Joins the files of a scan with those that could not be opened, and keeps the last good version of files that are
  /// half-written.
  static func merge(
    _ found: [RepositoryFile], _ listing: RepositoryFolder.Listing, keeping last: ContractIndex
  ) -> (onDisk: [RepositoryFile], served: [RepositoryFile]) {
    var onDisk = found
    for problem in listing.problems where problem.path.kind != nil {
      onDisk.append(
        RepositoryFile(path: problem.path, reading: .failure(FileRefusal(reason: problem.message))))
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
}
