internal import Platform

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
