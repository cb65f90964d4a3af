internal import HTTPProtocol
internal import ServiceKit

/// Lets only so much work be done at once; a few more may wait, all others are turned away.
actor WorkQueue {
  private let width: Int
  private let room: Int
  private let excuse: String
  private var running = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// An empty queue.
  ///
  /// - Parameters:
  ///   - width: how many are at work at once.
  ///   - room: how many more may wait.
  ///   - excuse: what whoever is turned away is told.
  init(width: Int, room: Int, excuse: String) {
    self.width = width
    self.room = room
    self.excuse = excuse
  }

  /// Does a piece of work on a thread of its own, when its turn has come.
  ///
  /// - Parameter work: may block.
  /// - Returns: what the work returns.
  /// - Throws: ``HTTPError``, 503, where too many are waiting; what the work throws; ``SystemError``
  ///   without room for a thread.
  func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    if running < width {
      running += 1
    } else {
      guard waiting.count < room else {
        throw HTTPError(.serviceUnavailable, excuse, retryAfter: 1)
      }
      // Whoever ends hands the place over, so the count stays.
      await withCheckedContinuation { waiting.append($0) }
    }
    defer {
      if waiting.isEmpty { running -= 1 } else { waiting.removeFirst().resume() }
    }
    return try await WorkerThreads.run(work)
  }
}
