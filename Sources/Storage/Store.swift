internal import SystemCalls
internal import Threading

/// A SQLite database with one writer and several readers, each on a thread of its own.
///
/// What `write` returns is durable. Nothing of the disk is ever touched on a caller's thread. After
/// an error with ``StoreError/isUnavailable`` no restart is needed: the next call tries again.
///
/// A task that is cancelled while it waits goes on waiting for the outcome: its closure runs, and
/// is committed or not, as if the task had not been cancelled.
@safe public final class Store: Sendable {
  private let writes: JobQueue<Job<Transaction>>
  private let reads: JobQueue<Job<Snapshot>>
  private let meter = Meter()
  private let closed: Promise<Void>
  private let thread: WorkerThread

  /// Opens a database, and brings its schema up to date.
  ///
  /// - Parameters:
  ///   - location: the file, made with mode 0600 if it is not there, or memory.
  ///   - migrations: all steps of all services in the program, whether they are switched on or not:
  ///     a file with a step that is not among them is refused.
  ///   - configuration: sizes and times.
  /// - Throws: ``StoreError``; `.incompatibleSchema` for a file of a newer or another program, or
  ///   what a migration's closure throws.
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
    thread = try Self.startThread(named: "awd-writer") { [meter] in
      do {
        try Self.work(location, migrations, configuration, writes, reads, meter, opened)
      } catch {
        opened.keep(.failure(error))
      }
      // All connections are closed: they were `work`'s.
      closed.keep(())
    }
  }

  /// The writer's thread, from opening to closing.
  private static func work(
    _ location: StoreLocation, _ migrations: [Migration], _ configuration: StoreConfiguration,
    _ writes: JobQueue<Job<Transaction>>, _ reads: JobQueue<Job<Snapshot>>, _ meter: Meter,
    _ opened: Promise<Result<Void, any Error>>
  ) throws {
    let file =
      switch location {
      case .file(let path): try DatabaseFile.at(path)
      case .memory: DatabaseFile.memory()
      }
    let connection = try Connection(
      file, role: .writer, busyTimeout: configuration.busyTimeout)
    try Migrator(connection, migrations).migrate()
    var readers: [WorkerThread] = []
    defer {
      reads.close()
      for reader in readers { reader.join() }
      // With no reader left this empties the log, unless another process reads. If it fails,
      // nothing is lost: the log is read at the next start.
      try? connection.checkpointAndTruncate()
    }
    for _ in 0..<configuration.readers {
      let connection = try Connection(
        file, role: .reader, busyTimeout: configuration.busyTimeout)
      readers.append(
        try startThread(named: "awd-reader") {
          Reader(connection, meter: meter).run(reads)
        })
    }
    opened.keep(.success(()))
    var writer = Writer(
      connection, queue: writes, configuration: configuration, meter: meter)
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
    // Without `close()`: what is queued is still committed, but nobody waits for it.
    writes.close()
    reads.close()
  }

  /// Changes the database.
  ///
  /// The closure runs at most once, on the writer's thread, in one transaction with others that
  /// were queued at the same time, but isolated from their failures. Whatever it throws, or a
  /// failure of the store, leaves none of its changes.
  ///
  /// - Parameters:
  ///   - outcome: is told what became of the changes once `body` has run: true when they are on the
  ///     disk, false when they are undone. For those who remember what the database holds: it runs on
  ///     the writer's thread, before any other closure sees the database without the changes.
  ///   - body: changes the database and doesn't wait for anything: others are behind it.
  /// - Returns: what `body` returns, once its changes are on the disk.
  /// - Throws: what `body` throws, or ``StoreError``: `.busy` if too many closures are queued or
  ///   another process kept the database locked, `.closed` after ``close()``. After an `.ioError`
  ///   and a crash before the next write, the changes may turn out to be there nevertheless.
  public nonisolated(nonsending) func write<Value: Sendable>(
    outcome: (@Sendable (Bool) -> Void)? = nil,
    _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      let job = unsafe Operation(body, continuation, outcome: outcome)
      do throws(StoreError) {
        try writes.append(job)
      } catch {
        meter.record { $0.writesRefused += 1 }
        job.fail(error)
        job.finish()
      }
    }
  }

  /// Reads the database, in the state that it has when the closure first asks.
  ///
  /// - Parameter body: runs on a reader's thread, at most once; it sees all that was committed
  ///   before, and no change while it runs.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, or ``StoreError``: `.busy` if too many closures are queued,
  ///   `.closed` after ``close()``, `.readOnly` if `body` tries to write.
  public nonisolated(nonsending) func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Snapshot) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      let job = unsafe Operation(body, continuation)
      do throws(StoreError) {
        try reads.append(job)
      } catch {
        job.fail(error)
        job.finish()
      }
    }
  }

  /// Commits what is queued, empties the write-ahead log, and ends the threads.
  ///
  /// May be called more than once: each call returns when all is done. Later calls of `write` and
  /// `read` throw `.closed`.
  public nonisolated(nonsending) func close() async {
    reads.close()
    writes.close()
    await closed.value
    // It has nothing left to do but to return.
    thread.join()
  }

  /// What the store has done so far.
  public var statistics: StoreStatistics {
    var statistics = meter.statistics
    statistics.queuedWrites = writes.count
    statistics.queuedReads = reads.count
    return statistics
  }
}
