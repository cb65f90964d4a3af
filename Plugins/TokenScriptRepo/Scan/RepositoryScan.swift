internal import Cryptography
internal import HTTPProtocol
internal import Synchronization
internal import Threading
internal import Time
internal import TokenScriptReading
internal import Wire
internal import XMLSecurity

/// Reads the files of a repository, and verifies those without a stored reading.
struct RepositoryScan: Sendable {
  /// The repository.
  let folder: RepositoryFolder
  /// Reads and verifies files.
  let reader: TokenScriptReader
  /// The configuration's rules.
  let rules: RepositoryRules
  /// The present time.
  let now: Timestamp
  /// The stored readings.
  let readings: [ContractStore.Key: ContractStore.Reading]
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
  /// - Returns: nil if the file is no longer there.
  func file(_ entry: RepositoryFolder.Entry) -> RepositoryFile? {
    let contents: RepositoryFolder.Contents
    do throws(RepositoryFolder.Problem) { contents = try folder.read(entry) } catch {
      guard !error.isMissing else { return nil }
      return RepositoryFile(
        path: entry.path, reading: .failure(FileRefusal(reason: error.message)))
    }
    let digest = unsafe SHA256.hash(contents.bytes.buffer.bytes)
    let reading =
      readings[ContractStore.Key(path: entry.path, digest: digest)]
      ?? self.reading(contents.bytes.array, entry.path)
    return RepositoryFile(
      path: entry.path, digest: digest,
      content: isServed(reading, entry.path)
        ? known[digest] ?? Content(contents.bytes, digest: digest) : nil,
      size: contents.bytes.count, modified: contents.modified, reading: reading)
  }

  private func reading(_ bytes: [UInt8], _ path: RepositoryPath) -> ContractStore.Reading {
    // A mark counts whatever its signature is.
    var reader = path.kind == .gone ? TokenScriptReader() : reader
    // The signer of a published file, and the time, decide about the next one, whatever is required of others.
    if path.publisher != nil { reader.verifier = reader.verifier ?? SignatureVerifier() }
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
