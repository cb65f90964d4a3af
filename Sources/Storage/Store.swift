internal import SystemCalls
internal import Threading

/// A SQLite database with one writer and several readers, each on a thread of its own.
///
/// When `write` returns, its changes are durable. The callers' threads never touch the disk. After an error with
/// ``StoreError/isUnavailable`` no restart is needed: the next call tries again.
///
/// A task that is cancelled while it waits goes on waiting for the outcome. Its closure runs, and is committed or not, as
/// if the task had not been cancelled.
@safe public final class Store: Sendable {
  private let writes: JobQueue<Job<Transaction>>
  private let reads: JobQueue<Job<Snapshot>>
  private let recorder = StatisticsRecorder()
  private let closed: Promise<Void>
  private let thread: WorkerThread

  /// Opens a database, and brings its schema up to date.
  ///
  /// - Parameters:
  ///   - location: the file, which is made with mode 0600 if it does not exist, or memory.
  ///   - migrations: all migrations of all services in the program, switched on or not. A file with another one is
  ///     refused.
  ///   - configuration: sizes and times.
  /// - Throws: ``StoreError``: `.incompatibleSchema` for a file of a newer or another program. Or the error of a
  ///   migration's closure.
  public static func open(
    _ location: StoreLocation, migrations: [Migration] = [],
    configuration: StoreConfiguration = StoreConfiguration()
  ) async throws -> Store {
    let opened = Promise<Result<Void, any Error>>()
    let store = try Store(location, migrations, configuration, opened: opened)
    try await opened.value.get()
    return store
  }

  private init(
    _ location: StoreLocation, _ migrations: [Migration], _ configuration: StoreConfiguration,
    opened: Promise<Result<Void, any Error>>
  ) throws(StoreError) {
    let writes = JobQueue<Job<Transaction>>(limit: configuration.queueLimit)
    let reads = JobQueue<Job<Snapshot>>(limit: configuration.queueLimit)
    let closed = Promise<Void>()
    self.writes = writes
    self.reads = reads
    self.closed = closed
    thread = try Self.startThread(named: "awd-writer") { [recorder] in
      do {
        try Self.work(location, migrations, configuration, writes, reads, recorder, opened)
      } catch {
        opened.fulfill(.failure(error))
      }
      // `work` has closed all connections.
      closed.fulfill(())
    }
  }

  /// Runs the writer's thread, from opening to closing.
  private static func work(
    _ location: StoreLocation, _ migrations: [Migration], _ configuration: StoreConfiguration,
    _ writes: JobQueue<Job<Transaction>>, _ reads: JobQueue<Job<Snapshot>>,
    _ recorder: StatisticsRecorder,
    _ opened: Promise<Result<Void, any Error>>
  ) throws {
    let file =
      switch location {
      case .file(let path): try DatabaseFile.at(path)
      case .memory: DatabaseFile.memory()
      }
    let connection = try Connection(
      file, role: .writer, busyTimeout: configuration.busyTimeout)
    if file.size <= configuration.checkedSize { try connection.checkPages() }
    try Migrator(connection, migrations).migrate()
    var readers: [WorkerThread] = []
    defer {
      reads.close()
      for reader in readers { reader.join() }
      // With no reader left this empties the log, unless another process reads. If it fails,
      // nothing is lost: the log is read at the next start.
      try? connection.checkpoint(truncating: true)
    }
    for _ in 0..<configuration.readers {
      let connection = try Connection(
        file, role: .reader, busyTimeout: configuration.busyTimeout)
      readers.append(
        try startThread(named: "awd-reader") {
          Reader(connection: connection, recorder: recorder).run(reads)
        })
    }
    opened.fulfill(.success(()))
    var writer = Writer(
      connection, queue: writes, configuration: configuration, recorder: recorder)
    writer.run()
  }

  private static func startThread(
    named name: String, _ body: @escaping @Sendable () -> Void
  ) throws(StoreError) -> WorkerThread {
    do throws(SystemError) { return try WorkerThread(named: name, body) } catch {
      throw StoreError(.busy, "the system has no room for a thread of the store")
    }
  }

