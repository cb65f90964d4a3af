internal import Observability

/// The loop of the thread that writes. It commits the queued closures in groups.
struct SQLiteWriter: ~Copyable {
  /// The number of jobs that are taken at once: those that are taken don't wait for the turns of others any more.
  private static let turn = 4

  private let connection: SQLiteConnection
  private let queue: JobQueue<Job<Transaction>>
  private let longestTransaction: Duration
  private let recorder: StatisticsRecorder
  private let checkpointer: Checkpointer
  private let clock = ContinuousClock()
  private var target: GroupTarget
  private var checkpoints = CheckpointPlan()

  init(
    _ connection: SQLiteConnection, queue: JobQueue<Job<Transaction>>,
    configuration: StoreConfiguration, recorder: StatisticsRecorder, checkpointer: Checkpointer
  ) {
    self.connection = connection
    self.queue = queue
    self.checkpointer = checkpointer
    target = GroupTarget(limit: configuration.groupLimit)
    longestTransaction = configuration.longestTransaction
    self.recorder = recorder
  }

  /// Commits groups until the queue is closed and empty.
  mutating func run() {
    while true {
      let start = clock.now
      let jobs = queue.take(atMost: min(Self.turn, target.limit))
      guard !jobs.isEmpty else { return }
      target.noteIdle(clock.now - start)
      commit(jobs)
      checkpointIfDue()
    }
  }

  /// Runs jobs in one transaction, commits it, and only then finishes them.
  ///
  /// A failure of the whole transaction fails the jobs that ran in it. The others get another transaction.
  private mutating func commit(_ jobs: [Job<Transaction>]) {
    var waiting = jobs[...]
    repeat {
      var ran: [Job<Transaction>] = []
      var failure: StoreError?
      var duration: Duration?
      let beginning = clock.now
      do throws(StoreError) {
        try begin()
        try run(&waiting, &ran)
        // If all have failed by themselves, nothing is left to commit.
        if ran.contains(where: { $0.failure == nil }) {
          let start = clock.now
          try connection.control("COMMIT")
          duration = clock.now - start
        } else {
          connection.rollBack()
        }
      } catch {
        connection.rollBack()
        failure = error
        if ran.isEmpty {
          ran = Array(waiting)
          waiting = []
        }
        for job in ran where job.failure == nil { job.fail(error) }
      }
      // Before the tasks are resumed, as they may be back at once.
      target.noteGroup(
        committedIn: duration, expected: ran.count + waiting.count + queue.count)
      record(ran, failure: failure, duration: duration, sinceBegin: clock.now - beginning)
      for job in ran { job.finish() }
    } while !waiting.isEmpty
  }

  private func begin() throws(StoreError) {
    // A transaction that could not be rolled back after its failure.
    connection.rollBack()
    try connection.control("BEGIN IMMEDIATE")
  }

  /// Runs the jobs that wait, and those that come meanwhile, until the group is large or old enough.
  ///
  /// - Parameters:
  ///   - waiting: the jobs to run, each of which is removed before it runs.
  ///   - ran: takes the jobs that ran.
  private mutating func run(
    _ waiting: inout ArraySlice<Job<Transaction>>, _ ran: inout [Job<Transaction>]
  ) throws(StoreError) {
    let deadline = clock.now + longestTransaction
    let isAlone = waiting.count == 1 && target.isSingle
    while true {
      while let job = waiting.popFirst() {
        ran.append(job)
        try run(job, alone: isAlone)
        if clock.now >= deadline { return }
      }
      // Without a savepoint it can't share the transaction.
      guard !isAlone, ran.count < target.most else { return }
      waiting = queue.takeReady(atMost: min(Self.turn, target.most - ran.count))[...]
      guard waiting.isEmpty else { continue }
      // Tasks that the last group resumed often write again at once. Without this wait, the first of them would have a
      // commit of its own, and the others would wait for two.
      let missing = target.count - ran.count
      guard missing > 0 else { return }
      let start = clock.now
      waiting = queue.poll(atMost: missing, within: target.patience)[...]
      target.noteIdle(clock.now - start)
      if waiting.isEmpty { return }
    }
  }

  /// Runs one job such that its failure undoes its own changes only.
  ///
  /// - Throws: the failure of the whole transaction.
  private func run(_ job: Job<Transaction>, alone: Bool) throws(StoreError) {
    if !alone { try connection.control("SAVEPOINT job") }
    job.run(in: Transaction(connection))
    // Caches of the database are to know before another job runs.
    if let failure = job.failure { job.fail(failure) }
    // After a full disk or an I/O error, SQLite may have rolled back everything.
    guard connection.isInTransaction else {
      throw job.failure as? StoreError
        ?? StoreError(.ioError, "SQLite has rolled back the transaction")
    }
    // A deferred foreign key would otherwise make the COMMIT fail, and with it the whole group.
    if job.failure == nil, connection.hasBrokenForeignKeys {
      job.fail(StoreError(.constraint(.foreignKey), "FOREIGN KEY constraint failed"))
    }
    guard !alone else { return }
    if job.failure != nil { try connection.control("ROLLBACK TO job") }
    try connection.control("RELEASE job")
  }

  private mutating func record(
    _ jobs: [Job<Transaction>], failure: StoreError?, duration: Duration?, sinceBegin: Duration
  ) {
    let failed = jobs.count { $0.failure != nil }
    recorder.record { statistics in
      statistics.writesCommitted += jobs.count - failed
      statistics.writesFailed += failed
      statistics.walPages = connection.walPages
      let seconds = sinceBegin / .seconds(1)
      statistics.transactionSeconds.record(seconds)
      statistics.longestTransactionSeconds = max(statistics.longestTransactionSeconds, seconds)
      if failure != nil { statistics.groupsFailed += 1 }
      if let duration {
        statistics.groupsCommitted += 1
        statistics.groupSize.record(Double(jobs.count - failed))
        statistics.commitSeconds.record(duration / .seconds(1))
      }
    }
  }

  /// Copies the write-ahead log into the database when it has grown enough.
  ///
  /// SQLite would do this within COMMIT, and the tasks that wait for the commit would wait for this too. It waits for no
  /// reader.
  private mutating func checkpointIfDue() {
    switch checkpoints.step(
      atLength: connection.walPages, isCopying: checkpointer.isCopying)
    {
    case .begin: checkpointer.begin()
    case .finish:
      checkpointer.wait()
      connection.checkpointOrCount(recorder)
    case nil: break
    }
  }
}
