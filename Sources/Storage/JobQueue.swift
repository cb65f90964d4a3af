internal import Platform

/// A bounded queue between tasks, which never wait, and worker threads, which do.
///
/// Owners take turns: each owner's first job runs before any owner's second one, so that no owner's jobs make those of
/// others wait long.
final class JobQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: JobTurns<Job>
    var isClosed = false
    /// The number of jobs at which a waiting worker is woken.
    var threshold = 1

    mutating func take(atMost most: Int) -> [Job] {
      var taken: [Job] = []
      while taken.count < most, let job = jobs.popFirst() { taken.append(job) }
      return taken
    }
  }

  private let state: Monitor<State>

  init(limit: Int) { state = Monitor(State(jobs: JobTurns(limit: limit))) }

  /// The number of jobs that no worker has taken yet.
  var count: Int { state.withLock { $0.jobs.count } }

  /// True if new jobs are refused.
  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Adds a job behind the others of its owner.
  ///
  /// - Parameters:
  ///   - job: the job.
  ///   - owner: the job's owner, or nil if it has none.
  /// - Returns: the job that has no place, or nil if there was room: this one, or one of the owner with most jobs.
  /// - Throws: `.closed` after ``close()``.
  func append(_ job: Job, for owner: WorkOwner?) throws(StoreError) -> Job? {
    let (isDue, refused) = try state.withLock { state throws(StoreError) in
      if state.isClosed { throw .closed }
      let refused = state.jobs.append(job, for: owner)
      return (state.jobs.count >= state.threshold, refused)
    }
    if isDue { state.wakeOne() }
    return refused
  }

  /// Waits for a job, and takes those that are there, in turn.
  ///
  /// - Parameter most: the largest number of jobs to take.
  /// - Returns: the jobs; none once the queue is closed and empty.
  func take(atMost most: Int) -> [Job] { take(atMost: most, waitingFor: 1, within: nil) }

  /// Takes those jobs that are there, in turn, and waits for none.
  func takeReady(atMost most: Int) -> [Job] { state.withLock { $0.take(atMost: most) } }

  /// Waits a short time for a number of jobs, and takes those that are there by then, in turn.
  ///
  /// - Parameters:
  ///   - most: the number of jobs to wait for, and the largest number to take.
  ///   - patience: the longest time to wait.
  func poll(atMost most: Int, within patience: Duration) -> [Job] {
    take(atMost: most, waitingFor: most, within: patience)
  }

  private func take(atMost most: Int, waitingFor wanted: Int, within limit: Duration?) -> [Job] {
    state.withLock(
      when: { state in
        // One wake-up for a whole group.
        state.threshold = wanted
        return state.isClosed || state.jobs.count >= wanted
      }, within: limit
    ) { state in
      state.threshold = 1
      return state.take(atMost: most)
    }
  }

  /// Refuses new jobs. Those that are queued can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }
}
