private import Foundation
public import Testing

/// Runs tests that block on threads of their own.
///
/// Tests run on Swift's pool, which has a thread for each core. Where a few of them wait there for a process or a socket,
/// nothing else goes on, not even the tasks they wait for.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  /// It holds for every test of a suite.
  public var isRecursive: Bool { true }

  /// Runs a test where it may block.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // Suites only pass it on.
    guard testCase != nil else { return try await function() }
    try await withTaskExecutorPreference(BlockableExecutor.shared, operation: function)
  }
}

extension Trait where Self == OwnThreads {
  /// The tests block: they get threads of their own.
  public static var ownThreads: OwnThreads { OwnThreads() }
}

/// Runs each piece of a task on a new thread: however many tests block, the next one has its own.
public final class BlockableExecutor: TaskExecutor {
  /// The one executor of the whole run.
  public static let shared = BlockableExecutor()

  /// Runs a task's next piece on a thread of its own.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
