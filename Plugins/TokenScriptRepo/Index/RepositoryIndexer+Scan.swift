internal import Observability
internal import Platform
internal import Formats

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
    var published: [Publication.Place: RepositoryFile] = [:]
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
    let (start, now, rules) = (ContinuousClock.now, now, rules)
    let (root, known, last) = (configuration.repository, current.contents, latest?.checks)
    let checks = try await scanThreads.run { [repository] in
      try RepositoryChecks(
        repository.configuration, repository.headers, now: now, sharing: known,
        answers: rules.answers, after: last)
    }
    async let stored = store.memory(
      under: checks.fingerprint, withPublicationTimes: rules.modified == .published)
    let (folder, (listing, unwatched)) = try await scanThreads.run { [watch] in
      try RepositoryError.naming(root) { () throws(SystemError) in
        let folder = try RepositoryFolder(root)
        guard let watch else { return (folder, (try folder.list(), 0)) }
        return (
          folder,
          try watch.follow { enter throws(SystemError) in try folder.list(entering: enter) }
        )
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
    let changes = try await adopt(files, into: store.publications(after: 0))
    return Scan(
      start: start, now: now, checks: checks, listing: listing,
      files: changes.filesBeside(files), published: try await published(changes, scan),
      change: changes.last, memory: memory)
  }

  /// Has the store adopt files that an earlier release has published below the root, if they are newer.
  ///
  /// - Returns: all publications.
  private func adopt(
    _ files: [RepositoryFile], into known: ContractStore.Changes
  ) async throws -> ContractStore.Changes {
    let times = Dictionary(
      known.publications.map { ($0.place, $0.time) }, uniquingKeysWith: { $1 })
    let found = files.filter { file in
      guard let publication = file.publicationInFolder else { return false }
      return times[publication.place].map { $0 < publication.time } ?? true
    }
    guard !found.isEmpty else { return known }
    let read = try await scanThreads.map(found) { file in
      file.publicationInFolder.map { ($0, bytes: try? file.content?.load().array) }
    }
    try await store.adopt(read.compactMap(\.self).filter { $0.isWithdrawn || $1 != nil })
    log.info("adopted from the folder", ["files": found.count])
    return try await store.publications(after: 0)
  }

  /// Returns the last scan with what has been published and withdrawn since, or nil if nothing has.
  func scanOfPublications() async throws -> Scan? {
    guard var scan = latest else { return try await self.scan() }
    let start = ContinuousClock.now
    let changes = try await store.publications(after: scan.change)
    guard changes.last > scan.change else { return nil }
    (scan.start, scan.now, scan.change) = (start, now, changes.last)
    let reading = RepositoryScan(
      folder: nil, reader: scan.checks.reader, rules: rules, now: scan.now, memory: scan.memory,
      known: current.contents.byDigest)
    scan.published.merge(try await published(changes, reading)) { $1 }
    return scan
  }

  /// Makes the files of publications. One that is being replaced stays as it was until the next look.
  private func published(
    _ changes: ContractStore.Changes, _ scan: RepositoryScan
  ) async throws -> [Publication.Place: RepositoryFile] {
    let files = try await scan.files(changes.publications, from: store, on: scanThreads)
    let old = changes.publications.compactMap { latest?.published[$0.place] }
    return Dictionary(
      (old + files).compactMap { file in file.publication.map { ($0.place, file) } },
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