  deinit {
    // Without `close()`, queued writes are still committed, but nobody waits for them.
    writes.close()
    reads.close()
  }

  /// Changes the database.
  ///
  /// The closure runs at most once, on the writer's thread, in one transaction with others that were queued at the same
  /// time, but isolated from their failures. If it throws, or the store fails, none of its changes stay. Its turn is that
  /// of ``WorkOwner/current``.
  ///
  /// - Parameters:
  ///   - outcome: takes true when the changes are on the disk, or false when they are undone, if `body` has run. It
  ///     serves caches of the database: it runs on the writer's thread, before any other closure sees the database
  ///     without the changes.
  ///   - body: changes the database. It must not wait for anything, as others wait behind it.
  /// - Returns: the closure's result, once its changes are on the disk.
  /// - Throws: the closure's error, or ``StoreError``: `.busy` if too many closures are queued or another process keeps
  ///   the database locked, `.closed` after ``close()``. After an `.ioError` and a crash before the next write, the
  ///   changes may exist nevertheless.
  public nonisolated(nonsending) func write<Value: Sendable>(
    outcome: (@Sendable (Bool) -> Void)? = nil,
    _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      queue(unsafe AwaitedOperation(body, continuation, outcome: outcome))
    }
  }

  /// Changes the database in several steps, in order, between which others get their turns.
  ///
  /// Each step is like a closure of ``write(outcome:_:)``, and is committed or not by itself.
  ///
  /// - Parameters:
  ///   - steps: the closures, each of which should take some milliseconds at most.
  ///   - outcome: called for each step that has run.
  /// - Returns: the results, in order, once the changes of all steps are on the disk.
  public nonisolated(nonsending) func write<Value: Sendable>(
    steps: [@Sendable (borrowing Transaction) throws -> Value],
    outcome: (@Sendable (Bool) -> Void)? = nil
  ) async -> [Result<Value, any Error>] {
    guard !steps.isEmpty else { return [] }
    let results = StepResults<Value>(count: steps.count)
    for (index, step) in steps.enumerated() {
      queue(StepOperation(step, index, of: results, outcome: outcome))
    }
    return await results.all
  }

  private func queue(_ job: Job<Transaction>) {
    let refused = Self.queue(job, in: writes)
    if refused { recorder.record { $0.writesRefused += 1 } }
  }

  /// Adds a job to a queue, and ends the one that has no place.
  ///
  /// - Returns: whether one had no place.
  private static func queue<Context: ~Copyable>(
    _ job: Job<Context>, in jobs: JobQueue<Job<Context>>
  ) -> Bool {
    do throws(StoreError) {
      guard let refused = try jobs.append(job, for: WorkOwner.current) else { return false }
      refused.fail(StoreError(.busy, "the queue of the store is full"))
      refused.finish()
    } catch {
      job.fail(error)
      job.finish()
    }
    return true
  }

  /// Reads the database, in its state at the closure's first query. Its turn is that of ``WorkOwner/current``.
  ///
  /// - Parameter body: runs on a reader's thread, at most once. It sees everything that was committed before, and no
  ///   change while it runs.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error, or ``StoreError``: `.busy` if too many closures are queued, `.closed` after
  ///   ``close()``, `.readOnly` if the closure tries to write.
  public nonisolated(nonsending) func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Snapshot) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      _ = Self.queue(unsafe AwaitedOperation(body, continuation), in: reads)
    }
  }

  /// Commits the queued writes, empties the write-ahead log, and ends the threads.
  ///
  /// It may be called more than once. Each call returns when everything is done. Later calls of `write` and `read` throw
  /// `.closed`.
  public nonisolated(nonsending) func close() async {
    reads.close()
    writes.close()
    await closed.value
    // The thread has nothing left to do but to return.
    thread.join()
  }

  /// The statistics of the store since it was opened.
  public var statistics: StoreStatistics {
    var statistics = recorder.statistics
    statistics.queuedWrites = writes.count
    statistics.queuedReads = reads.count
    return statistics
  }
}
