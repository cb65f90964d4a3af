internal import Threading

/// A bounded queue between tasks, which never wait, and worker threads, which do.
final class JobQueue<Job: Sendable>: Sendable {
  private struct State {
    // A queue of two stacks: `incoming` is reversed into `outgoing` when that is empty.
    var incoming: [Job] = []
    var outgoing: [Job] = []
    var isClosed = false
    /// The number of jobs at which a waiting worker is woken.
    var threshold = 1

    var count: Int { incoming.count + outgoing.count }

    mutating func remove(atMost most: Int) -> [Job] {
      if outgoing.isEmpty {
        outgoing = incoming.reversed()
        incoming.removeAll(keepingCapacity: true)
      }
      let taken = outgoing.suffix(most)
      outgoing.removeLast(taken.count)
      return taken.reversed()
    }
  }

  private let limit: Int
  private let state = Monitor(State())

  init(limit: Int) { self.limit = limit }

  /// The number of jobs that no worker has taken yet.
  var count: Int { state.withLock { $0.count } }

  /// Adds a job at the end.
  ///
  /// - Throws: `.busy` if the queue is full, `.closed` after ``close()``.
  func append(_ job: Job) throws(StoreError) {
    let isDue = try state.withLock { state throws(StoreError) in
      if state.isClosed { throw .closed }
      if state.count >= limit { throw StoreError(.busy, "the queue of the store is full") }
      state.incoming.append(job)
      return state.count >= state.threshold
    }
    if isDue { state.wakeOne() }
  }

  /// Waits for a job, and takes those that are there from the front.
  ///
  /// - Parameter most: the largest number of jobs to take.
  /// - Returns: the jobs; none once the queue is closed and empty.
  func take(atMost most: Int) -> [Job] { take(atMost: most, waitingFor: 1, within: nil) }

  /// Waits a short time for a number of jobs, and takes those that are there by then from the front.
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
        return state.isClosed || state.count >= wanted
      }, within: limit
    ) { state in
      state.threshold = 1
      return state.remove(atMost: most)
    }
  }

  /// Refuses new jobs. Those that are queued can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }
}
