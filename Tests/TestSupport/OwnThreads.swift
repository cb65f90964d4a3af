private import Foundation
package import Testing
private import Platform

/// Runs tests that block on threads of their own, a few at a time.
///
/// Tests run on Swift's pool, which has a thread for each core. When a few of them wait there for a process or a socket,
/// nothing else goes on, not even the tasks they wait for. Were all let go at once, time would run out for each of them.
package struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  /// Always true: the trait holds for every test of a suite.
  package var isRecursive: Bool { true }

  /// Runs a test on threads that it may block.
  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // Suites only pass it on.
    guard testCase != nil else { return try await function() }
    await Turnstile.shared.enter()
    defer { Turnstile.shared.leave() }
    try await withTaskExecutorPreference(BlockableExecutor.shared, operation: function)
  }
}

extension Trait where Self == OwnThreads {
  /// The trait of tests that block: they get threads of their own.
  package static var ownThreads: OwnThreads { OwnThreads() }
}

/// Lets only so many in at once; the others wait without a thread.
private final class Turnstile: Sendable {
  static let shared = Turnstile()

  private struct State {
    var free = 8
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}

/// Runs each piece of a task on a new thread: however many tests block, the next one has its own.
package final class BlockableExecutor: TaskExecutor {
  /// The one executor of the whole run.
  package static let shared = BlockableExecutor()

  /// Runs a task's next piece on a thread of its own.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// Runs a closure that may block on a new thread.
///
/// - Parameter body: the closure.
/// - Returns: the closure's result.
/// - Throws: the closure's error.
package func onThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
