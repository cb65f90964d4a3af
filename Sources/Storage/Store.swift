internal import Synchronization
internal import Platform

/// A database: a file of SQLite's with one writer and several readers, or one of PostgreSQL's that other processes share.
///
/// When `write` returns, its changes are durable. The callers' threads never touch the disk or the network. After an error
/// with ``StoreError/isUnavailable`` no restart is needed: the next call tries again.
///
/// A task that is cancelled while it waits goes on waiting for the outcome. Its closure runs, and is committed or not, as
/// if the task had not been cancelled.
@safe package final class Store: Sendable {
  let work: StoreWork
  /// The newest migration of each owner that the program knows.
  let newestMigrations: [String: Int]
  /// True if other processes may use the database at the same time, so that nothing of it may be kept in memory alone.
  ///
  /// Otherwise the queued writes run one after the other, in the order in which they were queued.
  package let isShared: Bool
  private let closed: Promise<Void>
  private let thread: WorkerThread
  /// The failures for want of room after which there was room again.
  let recoveredFailures = Atomic(0)

  /// Opens a database, and brings its schema up to date.
  ///
  /// - Parameters:
  ///   - location: the file, which is made with mode 0600 if it does not exist, memory, or an empty database of
  ///     PostgreSQL's or one that this program made.
  ///   - migrations: all migrations of all services in the program, switched on or not. A database with another one is
  ///     refused.
  /// - Throws: ``StoreError``: `.incompatibleSchema` for a database of a newer or another program. Or the error of a
  ///   migration.
  package static func open(
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
    let work = StoreWork(limit: configuration.queueLimit)
    let closed = Promise<Void>()
    let engine: any Engine =
      switch location {
      case .file(let path):
        SQLiteEngine(path: path, migrations: migrations, configuration: configuration)
      case .memory:
        SQLiteEngine(path: nil, migrations: migrations, configuration: configuration)
      case .postgreSQL(let address):
        PostgreSQLEngine(address: address, migrations: migrations, configuration: configuration)
      }
    self.work = work
    newestMigrations = Dictionary(migrations.map { ($0.owner, $0.number) }, uniquingKeysWith: max)
    self.closed = closed
    isShared = if case .postgreSQL = location { true } else { false }
    thread = try .start("awd-writer") {
      do {
        try engine.run(work) { opened.fulfill(.success(())) }
      } catch { opened.fulfill(.failure(error)) }
      // `run` has closed all connections.
      closed.fulfill(())
    }
  }

  deinit {
    // Without `close()`, queued writes are still committed, but nobody waits for them.
    work.close()
  }

  /// Changes the database.
  ///
  /// On SQLite the closure runs in one transaction with others that were queued at the same time, but isolated from their
  /// failures; on PostgreSQL it has a transaction to itself, beside others. If it throws, or the store fails, none of its
  /// changes stay. Its turn is that of ``WorkOwner/current``.
  ///
  /// It may run more than once, each time in a new transaction: on SQLite because another closure of its transaction failed,
  /// on PostgreSQL because others can change what it has read, and the connection can be lost. So it must change nothing but
  /// rows of the database.
  ///
  /// - Parameters:
  ///   - isolation: the way in which the transaction is kept apart from those that run at the same time.
  ///   - outcome: receives true when the changes are on the disk, or false when they are undone or it is unknown, if `body`
  ///     has run. On PostgreSQL it is called once, after the last try. It serves caches of the database: on SQLite it runs on
  ///     the writer's thread, before any other closure sees the database without the changes, also before `body` runs again.
  ///   - body: changes the database. It must not wait for anything, as others wait behind it.
  /// - Returns: the closure's result, once its changes are on the disk.
  /// - Throws: the closure's error, or ``StoreError``: `.busy` if too many closures are queued or others keep the
  ///   database or its rows locked, `.closed` after ``close()``. After `.unknown`, and after an `.ioError` and a crash
  ///   before the next write, the changes may exist nevertheless.
  package nonisolated(nonsending) func write<Value: Sendable>(
    isolation: Isolation = .serializable, outcome: (@Sendable (Bool) -> Void)? = nil,
    _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
  ) async throws -> Value {
    // Unsafe, as a worker runs every job and finishes each exactly once.
    try await unsafe withUnsafeThrowingContinuation { continuation in
      Self.queue(
        Operation(body, isolation: isolation, outcome: outcome) {
          unsafe continuation.resume(with: $0)
        }, in: work, for: .current)
    }
  }

  /// Changes this node's row among the nodes, on a connection of PostgreSQL's that is for nothing else.
  nonisolated(nonsending) func writeHeartbeat<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      _ = Self.queue(
        Operation(body, isolation: .rowLocks) { unsafe continuation.resume(with: $0) },
        in: work.heartbeats, for: nil)
    }
  }

  /// Changes the database in several steps, in order, between which others get their turns.
  ///
  /// Each step is like a closure of ``write(isolation:outcome:_:)``, and is committed or not by itself.
  ///
  /// - Parameters:
  ///   - steps: the closures, each of which should take some milliseconds at most.
  ///   - isolation: the way in which each step's transaction is kept apart from others.
  ///   - outcome: called for each step that has run.
  /// - Returns: the results, in order, once the changes of all steps are on the disk.
  package nonisolated(nonsending) func write<Value: Sendable>(
    steps: [@Sendable (borrowing Transaction) throws -> Value],
    isolation: Isolation = .serializable, outcome: (@Sendable (Bool) -> Void)? = nil
  ) async -> [Result<Value, any Error>] {
    let promises = steps.map { _ in Promise<Result<Value, any Error>>() }
    let work = work
    let isShared = isShared
    let owner = WorkOwner.current
    // Where the queue doesn't keep the order, each step is queued when the one before has its result.
    @Sendable func queue(_ index: Int) {
      let operation = Operation(steps[index], isolation: isolation, outcome: outcome) { result in
        promises[index].fulfill(result)
        if isShared, index + 1 < steps.count { queue(index + 1) }
      }
      Self.queue(operation, in: work, for: owner)
    }
    for index in isShared ? steps.indices.prefix(1) : steps.indices { queue(index) }
    var results: [Result<Value, any Error>] = []
    for promise in promises { results.append(await promise.value) }
    return results
  }

  private static func queue(_ job: Job<Transaction>, in work: StoreWork, for owner: WorkOwner?) {
    let refused = queue(job, in: job.kind == nil ? work.writes : work.batches, for: owner)
    if refused { work.recorder.record { $0.writesRefused += 1 } }
  }

  /// Adds a job to a queue, and ends the one that has no place.
  ///
  /// - Returns: whether one had no place.
  private static func queue<Context: ~Copyable>(
    _ job: Job<Context>, in jobs: JobQueue<Job<Context>>, for owner: WorkOwner?
  ) -> Bool {
    do throws(StoreError) {
      guard let refused = try jobs.append(job, for: owner) else { return false }
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
  /// - Parameters:
  ///   - isOneQuery: whether the closure is one query. It sees one state of the database by itself, and PostgreSQL isn't told
  ///     to begin and end a transaction for it.
  ///   - body: sees everything that was committed before, and no change while it runs. Like one that writes, it may run more
  ///     than once.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error, or ``StoreError``: `.busy` if too many closures are queued, `.closed` after
  ///   ``close()``, `.readOnly` if the closure tries to write.
  package nonisolated(nonsending) func read<Value: Sendable>(
    isOneQuery: Bool = false, _ body: @escaping @Sendable (borrowing Snapshot) throws -> Value
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      _ = Self.queue(
        Operation(body, isolation: isOneQuery ? nil : .serializable) {
          unsafe continuation.resume(with: $0)
        }, in: work.reads, for: .current)
    }
  }

  /// Does one of the operations that many ask for alike. Its turn is that of ``WorkOwner/current``.
  ///
  /// - Returns: the output, once the changes are on the disk.
  /// - Throws: the operation's error, or ``StoreError`` as ``write(isolation:outcome:_:)`` does.
  package nonisolated(nonsending) func perform<Operation: BatchOperation>(
    _ input: Operation.Input, by operation: Operation.Type
  ) async throws -> Operation.Output {
    guard isShared else { return try await write { try operation.run(input, $0) } }
    return try await unsafe withUnsafeThrowingContinuation { continuation in
      Self.queue(unsafe BatchJob<Operation>(input, continuation), in: work, for: .current)
    }
  }

  /// Commits the queued writes, empties SQLite's write-ahead log, and ends the threads.
  ///
  /// It may be called more than once. Each call returns when everything is done. Later calls of `write` and `read` throw
  /// `.closed`.
  package nonisolated(nonsending) func close() async {
    work.close()
    await closed.value
    // The thread has nothing left to do but to return.
    thread.join()
  }

  /// The statistics of the store since it was opened.
  package var statistics: StoreStatistics {
    var statistics = work.recorder.statistics
    statistics.queuedWrites = work.writes.count + work.batches.count
    statistics.queuedReads = work.reads.count
    statistics.writesWaiting = max(work.writes.waitingTime, work.batches.waitingTime)
    statistics.readsWaiting = work.reads.waitingTime
    return statistics
  }
}

extension WorkerThread {
  /// Starts a thread of a store.
  static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(StoreError) -> WorkerThread {
    do throws(SystemError) { return try WorkerThread(named: name, body) } catch {
      throw StoreError(.busy, "the system has no room for a thread of the store")
    }
  }
}
