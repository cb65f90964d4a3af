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

    mutating func next(atMost most: Int) -> [Job] {
      var taken: [Job] = []
      while taken.count < most, let job = jobs.popFirst() { taken.append(job) }
      return taken
    }
  }

  private let state: Monitor<State>

  init(limit: Int) { state = Monitor(State(jobs: JobTurns(limit: limit))) }

  /// The number of jobs that wait for a worker.
  var count: Int { state.withLock { $0.jobs.count } }

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

/// The jobs that wait, in the order of their turns: first among clients, then among the accounts of each.
struct JobTurns<Job> {
  private enum Turn {
    case client(Int)
    /// A job without an owner.
    case job(Job)
  }

  private let limit: Int
  private var clients: [Int: FairQueue<Int, Job>] = [:]
  private var turns = FIFO<Turn>()
  /// The number of jobs that wait.
  private(set) var count = 0

  /// - Parameter limit: the number of jobs that may wait.
  init(limit: Int) { self.limit = limit }

  /// Adds a job behind the others of its owner.
  ///
  /// - Returns: the job that has no place, or nil if there was room: the last one of the largest owner, or this one.
  mutating func append(_ job: Job, for owner: WorkOwner?) -> Job? {
    let own = owner.flatMap { clients[$0.client]?.count } ?? 0
    var refused: Job?
    if count >= limit, let largest = clients.max(by: { $0.value.count < $1.value.count }),
      largest.value.count > own + 1
    {
      // A client that loses has at least two jobs, so that it keeps its turn.
      refused = clients[largest.key]?.removeLast()
      count -= 1
    }
    let hasRoom = count < limit
    guard let owner else {
      guard hasRoom else { return job }
      turns.append(.job(job))
      count += 1
      return refused
    }
    guard hasRoom || own > 0 else { return job }
    if own == 0 { turns.append(.client(owner.client)) }
    let displaced = clients[owner.client, default: FairQueue(limit: .max)].append(
      job, for: owner.account, hasRoom: hasRoom)
    if displaced == nil { count += 1 }
    return refused ?? displaced
  }

  /// Removes the next job, and returns it; nil if none waits.
  mutating func popFirst() -> Job? {
    switch turns.popFirst() {
    case nil: return nil
    case .job(let job):
      count -= 1
      return job
    case .client(let client):
      guard let index = clients.index(forKey: client), let job = clients.values[index].popFirst()
      else { return nil }
      count -= 1
      if clients.values[index].count == 0 {
        clients.remove(at: index)
      } else {
        turns.append(.client(client))
      }
      return job
    }
  }
}

/// The client, and the account where there is one, for whom the store works.
///
/// Clients take turns, and so do the accounts of one client. What is done for nobody in particular has a turn of its own.
public struct WorkOwner: Sendable, Hashable {
  /// The owner of what the present task writes and reads; nil for nobody.
  @TaskLocal public static var current: WorkOwner?

  @usableFromInline let client: Int
  @usableFromInline let account: Int

  /// Makes an owner, or nil if there is neither a client nor an account.
  ///
  /// - Parameters:
  ///   - client: the network that the client is in, or nil if it has none.
  ///   - account: the account, or something that only this work has; nil if all work for the client is done in order.
  @inlinable
  public init?(client: (some Hashable)?, account: (some Hashable)? = Int?.none) {
    guard let hash = client?.hashValue ?? account?.hashValue else { return nil }
    self.client = hash
    self.account = account?.hashValue ?? 0
  }
}
