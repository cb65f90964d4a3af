internal import Cryptography
internal import HTTPProtocol
internal import Synchronization

/// What all threads of one scan share: how a file is read, and what is known of its bytes already.
struct RepositoryScan: Sendable {
  /// Where the files lie.
  let folder: RepositoryFolder
  /// Finds out what a file means.
  let reader: TokenScriptReader
  /// What becomes of findings.
  let rules: RepositoryRules
  /// The time, in seconds since 1970.
  let now: Int64
  /// What is remembered.
  let readings: [ContractStore.Key: ContractStore.Reading]
  private let known: [[UInt8]: Content]

  /// A scan.
  ///
  /// - Parameters:
  ///   - folder: where the files lie.
  ///   - reader: finds out what a file means.
  ///   - rules: what becomes of findings.
  ///   - now: the time, in seconds since 1970.
  ///   - readings: what is remembered.
  ///   - known: the contents in service, which are shared where they are the same.
  init(
    folder: RepositoryFolder, reader: TokenScriptReader, rules: RepositoryRules, now: Int64,
    readings: [ContractStore.Key: ContractStore.Reading], known: [Content]
  ) {
    self.folder = folder
    self.reader = reader
    self.rules = rules
    self.now = now
    self.readings = readings
    self.known = known.byDigest
  }

  /// Reads all files, on as many threads as there are cores.
  ///
  /// - Parameters:
  ///   - entries: as the folder listed them.
  ///   - interval: how often it is told how far that has come.
  ///   - tell: is given how many are done, and how many there are.
  /// - Returns: the files in the order of the entries; those that have gone meanwhile are left out.
  /// - Throws: ``SystemError`` without room for even one thread.
  func files(
    _ entries: [RepositoryFolder.Entry], every interval: Duration = .seconds(1),
    telling tell: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
  ) async throws -> [RepositoryFile] {
    let done = Counter()
    let teller = Task {
      while true {
        try await Task.sleep(for: interval)
        tell(done.value, entries.count)
      }
    }
    defer { teller.cancel() }
    return try await WorkerThreads.map(entries, width: WorkerThreads.cores) { entry in
      defer { done.increase() }
      return file(entry)
    }.compactMap(\.self)
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func increase() { count.add(1, ordering: .relaxed) }
  }

  /// Reads a file and finds out what it means, unless that is remembered.
  ///
  /// - Parameter entry: as the folder listed it.
  /// - Returns: nil if the file has gone meanwhile.
  func file(_ entry: RepositoryFolder.Entry) -> RepositoryFile? {
    let contents: RepositoryFolder.Contents
    do throws(RepositoryFolder.Problem) { contents = try folder.read(entry) } catch {
      guard !error.isMissing else { return nil }
      return RepositoryFile(
        path: entry.path, reading: .failure(Refusal(reason: error.message, detail: "")))
    }
    let digest = SHA256.hash(contents.bytes).bytes
    let reading =
      readings[ContractStore.Key(path: entry.path, digest: digest)]
      ?? self.reading(contents.bytes, isGone: entry.path.kind == .gone)
    return RepositoryFile(
      path: entry.path, digest: digest,
      content: isServed(reading, entry.path)
        ? known[digest] ?? Content(Bytes(contents.bytes), digest: digest) : nil,
      size: contents.bytes.count, modified: contents.modified, reading: reading)
  }

  private func reading(_ bytes: [UInt8], isGone: Bool) -> ContractStore.Reading {
    // What is gone is so whatever its signature.
    let reader = isGone ? TokenScriptReader() : reader
    do throws(Refusal) { return .success(try reader.read(bytes, now: now)) } catch {
      return .failure(error)
    }
  }

  /// Only what may be served is kept in memory.
  private func isServed(_ reading: ContractStore.Reading, _ path: RepositoryPath) -> Bool {
    guard case .success(let file) = reading, path.kind == .tokenScript else { return false }
    return !file.origins.isEmpty && rules.judge(file).refusal == nil
  }
}
