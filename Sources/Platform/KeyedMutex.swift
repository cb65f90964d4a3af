/// A mutual exclusion for each key, for tasks: critical sections of one key run one after the other, those of different
/// keys at once.
///
/// The owners of waiting tasks take turns, and those of one owner come in the order of their calls. They hold no thread
/// meanwhile.
package final class KeyedMutex<Key: Hashable & Sendable>: Sendable {
  /// The tasks that wait for a key that is held.
  private struct Waiters {
    var turns = FairQueue<UInt64>(limit: .max)
    var continuations: [UInt64: CheckedContinuation<Void, any Error>] = [:]

    mutating func popFirst() -> CheckedContinuation<Void, any Error>? {
      guard let ticket = turns.popFirst() else { return nil }
      return continuations.removeValue(forKey: ticket)
    }
  }

  private struct State {
    /// The waiters of each key that is held.
    var held: [Key: Waiters] = [:]
    /// The number of tasks so far, which gives each a ticket of its own.
    var tickets: UInt64 = 0
  }

  private let state = Lock(State())

  /// Makes a mutex that holds no key.
  package init() {}

  /// Runs a closure while no other closure runs for the same key.
  ///
  /// - Parameters:
  ///   - key: identifies the resource.
  ///   - client: the one whose turn it takes; nil for one that all others share.
  ///   - body: the critical section. It must not lock the same key again.
  /// - Throws: `CancellationError` if the task is cancelled while it waits, or the closure's error.
  package nonisolated(nonsending) func withLock<Value>(
    _ key: Key, for client: (some WorkClient)? = Int?.none,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await lock(key, for: WorkOwner(client: client) ?? WorkOwner(number: 0))
    defer { unlock(key) }
    return try await body()
  }

  private nonisolated(nonsending) func lock(_ key: Key, for owner: WorkOwner) async throws {
    let ticket = state.withLock { state in
      state.tickets += 1
      return state.tickets
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          // The cancellation handler holds the lock too, so that one of the two sees the other.
          if Task.isCancelled { return .failure(CancellationError()) }
          guard state.held[key] != nil else {
            state.held[key] = Waiters()
            return .success(())
          }
          // Without a limit none is refused.
          _ = state.held[key]?.turns.append(ticket, for: owner)
          state.held[key]?.continuations[ticket] = continuation
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard state.held[key]?.turns.remove(ticket, of: owner) == true else { return nil }
        return state.held[key]?.continuations.removeValue(forKey: ticket)
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  private func unlock(_ key: Key) {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard let next = state.held[key]?.popFirst() else {
        state.held[key] = nil
        return nil
      }
      return next
    }
    next?.resume()
  }
}
