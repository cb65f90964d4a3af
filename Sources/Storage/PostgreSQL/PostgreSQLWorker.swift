internal import Glibc
internal import Observability
internal import Platform

/// Threads of PostgreSQL's that run the jobs of one queue, each on a connection of its own.
struct PostgreSQLCrew<Context: ~Copyable>: Sendable {
  let name: String
  let queue: JobQueue<Job<Context>>
  /// True if each job sees one state of the database, and changes nothing.
  var isReading = false
  /// The number of jobs that are taken at once.
  var limit = 1
  let recorder: StatisticsRecorder
  /// The fence that keeps the threads from writing at times, or nil.
  var fence: Fence?
  // Apart for each crew, as idle readers don't notice that their connections are lost.
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
  private static var longestPatience: Duration { .milliseconds(2) }

  /// The time that a call waits for a lock, before those of its inputs that don't need it are done without it; longer than
  /// most calls take.
  static var lockPatience: Duration { .milliseconds(25) }
  /// The time in which others may end what they do with a row, before it is tried again.
  private static var lockPause: Duration { .milliseconds(5) }

  private let crew: PostgreSQLCrew<Context>
  private let clock = ContinuousClock()
  private var connection: PostgreSQLConnection?
  /// The number of tasks that may ask next: those of the last call, and those that were queued behind it.
  private var expected = 1
  /// The time to wait for them.
  private var patience = Duration.zero
  /// Calls that need rows which others keep locked, in order.
  private var locked: [Job<Context>] = []

  init(_ crew: PostgreSQLCrew<Context>, _ connection: PostgreSQLConnection?) {
    (self.crew, self.connection) = (crew, connection)
    if connection != nil { crew.availability.connected() }
  }

  /// Runs jobs until the queue is closed and empty.
  mutating func run() {
    var tries = 0
    while true {
      do throws(StoreError) {
        _ = try connected()
        tries = 0
        let jobs = take()
        guard !jobs.isEmpty || !locked.isEmpty else { break }
        let start = clock.now
        for job in joined(jobs) { run(job) }
        runLocked()
        patience = min((clock.now - start) / 4, Self.longestPatience)
        expected = jobs.count + crew.queue.count
      } catch {
        tries += 1
        let isClosed = crew.queue.isClosed
        // The jobs are left to workers with a connection, if there is one or will soon be.
        if let time = crew.availability.failed(), time > Retries.patience || isClosed {
          let waiting = exchange(&locked, with: []) + crew.queue.takeReady(atMost: .max)
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
  private func take() -> [Job<Context>] {
    guard locked.isEmpty else { return crew.queue.poll(atMost: crew.limit, within: Self.lockPause) }
    let jobs = crew.queue.take(atMost: crew.limit)
    let missing = min(expected, crew.limit) - jobs.count
    guard !jobs.isEmpty, missing > 0 else { return jobs }
    return jobs + crew.queue.poll(atMost: missing, within: patience)
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
          return job === first || size <= crew.limit
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
        let isDemoted = error.sqlState == "25006" && !crew.isReading
        let isLost = connection?.isBroken ?? true || isDemoted
        if isLost { disconnect() }
        if error.sqlState == "55P03", crew.limit > 1 {
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
        crew.recorder.record { $0.retries += 1 }
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
    if let refusal = crew.fence?.refusal { throw refusal }
    defer { connection.rollBack() }
    connection.begin(begin(job.isolation))
    job.run(in: crew.context(connection))
    if let failure = connection.failure { throw failure }
    guard job.failure == nil, !crew.isReading else { return nil }
    return try connection.commit()
  }

  /// Returns the statement that begins a job's transaction, or nil for a job that needs none.
  private func begin(_ isolation: Isolation?) -> StaticString? {
    switch isolation {
    case nil: nil
    case _ where crew.isReading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    case .serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE"
    case .rowLocks: "BEGIN ISOLATION LEVEL READ COMMITTED"
    }
  }

  /// Fails a job with the database's error, or with the one that its closure has made of it.
  private func fail(_ job: Job<Context>, _ error: StoreError) {
    job.fail(error.isUnavailable ? error : job.failure ?? error)
    crew.recorder.record { statistics in
      guard !crew.isReading else { return statistics.reads += 1 }
      statistics.writesFailed += job.count
      statistics.groupsFailed += 1
      if error.code == .full { statistics.groupsWithoutRoom += 1 }
    }
    job.finish()
  }

  private func record(_ job: Job<Context>, commit: Duration?, sinceBegin: Duration) {
    crew.recorder.record { statistics in
      guard !crew.isReading else { return statistics.reads += 1 }
      let (committed, failed) = commit == nil ? (0, job.count) : (job.count, 0)
      statistics.count(committed: committed, failed: failed, in: sinceBegin, commit: commit)
    }
  }

  // MARK: - Connection

  private mutating func connected() throws(StoreError) -> PostgreSQLConnection {
    if let connection { return connection }
    let connection = try crew.connect()
    self.connection = connection
    crew.availability.connected()
    return connection
  }

  private mutating func disconnect() {
    guard connection != nil else { return }
    connection = nil
    crew.availability.lost()
  }

  private func sleep(_ duration: Duration) { usleep(UInt32(clamping: duration.nanoseconds / 1000)) }
}
