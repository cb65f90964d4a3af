internal import Platform

/// A bounded queue between tasks, which never wait, and worker threads, which do.
///
/// Owners take turns, so that nobody's jobs make those of others wait long.
final class JobQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: FairQueue<Job>
    var isClosed = false
    /// The number of jobs at which a waiting worker is woken.
    var threshold = 1
    /// The moment since when jobs have waited and no worker has taken one; nil if none waits.
    var waitingSince: ContinuousClock.Instant?

    mutating func next(atMost most: Int) -> [Job] {
      var taken: [Job] = []
      while taken.count < most, let job = jobs.popFirst() { taken.append(job) }
      waitingSince = jobs.count == 0 ? nil : .now
      return taken
    }
  }

  private let state: Monitor<State>

  init(limit: Int) { state = Monitor(State(jobs: FairQueue(limit: limit))) }

  /// The number of jobs that wait for a worker.
  var count: Int { state.withLock { $0.jobs.count } }

  /// The time for which jobs have waited and no worker has taken one; zero if none waits.
  var waitingTime: Duration {
    state.withLock { state in state.waitingSince.map { .now - $0 } ?? .zero }
  }

  /// True if new jobs are refused.
  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Adds a job behind the others of its owner.
  ///
  /// - Parameter owner: the job's owner, or nil if it has none.
  /// - Returns: the job that has no place, or nil if there was room: this one, or one of the owner with most jobs.
  /// - Throws: `.closed` after ``close()``.
  func append(_ job: Job, for owner: WorkOwner?) throws(StoreError) -> Job? {
    let (isDue, refused) = try state.withLock { state throws(StoreError) in
      if state.isClosed { throw .closed }
      let refused = state.jobs.append(job, for: owner)
      if state.waitingSince == nil { state.waitingSince = .now }
      return (state.jobs.count >= state.threshold, refused)
    }
    if isDue { state.wakeOne() }
    return refused
  }

  /// Waits for a job, and removes those that are there, in turn.
  ///
  /// - Returns: the jobs; none once the queue is closed and empty.
  func next(atMost most: Int) -> [Job] { next(atMost: most, waitingFor: 1, within: nil) }

  /// Takes those jobs that are there, in turn, and waits for none.
  func ready(atMost most: Int) -> [Job] { state.withLock { $0.next(atMost: most) } }

  /// Waits a short time for a number of jobs, and removes those that are there by then, in turn.
  func poll(atMost most: Int, within patience: Duration) -> [Job] {
    next(atMost: most, waitingFor: most, within: patience)
  }

  private func next(atMost most: Int, waitingFor wanted: Int, within limit: Duration?) -> [Job] {
    state.withLock(
      when: { state in
        // One wake-up for a whole group.
        state.threshold = wanted
        return state.isClosed || state.jobs.count >= wanted
      }, within: limit
    ) { state in
      state.threshold = 1
      return state.next(atMost: most)
    }
  }

  /// Refuses new jobs. Those that are queued are still done.
  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }
}
