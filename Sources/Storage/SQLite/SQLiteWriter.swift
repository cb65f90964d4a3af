/// The loop of the thread that writes. It commits the queued closures in groups.
struct SQLiteWriter: ~Copyable {
  /// The number of jobs that are taken at once: those that are taken don't wait for the turns of others any more.
  private static let turn = 4

  let connection: SQLiteConnection
  let work: StoreWork
  let checkpointer: Checkpointer
  let longestTransaction: Duration
  var target: GroupTarget
  let clock = ContinuousClock()
  var checkpoints = CheckpointPlan()

  /// Commits groups until the queue is closed and empty.
  mutating func run() {
    while true {
      let start = clock.now
      let jobs = work.writes.next(atMost: min(Self.turn, target.limit))
      guard !jobs.isEmpty else { return }
      target.recordIdle(clock.now - start)
      commit(jobs)
      checkpointIfDue()
    }
  }

  /// Runs jobs in one transaction, commits it, and only then finishes them.
  ///
  /// A failure of the whole transaction fails the jobs that ran in it. The others get another transaction.
  ///
  /// A savepoint for each job costs a copy of each page that the job changes, and few jobs fail once they have changed
  /// something. So all run without one at first; when one fails in that way, all are undone and run again with savepoints,
  /// so that only the failing job fails.
  private mutating func commit(_ jobs: [Job<Transaction>]) {
    var waiting = jobs[...]
    var hasSavepoints = false
    repeat {
      var ran: [Job<Transaction>] = []
      var failure: StoreError?
      var duration: Duration?
      let beginning = clock.now
      do throws(StoreError) {
        try begin()
        guard try run(&waiting, &ran, withSavepoints: hasSavepoints) else {
          connection.rollBack()
          for job in ran { job.undo() }
          work.recorder.record { $0.retries += ran.count }
          waiting = (ran + waiting)[...]
          hasSavepoints = true
          continue
        }
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
      target.recordGroup(
        committedIn: duration, expected: ran.count + waiting.count + work.writes.count)
      record(ran, failure: failure, duration: duration, sinceBegin: clock.now - beginning)
      for job in ran { job.finish() }
      hasSavepoints = false
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
  ///   - waiting: the jobs to run; each is removed before it runs.
  ///   - ran: takes the jobs that ran.
  ///   - hasSavepoints: whether each job has a savepoint.
  /// - Returns: false if all that ran are to be undone, because one that failed has changed something.
  private mutating func run(
    _ waiting: inout ArraySlice<Job<Transaction>>, _ ran: inout [Job<Transaction>],
    withSavepoints hasSavepoints: Bool
  ) throws(StoreError) -> Bool {
    let deadline = clock.now + longestTransaction
    let isAlone = waiting.count == 1 && target.isSingle
    while true {
      while let job = waiting.popFirst() {
        ran.append(job)
        guard try run(job, withSavepoint: hasSavepoints) else {
          // The end of the transaction undoes the only job, too.
          guard ran.count == 1, let failure = job.failure else { return false }
          job.fail(failure)
          return true
        }
        if clock.now >= deadline { return true }
      }
      // The job of the only task that writes is committed at once.
      guard !isAlone, ran.count < target.most else { return true }
      waiting = work.writes.ready(atMost: min(Self.turn, target.most - ran.count))[...]
      guard waiting.isEmpty else { continue }
      // Tasks that the last group resumed often write again at once. Without this wait, the first of them would have a
      // commit of its own, and the others would wait for two.
      let missing = target.count - ran.count
      guard missing > 0 else { return true }
      let start = clock.now
      waiting = work.writes.poll(atMost: missing, within: target.patience)[...]
      target.recordIdle(clock.now - start)
      if waiting.isEmpty { return true }
    }
  }

  /// Runs one job.
  ///
  /// - Returns: whether nothing is left of its changes if it has failed.
  /// - Throws: the failure of the whole transaction.
  private func run(
    _ job: Job<Transaction>, withSavepoint hasSavepoint: Bool
  ) throws(StoreError) -> Bool {
    let changes = connection.allChanges
    if hasSavepoint { try connection.control("SAVEPOINT job") }
    job.run(in: Transaction(connection))
    // After a full disk or an I/O error, SQLite may have rolled back everything.
    guard connection.isInTransaction else {
      let failure =
        job.failure as? StoreError
        ?? StoreError(.ioError, "SQLite has rolled back the transaction")
      job.fail(job.failure ?? failure)
      throw failure
    }
    // A deferred foreign key would otherwise make the COMMIT fail, and with it the whole group.
    if job.failure == nil, connection.hasBrokenForeignKeys {
      job.failure = StoreError(.constraint(.foreignKey), "FOREIGN KEY constraint failed")
    }
    guard hasSavepoint || job.failure == nil || connection.allChanges == changes else {
      return false
    }
    // Caches of the database are to know before another job runs.
    if let failure = job.failure { job.fail(failure) }
    guard hasSavepoint else { return true }
    if job.failure != nil { try connection.control("ROLLBACK TO job") }
    try connection.control("RELEASE job")
    return true
  }

  private mutating func record(
    _ jobs: [Job<Transaction>], failure: StoreError?, duration: Duration?, sinceBegin: Duration
  ) {
    let failed = jobs.count { $0.failure != nil }
    work.recorder.record { statistics in
      statistics.count(
        committed: jobs.count - failed, failed: failed, in: sinceBegin, commit: duration)
      statistics.walPages = connection.walPages
      if failure != nil { statistics.groupsFailed += 1 }
    }
  }

  /// Copies the write-ahead log into the database when it has grown enough.
  ///
  /// SQLite would do this within COMMIT, and the tasks that wait for the commit would wait for this too. It waits for no
  /// reader.
  private mutating func checkpointIfDue() {
    switch checkpoints.step(atLength: connection.walPages, isCopying: checkpointer.isCopying)
    {
    case .begin: checkpointer.begin()
    case .finish:
      checkpointer.wait()
      connection.checkpointOrCount(work.recorder)
    case nil: break
    }
  }
}

/// Decides how many jobs share the next commit.
///
/// The tasks that wait for one commit often write again at once, so that a group waits a little for all that are expected.
/// But if all of them share a commit, the writer has nothing to do until they have been answered and are back. With two
/// groups in turn, the tasks of one are answered while the other is written and on its way to the disk. That takes a second
/// commit, which pays if it takes less than the time without work.
///
/// With one processor the writer has nothing to do as long as others use that. Each further commit takes from them, so that
/// groups stay whole, and wait longer for those who are expected.
struct GroupTarget {
  /// The number of smaller groups after which all expected tasks are tried in one again.
  private static let halvedGroups = 64

  /// The largest number of jobs in a group.
  let limit: Int
  private let hasOneProcessor: Bool
  /// The number of tasks that may write next: those of the last group, and those that were queued behind it.
  private var expected = 1
  /// The smoothed duration of a commit.
  private var commitCost = Duration.zero
  /// The time for which the writer has waited for jobs since the last group.
  private var idle = Duration.zero
  private var halvedGroupsLeft = 0

  /// - Parameter processors: the number of processors that the writer and the tasks share.
  init(limit: Int, processors: Int) {
    self.limit = limit
    hasOneProcessor = processors == 1
  }

  /// True if one task writes, and no other is expected.
  var isSingle: Bool { expected == 1 }

  /// True if a group takes half of the expected tasks.
  var isHalved: Bool { halvedGroupsLeft > 0 }

  /// The number of jobs that a group waits for.
  var count: Int { min(isHalved ? (expected + 1) / 2 : expected, limit) }

  /// The number of jobs at which a group takes no more, even if others wait.
  var most: Int { isHalved ? count : limit }

  /// The longest time to wait for further jobs of a group.
  var patience: Duration { hasOneProcessor ? commitCost : commitCost / 4 }

  /// Records the time for which the writer has waited for jobs.
  mutating func recordIdle(_ duration: Duration) {
    // A single task prepares its next job when it has been answered, however it is committed.
    if !isSingle, !hasOneProcessor { idle += duration }
  }

  /// Records the end of a group.
  ///
  /// - Parameters:
  ///   - duration: the duration of the commit, or nil if nothing was committed.
  ///   - expected: the number of jobs that ran, and of those that are queued by now.
  mutating func recordGroup(committedIn duration: Duration?, expected: Int) {
    if let duration { commitCost = (commitCost * 7 + duration) / 8 }
    halvedGroupsLeft = idle > commitCost ? Self.halvedGroups : max(halvedGroupsLeft - 1, 0)
    idle = .zero
    self.expected = expected
  }
}
