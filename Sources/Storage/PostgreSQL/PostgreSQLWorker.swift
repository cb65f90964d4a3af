internal import Glibc
internal import Observability
internal import Platform

/// Threads of PostgreSQL's that run the jobs of one queue, each on a connection of its own.
struct WorkerPool<Context: ~Copyable>: Sendable {
  let name: String
  let queue: JobQueue<Job<Context>>
  /// True if each job sees one state of the database, and changes nothing.
  var isReading = false
  /// The number of jobs that are removed from the queue at once.
  var limit = 1
  let recorder: StatisticsRecorder
  /// The fence that keeps the threads from writing at times, or nil.
  var fence: Fence?
  // Apart for each pool, as idle readers don't notice that their connections are lost.
  let availability = Availability()
  let connect: @Sendable () throws(StoreError) -> PostgreSQLConnection
  let context: @Sendable (DatabaseConnection) -> Context

  /// Starts the threads, the first of which has the given connection.
  func start(
    _ count: Int, with connection: PostgreSQLConnection, _ threads: inout [WorkerThread]
  ) throws(StoreError) {
    for index in 0..<count {
      threads.append(
        try .start(name) {
          var worker = PostgreSQLWorker(self, index == 0 ? connection : nil)
          worker.run()
        })
    }
  }
}

/// A thread's work on PostgreSQL: jobs of one queue, one after the other, each in a transaction on the same connection.
struct PostgreSQLWorker<Context: ~Copyable>: ~Copyable {
  /// The longest time to wait for more tasks, as a call may take long for other reasons.
  private static var longestWait: Duration { .milliseconds(2) }

  /// The time that a call waits for a lock, before those of its inputs that don't need it are done without it; longer than
  /// most calls take.
  static var lockPatience: Duration { .milliseconds(25) }
  /// The time after which statements are planned anew. A plan that was made for an empty table is kept otherwise, until the
  /// server has counted the table's rows, which may take it a minute.
  private static var planAge: Duration { .seconds(2) }
  /// The time in which others may end what they do with a row, before it is tried again.
  private static var lockPause: Duration { .milliseconds(5) }

  private let pool: WorkerPool<Context>
  private let clock = ContinuousClock()
  private var connection: PostgreSQLConnection?
  private var plannedAt: ContinuousClock.Instant
  /// The number of tasks that may ask next: those of the last call, and those that were queued behind it.
  private var expected = 1
  /// The time to wait for them.
  private var patience = Duration.zero
  /// Calls that need rows which others keep locked, in order.
  private var locked: [Job<Context>] = []

  init(_ pool: WorkerPool<Context>, _ connection: PostgreSQLConnection?) {
    self.pool = pool
    self.connection = connection
    plannedAt = clock.now
    if connection != nil { pool.availability.connected() }
  }

  /// Runs jobs until the queue is closed and empty.
  mutating func run() {
    var tries = 0
    while true {
      do throws(StoreError) {
        _ = try connected()
        tries = 0
        let jobs = nextJobs()
        guard !jobs.isEmpty || !locked.isEmpty else { break }
        let start = clock.now
        for job in joined(jobs) { run(job) }
        runLocked()
        patience = min((clock.now - start) / 4, Self.longestWait)
        expected = jobs.count + pool.queue.count
      } catch {
        tries += 1
        let isClosed = pool.queue.isClosed
        // The jobs are left to workers with a connection, if there is one or will soon be.
        if let time = pool.availability.failed(), time > Retries.patience || isClosed {
          let waiting = exchange(&locked, with: []) + pool.queue.ready(atMost: .max)
          for job in waiting { fail(job, error) }
        }
        if isClosed { break }
        sleep(Retries.pause(beforeConnecting: tries))
      }
    }
    disconnect()
  }

  /// Waits for jobs, and a little longer for as many as there were last time: tasks that were just resumed often ask again
  /// at once, and a call for few of them takes nearly as long as one for all.
  private func nextJobs() -> [Job<Context>] {
    guard locked.isEmpty else { return pool.queue.poll(atMost: pool.limit, within: Self.lockPause) }
    let jobs = pool.queue.next(atMost: pool.limit)
    let missing = min(expected, pool.limit) - jobs.count
    guard !jobs.isEmpty, missing > 0 else { return jobs }
    return jobs + pool.queue.poll(atMost: missing, within: patience)
  }

  /// Tries calls again until one has to wait still.
  private mutating func runLocked() {
    var rest = exchange(&locked, with: [])[...]
    while locked.isEmpty, let job = rest.popFirst() { run(job) }
    locked += rest
  }

  /// Makes one job of those that can be one, as far as it doesn't get too large.
  private func joined(_ jobs: [Job<Context>]) -> [Job<Context>] {
    Dictionary(grouping: jobs, by: \.kind).flatMap { kind, jobs in
      guard kind != nil else { return jobs }
      var joined: [Job<Context>] = []
      var rest = jobs[...]
      while let first = rest.first {
        var size = 0
        let fitting = rest.prefix { job in
          size += job.size
          return job === first || size <= pool.limit
        }
        rest = rest.dropFirst(fitting.count)
        joined.append(first.joined(Array(fitting)))
      }
      return joined
    }
  }

