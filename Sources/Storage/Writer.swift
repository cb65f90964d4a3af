/// The one thread's loop that writes: it commits what was queued in groups.
struct Writer: ~Copyable {
  /// The growth of the write-ahead log that is worth a checkpoint: with pages of 4 KiB, 8 MiB.
  private static let checkpointPages = 2000

  private let connection: Connection
  private let queue: JobQueue<Job<Transaction>>
  private let groupLimit: Int
  private let longestTransaction: Duration
  private let meter: Meter
  private let clock = ContinuousClock()
  /// What a commit costs, smoothed, in nanoseconds.
  private var commitCost = 0
  /// How many tasks may want to write next: those of the last group, and those that were queued
  /// behind it.
  private var expected = 1
  private var pagesAtCheckpoint = 0

  init(
    _ connection: Connection, queue: JobQueue<Job<Transaction>>,
    configuration: StoreConfiguration, meter: Meter
  ) {
    self.connection = connection
    self.queue = queue
    groupLimit = configuration.groupLimit
    longestTransaction = configuration.longestTransaction
    self.meter = meter
  }

  /// Commits groups until the queue is closed and empty.
  mutating func run() {
    while true {
      let jobs = queue.take(atMost: groupLimit)
      guard !jobs.isEmpty else { return }
      commit(jobs)
      checkpointIfDue()
    }
  }

  /// Runs jobs in one transaction, commits it, and only then finishes them.
  ///
  /// A failure that takes the transaction along fails those jobs that ran in it; those that did
  /// not run yet get another transaction.
  private mutating func commit(_ jobs: [Job<Transaction>]) {
    var waiting = jobs[...]
    repeat {
      var ran: [Job<Transaction>] = []
      var failure: StoreError?
      var duration: Duration?
      do throws(StoreError) {
        try begin()
        try run(&waiting, &ran)
        // When all have failed by themselves, nothing is left to commit.
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
      // Asked before they are resumed: they may be back at once.
      expected = ran.count + waiting.count + queue.count
      record(ran, failure: failure, duration: duration)
      for job in ran { job.finish() }
    } while !waiting.isEmpty
  }

  private func begin() throws(StoreError) {
    // A transaction that could not be rolled back after its failure.
    connection.rollBack()
    try connection.control("BEGIN IMMEDIATE")
  }

  /// Runs the jobs that wait, and those that come in the meantime, until the group is large or old
  /// enough.
  ///
  /// - Parameters:
  ///   - waiting: loses each job before that runs.
  ///   - ran: gets it.
  private func run(
    _ waiting: inout ArraySlice<Job<Transaction>>, _ ran: inout [Job<Transaction>]
  ) throws(StoreError) {
    let deadline = clock.now + longestTransaction
    let isAlone = waiting.count == 1 && expected == 1
    while true {
      while let job = waiting.popFirst() {
        ran.append(job)
        try run(job, alone: isAlone)
        if clock.now >= deadline { return }
      }
      // Those whom the last group made go on often come straight back. Without this wait, the first
      // of them would have a commit to themselves, and the others would wait for two.
      let missing = min(expected, groupLimit) - ran.count
      guard missing > 0 else { return }
      waiting = queue.poll(atMost: missing, patience: commitCost / 4)[...]
      if waiting.isEmpty { return }
    }
  }

  /// Runs one job such that its failure undoes its own changes only.
  ///
  /// - Throws: what took the whole transaction along.
  private func run(_ job: Job<Transaction>, alone: Bool) throws(StoreError) {
    if !alone { try connection.control("SAVEPOINT job") }
    job.run(in: Transaction(connection))
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
    _ jobs: [Job<Transaction>], failure: StoreError?, duration: Duration?
  ) {
    let failed = jobs.count { $0.failure != nil }
    if let duration {
      commitCost = (commitCost * 7 + Int(duration / .nanoseconds(1))) / 8
    }
    meter.record { statistics in
      statistics.writesCommitted += jobs.count - failed
      statistics.writesFailed += failed
      statistics.walPages = connection.walPages
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
  /// Here and not in COMMIT, where SQLite would do it, so that those who wait for the commit don't
  /// wait for this too. And not on a thread of its own: only while nobody writes can a checkpoint
  /// reach the log's end, after which the next commit starts the log anew; beside a busy writer
  /// the log would grow without bound. A passive checkpoint waits for no reader.
  private mutating func checkpointIfDue() {
    let pages = connection.walPages
    // The log was started anew.
    if pages < pagesAtCheckpoint { pagesAtCheckpoint = 0 }
    guard pages - pagesAtCheckpoint >= Self.checkpointPages else { return }
    pagesAtCheckpoint = pages
    do throws(StoreError) {
      try connection.checkpoint()
    } catch {
      // What was committed is safe in the log.
      meter.record { $0.checkpointsFailed += 1 }
    }
  }
}
