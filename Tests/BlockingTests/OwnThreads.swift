private import Dispatch
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

/// Runs tasks on a queue that gets more threads when some of them block.
public final class BlockableExecutor: TaskExecutor {
  /// The one executor of the whole run.
  public static let shared = BlockableExecutor()
  private let queue = DispatchQueue(label: "awd.tests", attributes: .concurrent)

  /// Runs a task's next piece on a thread that is free, or on a new one.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