  /// Runs a job, again where that can help, and finishes it.
  private mutating func run(_ job: Job<Context>) {
    var retries = Retries()
    let start = job.begun ?? clock.now
    job.begun = start
    while true {
      let beginning = clock.now
      do throws(StoreError) {
        let commit = try attempt(job)
        if let failure = job.failure {
          if runParts(of: job) { return }
          job.fail(failure)
        }
        record(job, commit: commit, sinceBegin: clock.now - beginning)
        return job.finish()
      } catch {
        // The server may have become a standby; the next connection finds the one that isn't.
        let isDemoted = error.sqlState == "25006" && !pool.isReading
        let isLost = connection?.isBroken ?? true || isDemoted
        if isLost { disconnect() }
        if error.sqlState == "55P03", pool.limit > 1 {
          if runParts(of: job) { return }
          if clock.now - start < Retries.patience { return locked.append(job) }
        }
        guard error.code != .unknown,
          let pause = retries.pause(
            after: error, isLost: isLost || error.message == Fence.late.message,
            elapsed: clock.now - start)
        else {
          if error.isUnavailable || !runParts(of: job) { fail(job, error) }
          return
        }
        if ["0A000", "26000"].contains(error.sqlState) { connection?.prepareAnew() }
        pool.recorder.record { $0.retries += 1 }
        sleep(pause)
      }
    }
  }

  /// Runs the smaller jobs that a failed one can be instead, so that not all fail or wait for one's sake.
  ///
  /// - Returns: whether there were any.
  private mutating func runParts(of job: Job<Context>) -> Bool {
    let parts = job.parts
    for part in parts { run(part) }
    return !parts.isEmpty
  }

  /// Runs a job's closure in a transaction, once.
  ///
  /// - Throws: the failure of the database, whatever the closure has made of it; the transaction is undone then, unless
  ///   it is `.unknown`.
  /// - Returns: the time that COMMIT took, or nil if the closure has thrown or has only read.
  private mutating func attempt(_ job: Job<Context>) throws(StoreError) -> Duration? {
    let connection = try connected()
    if let refusal = pool.fence?.refusal { throw refusal }
    if clock.now - plannedAt > Self.planAge {
      try connection.run("DISCARD PLANS")
      plannedAt = clock.now
    }
    defer { connection.rollBack() }
    connection.begin(begin(job.isolation))
    job.run(in: pool.context(connection))
    if let failure = connection.failure { throw failure }
    guard job.failure == nil, !pool.isReading else { return nil }
    return try connection.commit()
  }

  /// Returns the statement that begins a job's transaction, or nil for a job that needs none.
  private func begin(_ isolation: Isolation?) -> StaticString? {
    switch isolation {
    case nil: nil
    case _ where pool.isReading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    case .serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE"
    case .rowLocks: "BEGIN ISOLATION LEVEL READ COMMITTED"
    }
  }

  /// Fails a job with the database's error, or with the one that its closure has made of it.
  private func fail(_ job: Job<Context>, _ error: StoreError) {
    job.fail(error.isUnavailable ? error : job.failure ?? error)
    pool.recorder.record { statistics in
      guard !pool.isReading else { return statistics.reads += 1 }
      statistics.writesFailed += job.count
      statistics.groupsFailed += 1
      if error.code == .full { statistics.groupsWithoutRoom += 1 }
    }
    job.finish()
  }

  private func record(_ job: Job<Context>, commit: Duration?, sinceBegin: Duration) {
    pool.recorder.record { statistics in
      guard !pool.isReading else { return statistics.reads += 1 }
      let (committed, failed) = commit == nil ? (0, job.count) : (job.count, 0)
      statistics.count(committed: committed, failed: failed, in: sinceBegin, commit: commit)
    }
  }

  // MARK: - Connection

  private mutating func connected() throws(StoreError) -> PostgreSQLConnection {
    if let connection { return connection }
    let connection = try pool.connect()
    self.connection = connection
    pool.availability.connected()
    return connection
  }

  private mutating func disconnect() {
    guard connection != nil else { return }
    connection = nil
    pool.availability.lost()
  }

  private func sleep(_ duration: Duration) { usleep(UInt32(clamping: duration.nanoseconds / 1000)) }
}

/// The knowledge of the workers of one queue whether PostgreSQL can be reached.
final class Availability: Sendable {
  private struct State {
    /// The number of workers with a connection.
    var connected = 0
    var isDownSince: ContinuousClock.Instant?
  }

  private let state = Lock(State())

  /// Records that a worker has a connection.
  func connected() {
    state.withLock { state in
      state.connected += 1
      state.isDownSince = nil
    }
  }

