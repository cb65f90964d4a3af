internal import Synchronization

/// Lets one after the other at a file: who locks it sees all that was written before, and nobody
/// who asked before the lock writes after it.
final class FileTurns: Sendable {
  /// Those who wait, for each file that somebody is at.
  private let waiting = Mutex<[FileAddress: [CheckedContinuation<Void, Never>]]>([:])

  /// Runs a closure when it is its turn; turns come in the order in which they were asked for.
  nonisolated(nonsending) func take<Value, Failure: Error>(
    at file: FileAddress, _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await withCheckedContinuation { continuation in
      let isFree = waiting.withLock { waiting in
        guard waiting[file] != nil else {
          waiting[file] = []
          return true
        }
        waiting[file]?.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { finish(file) }
    return try await body()
  }

  private func finish(_ file: FileAddress) {
    let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
      guard waiting[file]?.isEmpty == false else {
        waiting[file] = nil
        return nil
      }
      return waiting[file]?.removeFirst()
    }
    next?.resume()
  }
}
