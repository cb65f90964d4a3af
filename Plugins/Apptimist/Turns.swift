internal import Threading

/// Lets one after the other at something.
final class Turns: Sendable {
  /// What only one may be at.
  enum Place: Hashable, Sendable {
    /// A file that is to be locked or changed: who locks it sees all that was written before, and
    /// nobody who asked before the lock writes after it.
    case file(FileAddress)
    /// The search that looks at all names.
    case globSearch
  }

  /// Those who wait, for each place that somebody is at.
  private let waiting = Lock<[Place: [CheckedContinuation<Void, Never>]]>([:])

  /// Runs a closure when it is its turn; turns come in the order in which they were asked for.
  nonisolated(nonsending) func take<Value, Failure: Error>(
    _ place: Place, _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = waiting.withLock { waiting in
        guard waiting[place] != nil else {
          waiting[place] = []
          return true
        }
        waiting[place]?.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { finish(place) }
    return try await body()
  }

  private func finish(_ place: Place) {
    let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
      guard waiting[place]?.isEmpty == false else {
        waiting[place] = nil
        return nil
      }
      return waiting[place]?.removeFirst()
    }
    next?.resume()
  }
}
