internal import Cryptography
internal import Synchronization
internal import Platform
internal import Formats
internal import XMLSecurity

/// Reads the files of a repository that have changed, and verifies those without a stored reading.
struct RepositoryScan: Sendable {
  /// The repository, or nil if only publications are read.
  let folder: RepositoryFolder?
  /// Reads and verifies files.
  let reader: TokenScriptReader
  /// The configuration's rules.
  let rules: RepositoryRules
  /// The present time.
  let now: Timestamp
  /// The stored readings.
  let memory: ContractStore.Memory
  /// The contents in service, which are reused for equal bytes.
  let known: [SHA256.Digest: Content]

  /// Reads all files.
  ///
  /// - Parameters:
  ///   - entries: the files.
  ///   - threads: the threads that read.
  ///   - interval: the time between two reports of the progress.
  ///   - tell: receives the number of files that are done, and the number of all.
  /// - Returns: the files in the order of the entries, without those that are no longer there.
  /// - Throws: ``SystemError`` if no thread can be started.
  func files(
    _ entries: [RepositoryFolder.Entry], on threads: ThreadPool,
    every interval: Duration = .seconds(1),
    telling tell: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
  ) async throws -> [RepositoryFile] {
    let done = Atomic<Int>(0)
    let teller = Task {
      while true {
        try await Task.sleep(for: interval)
        tell(done.load(ordering: .relaxed), entries.count)
      }
    }
    defer { teller.cancel() }
    return try await threads.map(entries) { entry in
      defer { done.add(1, ordering: .relaxed) }
      return file(entry)
    }.compactMap(\.self)
  }

  /// Reads a file, and verifies it unless its reading is stored.
  ///
  /// A file with the status that it was last read with isn't read now.
  ///
  /// - Returns: nil if the file is no longer there.
  func file(_ entry: RepositoryFolder.Entry) -> RepositoryFile? {
    guard let folder else { return nil }
    if let file = unchangedFile(entry, in: folder) { return file }
    let contents: RepositoryFolder.Contents
    do throws(RepositoryFolder.Problem) { contents = try folder.read(entry) } catch {
      guard !error.isMissing else { return nil }
      return RepositoryFile(path: entry.path, reading: .failure(FileRefusal(reason: error.message)))
    }
    let digest = unsafe SHA256.hash(contents.bytes.buffer.bytes)
    let reading =
      memory.readings[ContractStore.Key(path: entry.path, digest: digest)]
      ?? self.reading(contents.bytes.array, entry.path)
    let known = known[digest].flatMap { $0.bytes == nil ? nil : $0 }
    return RepositoryFile(
      path: entry.path, digest: digest,
      content: isServed(reading, entry.path)
        ? known ?? Content(contents.bytes, digest: digest) : nil,
      size: contents.bytes.count, modified: contents.status.lastModified,
      status: contents.status.isSettled(at: now) ? contents.status : nil, reading: reading)
  }

  /// Returns a file by its stored reading, whose bytes are read when they are wanted.
  private func unchangedFile(
    _ entry: RepositoryFolder.Entry, in folder: RepositoryFolder
  ) -> RepositoryFile? {
    guard let status = entry.status, let seen = memory.seen[entry.path], seen.status == status,
      let reading = memory.readings[ContractStore.Key(path: entry.path, digest: seen.digest)]
    else { return nil }
    var content: Content?
    if isServed(reading, entry.path) {
      content = known[seen.digest] ?? Content(at: entry, in: folder, seen.digest, status.size)
    }
    // A check of the bytes has found that the status doesn't tell them.
    if let content, content.isStale { return nil }
    return RepositoryFile(
      path: entry.path, digest: seen.digest, content: content, size: status.size,
      modified: status.lastModified, status: status, reading: reading)
  }

  /// Makes the files of publications, and reads those bytes that are not in memory.
  ///
  /// - Parameters:
  ///   - publications: the publications.
  ///   - store: has the bytes.
  ///   - threads: the threads that verify.
  /// - Returns: the files, without those that have been replaced meanwhile.
  /// - Throws: ``StoreError``, or ``SystemError`` if no thread can be started.
  func files(
    _ publications: [Publication], from store: ContractStore, on threads: ThreadPool
  ) async throws -> [RepositoryFile] {
    var files: [RepositoryFile] = []
    var batch: [(publication: Publication, bytes: Bytes)] = []
    for (number, publication) in publications.enumerated() {
      if let file = file(publication) {
        files.append(file)
      } else if let bytes = try await store.content(of: publication) {
        batch.append((publication, Bytes(bytes)))
      }
      if number == publications.count - 1 || batch.reduce(0, { $0 + $1.bytes.count }) > 16 << 20 {
        files += try await threads.map(batch) { file($0.publication, $0.bytes) }.compactMap(\.self)
        batch = []
      }
    }
    return files
  }

  /// Makes the file of a publication, and verifies it unless its reading is stored.
  ///
  /// - Parameters:
  ///   - publication: the publication.
  ///   - bytes: its bytes, if they were read.
  /// - Returns: nil if the bytes are needed.
  func file(_ publication: Publication, _ bytes: Bytes? = nil) -> RepositoryFile? {
    guard !publication.isWithdrawn else { return RepositoryFile(mark: publication) }
    let digest = publication.digest
    let content =
      known[digest].flatMap { $0.bytes == nil ? nil : $0 }
      ?? bytes.map { Content($0, digest: digest) }
    let key = ContractStore.Key(path: publication.path, digest: digest)
    let reading = memory.readings[key] ?? content?.bytes.map { self.reading($0.array, key.path) }
    guard let reading else { return nil }
    guard isServed(reading, key.path) else {
      return RepositoryFile(publication, content: nil, reading: reading)
    }
    return content.map { RepositoryFile(publication, content: $0, reading: reading) }
  }

  private func reading(_ bytes: [UInt8], _ path: RepositoryPath) -> ContractStore.Reading {
    // A mark counts whatever its signature is.
    var reader = path.kind == .gone ? TokenScriptReader() : reader
    // The signer of a published file, and the time, decide about the next one, whatever is required of others.
    if Publication.Place(path) != nil { reader.verifier = reader.verifier ?? SignatureVerifier() }
    do throws(FileRefusal) { return .success(try reader.read(bytes, now: now)) } catch {
      return .failure(error)
    }
  }

  /// Returns whether the file may be served; only then its bytes stay in memory.
  private func isServed(_ reading: ContractStore.Reading, _ path: RepositoryPath) -> Bool {
    guard case .success(let file) = reading, path.kind == .tokenScript else { return false }
    return !file.origins.isEmpty && rules.judge(file).refusal == nil
  }
}
