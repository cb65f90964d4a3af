internal import Cryptography
internal import Formats
internal import Platform
internal import Synchronization
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
  let known: [SHA256.Digest: FileContent]

  /// Reads all files.
  ///
  /// - Parameters:
  ///   - report: receives the number of files that are done, and the number of all.
  /// - Returns: the files in the order of the entries, without those that are no longer there.
  /// - Throws: ``SystemError`` if no thread can be started.
  func files(
    _ entries: [RepositoryFolder.Entry], on threads: ThreadPool,
    every interval: Duration = .seconds(1),
    reporting report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
  ) async throws -> [RepositoryFile] {
    let done = Atomic<Int>(0)
    let reporter = Task {
      while true {
        try await Task.sleep(for: interval)
        report(done.load(ordering: .relaxed), entries.count)
      }
    }
    defer { reporter.cancel() }
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
    var content: FileContent?
    if isServed(reading, entry.path) {
      content = known ?? FileContent(contents.bytes, digest: digest)
    }
    return RepositoryFile(
      path: entry.path, digest: digest, content: content,
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
    var content: FileContent?
    if isServed(reading, entry.path) {
      content = known[seen.digest] ?? FileContent(at: entry, in: folder, seen.digest, status.size)
    }
    // The bytes were found to differ although the status is the same.
    if let content, content.hasChanged { return nil }
    return RepositoryFile(
      path: entry.path, digest: seen.digest, content: content, size: status.size,
      modified: status.lastModified, status: status, reading: reading)
  }

  /// Makes the files of publications, and reads those bytes that are not in memory.
  ///
  /// - Parameters:
  ///   - store: has the bytes.
  /// - Returns: the files, without those that have been replaced meanwhile.
  /// - Throws: ``StoreError``, or ``SystemError`` if no thread can be started.
  func files(
    _ publications: [PublishedFile], from store: ContractStore, on threads: ThreadPool
  ) async throws -> [RepositoryFile] {
    var files: [RepositoryFile] = []
    var batch: [(publication: PublishedFile, bytes: Bytes)] = []
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
  ///   - bytes: its bytes, if they were read.
  /// - Returns: nil if the bytes are needed.
  func file(_ publication: PublishedFile, _ bytes: Bytes? = nil) -> RepositoryFile? {
    guard !publication.isWithdrawn else { return RepositoryFile(mark: publication) }
    let digest = publication.digest
    let content =
      known[digest].flatMap { $0.bytes == nil ? nil : $0 }
      ?? bytes.map { FileContent($0, digest: digest) }
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
    // The signer of a published file, and the time, decide about the next one, whatever the rules require.
    if PublishedFile.Slot(path) != nil { reader.verifier = reader.verifier ?? SignatureVerifier() }
    do throws(FileRefusal) { return .success(try reader.read(bytes, now: now)) } catch {
      return .failure(error)
    }
  }

  /// Returns whether the file may be served; only then its bytes stay in memory.
  private func isServed(_ reading: ContractStore.Reading, _ path: RepositoryPath) -> Bool {
    guard case .success(let file) = reading, path.kind == .tokenScript else { return false }
    return !file.origins.isEmpty && rules.evaluate(file).refusal == nil
  }
}

/// One file of the repository as one scan found it.
final class RepositoryFile: Sendable {
  /// The path of the file.
  let path: RepositoryPath
  /// The SHA-256 of the bytes, or nil if the file could not be read.
  let digest: SHA256.Digest?
  /// The bytes, or nil if the file could not be read or is not served.
  let content: FileContent?
  /// The number of bytes.
  let size: Int
  /// The time of the last change of the content.
  let modified: Timestamp
  /// The status that no other bytes at the path have, or nil if there is none.
  let status: FileStatus?
  /// The meaning of the file, or the reason why it has none.
  let reading: Result<TokenScriptFile, FileRefusal>
  /// The fault of newer bytes at the path, if this is the last good version.
  let replacedBy: FileRefusal?
  /// The publication, or nil for a file of the folder.
  let publication: PublishedFile?

  /// Makes a file.
  init(
    path: RepositoryPath, digest: SHA256.Digest? = nil, content: FileContent? = nil, size: Int = 0,
    modified: Timestamp = Timestamp(seconds: 0), status: FileStatus? = nil,
    reading: Result<TokenScriptFile, FileRefusal>, replacedBy: FileRefusal? = nil,
    publication: PublishedFile? = nil
  ) {
    self.path = path
    self.digest = digest
    self.content = content
    self.size = size
    self.modified = modified
    self.status = status
    self.reading = reading
    self.replacedBy = replacedBy
    self.publication = publication
  }

  /// Makes the file of a publication.
  ///
  /// - Parameters:
  ///   - content: the bytes, or nil if they are not served.
  ///   - reading: the meaning of the bytes.
  convenience init(
    _ publication: PublishedFile, content: FileContent?,
    reading: Result<TokenScriptFile, FileRefusal>
  ) {
    self.init(
      path: publication.path, digest: publication.digest, content: content, size: publication.size,
      modified: publication.accepted, reading: reading, publication: publication)
  }

  /// Makes the mark of a publication that was withdrawn.
  convenience init(mark publication: PublishedFile) {
    let file = TokenScriptFile(
      schema: publication.slot.schema, root: "token", contracts: publication.origins)
    self.init(publication, content: nil, reading: .success(file))
  }

  /// The refusal of a file whose check against the schema was stopped, or nil.
  var overrun: FileRefusal? {
    guard case .success(let file) = reading, case .failed(let refusal) = file.validity,
      refusal.reason == SchemaWorkers.tooMuchWork
    else { return nil }
    return refusal
  }

  /// Returns this version for further service, although newer bytes at the path are no XML.
  ///
  /// - Parameter refusal: the fault of the newer bytes.
  func kept(because refusal: FileRefusal) -> RepositoryFile {
    RepositoryFile(
      path: path, digest: digest, content: content, size: size, modified: modified,
      status: status, reading: reading, replacedBy: refusal)
  }
}
