/// A mutual exclusion for tasks, in which owners take turns: of each one task comes before the second of any.
///
/// Waiting tasks hold no thread.
public final class FairMutex<Owner: Hashable & Sendable>: Sendable {
  private struct State {
    var isHeld = false
    var waiting = FairQueue<Owner, CheckedContinuation<Void, Never>>(limit: .max)
  }

  private let state = Lock(State())

  /// The number of tasks that wait.
  public var waiting: Int { state.withLock { $0.waiting.count } }

  /// Makes a mutex that nobody holds.
  public init() {}

  /// Runs a closure while no other one runs.
  ///
  /// - Parameters:
  ///   - owner: the one for whom it is done.
  ///   - body: the critical section. It must not ask for the mutex again.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error.
  public nonisolated(nonsending) func withLock<Value, Failure: Error>(
    for owner: Owner, _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.isHeld else {
          state.isHeld = true
          return true
        }
        _ = state.waiting.append(continuation, for: owner)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { unlock() }
    return try await body()
  }

  private func unlock() {
    let next = state.withLock { state in
      let next = state.waiting.popFirst()
      state.isHeld = next != nil
      return next
    }
    next?.resume()
  }
}
