internal import Dispatch
internal import Threading

/// Runs what takes a core for a while, a few at once, others waiting in a short queue.
final class PasswordThreads: Sendable {
  private struct State {
    var running = 0
    var waiting: [@Sendable () -> Void] = []
  }

  private let queue = DispatchQueue(label: "passwords", attributes: .concurrent)
  private let threads: Int
  private let queueLimit: Int
  private let state = Lock(State())

  /// No threads yet: they are started when there is work.
  ///
  /// - Parameters:
  ///   - threads: how many pieces of work run at once.
  ///   - queueLimit: how many may wait.
  init(threads: Int, queueLimit: Int) {
    self.threads = max(1, threads)
    self.queueLimit = queueLimit
  }

  /// Runs a closure on one of the threads.
  ///
  /// - Returns: what it returns.
  /// - Throws: ``Busy`` if too many wait, or what it throws.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isTaken = submit { continuation.resume(with: Result(catching: body)) }
      if !isTaken { continuation.resume(throwing: Busy()) }
    }
  }

  /// How many pieces of work wait.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// Too many wait.
  struct Busy: Error {}

  private func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    let (isTaken, startsThread) = state.withLock { state in
      if state.running < threads {
        state.running += 1
        return (true, true)
      }
      guard state.waiting.count < queueLimit else { return (false, false) }
      state.waiting.append(work)
      return (true, false)
    }
    if startsThread {
      queue.async { [self] in
        work()
        while let next = nextOrEnd() { next() }
      }
    }
    return isTaken
  }

  private func nextOrEnd() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.running -= 1
      return nil
    }
  }
}