  /// Records that a worker has lost its connection.
  func lost() {
    state.withLock { state in
      state.connected -= 1
      if state.connected == 0 { state.isDownSince = .now }
    }
  }

  /// Records that a worker couldn't connect.
  ///
  /// - Returns: the time since the last of all had a connection, or nil if one has.
  func failed() -> Duration? {
    state.withLock { state in
      guard state.connected == 0 else { return nil }
      let start = state.isDownSince ?? .now
      state.isDownSince = start
      return .now - start
    }
  }
}

/// Decides for one job of PostgreSQL's whether what has failed is tried again.
struct Retries {
  /// The time that a job may take with all its tries, and the time that a lost server may take to come back.
  static let patience = Duration.seconds(5)

  private var tries = 0
  private var uniques = 0
  private var preparations = 0

  /// Returns the pause before the next try, or nil if there is none.
  ///
  /// - Parameters:
  ///   - error: the error of the last try, whose COMMIT had no effect.
  ///   - isLost: whether there is no connection any more, or the node is none for now.
  mutating func pause(after error: StoreError, isLost: Bool, elapsed: Duration) -> Duration? {
    tries += 1
    guard elapsed < Self.patience else { return nil }
    if isLost { return Self.pause(beforeConnecting: tries) }
    switch error.sqlState {
    // Others have changed what it had read, or each waits for the other, or one has waited long for a lock.
    case "40001", "40P01", "55P03":
      // Random, so that those who were in each other's way are not so again.
      return .microseconds(Int.random(in: 0...(1000 << min(tries - 1, 6))))
    // Another may have made the same row after the closure had looked for it. Twice it is no coincidence.
    case "23505":
      uniques += 1
      return uniques <= 2 ? .microseconds(Int.random(in: 0...2000)) : nil
    // The tables have changed since the statement was prepared, or another has forgotten it.
    case "0A000", "26000":
      preparations += 1
      return preparations <= 2 ? .zero : nil
    default: return nil
    }
  }

  /// Returns the pause before a connection is tried again.
  static func pause(beforeConnecting tries: Int) -> Duration {
    // Random, so that not all workers of all nodes come back at once.
    .milliseconds(min(20 * tries, 500) * Int.random(in: 50...100) / 100)
  }
}

/// One input of a ``BatchOperation``, for a task that waits for its output.
///
/// It is unchecked for the reason of its base class.
@safe final class BatchJob<Operation: BatchOperation>: Job<Transaction>, @unchecked Sendable {
  fileprivate let input: Operation.Input
  fileprivate var outcome: Result<Operation.Output, any Error>?
  // Unsafe, as a worker runs every job and finishes each exactly once.
  private let continuation: UnsafeContinuation<Operation.Output, any Error>

  init(_ input: Operation.Input, _ continuation: UnsafeContinuation<Operation.Output, any Error>) {
    self.input = input
    unsafe self.continuation = continuation
    super.init(isolation: .rowLocks)
  }

  override var size: Int { Operation.size(of: input) }

  override func joined(_ jobs: [Job<Transaction>]) -> Job<Transaction> {
    BatchGroup(jobs.compactMap { $0 as? BatchJob<Operation> })
  }

  override var kind: ObjectIdentifier? { ObjectIdentifier(Operation.self) }

  override func finish() {
    if let failure {
      unsafe continuation.resume(throwing: failure)
    } else {
      unsafe continuation.resume(with: outcome ?? .failure(StoreError.closed))
    }
  }
}

/// Inputs of one operation that are one call.
///
/// It is unchecked for the reason of its base class.
@safe
private final class BatchGroup<Operation: BatchOperation>:
  Job<Transaction>, @unchecked Sendable
{
  private let jobs: [BatchJob<Operation>]

  init(_ jobs: [BatchJob<Operation>]) {
    self.jobs = jobs
    super.init(isolation: .rowLocks)
  }

  override var count: Int { jobs.count }

  override var parts: [Job<Transaction>] {
    guard jobs.count > 1 else { return [] }
    // So that the one that fails or waits is found in a few steps.
    let size = (jobs.count + 7) / 8
    return stride(from: 0, to: jobs.count, by: size).map { start in
      BatchGroup(Array(jobs[start..<min(start + size, jobs.count)]))
    }
  }

  override func run(in transaction: borrowing Transaction) {
    failure = nil
    for job in jobs { job.outcome = nil }
    do {
      let outcomes = try Operation.run(jobs.map { $0.input }, in: transaction)
      guard outcomes.count == jobs.count else {
        throw StoreError(.unexpectedValue, "a batch has another number of outcomes than of inputs")
      }
      for (job, outcome) in zip(jobs, outcomes) { job.outcome = outcome }
    } catch { failure = error }
  }

  override func fail(_ error: any Error) {
    super.fail(error)
    for job in jobs { job.fail(error) }
  }

  override func finish() { for job in jobs { job.finish() } }
}
