/// A mutual exclusion for each key, for tasks: critical sections of one key run one after the other, those of different
/// keys at once.
///
/// The owners of waiting tasks take turns, and those of one owner come in the order in which they asked. They hold no thread
/// meanwhile.
package final class KeyedMutex<Key: Hashable & Sendable>: Sendable {
  /// The tasks that wait for each key that is held.
  private let waiting = Lock<[Key: FairQueue<Int, CheckedContinuation<Void, Never>>]>([:])

  /// Makes a mutex that holds no key.
  package init() {}

  /// Runs a closure while no other closure runs for the same key.
  ///
  /// - Parameters:
  ///   - key: names what must not be used twice at once.
  ///   - owner: a hash of the owner whose turn it takes.
  ///   - body: the critical section. It must not ask for the same key again.
  /// - Returns: the closure's result.
  /// - Throws: the closure's error.
  package nonisolated(nonsending) func withLock<Value, Failure: Error>(
    _ key: Key, for owner: Int = 0,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = waiting.withLock { waiting in
        guard waiting[key] != nil else {
          waiting[key] = FairQueue(limit: .max)
          return true
        }
        // Without a limit none is refused.
        _ = waiting[key]?.append(continuation, for: owner)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { unlock(key) }
    return try await body()
  }

  private func unlock(_ key: Key) {
    let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
      guard let next = waiting[key]?.popFirst() else {
        waiting[key] = nil
        return nil
      }
      return next
    }
    next?.resume()
  }
}
