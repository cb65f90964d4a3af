/// A closure of a task that waits, to be run by a worker thread.
///
/// Unchecked because it is handed on, not shared: made by the task, then touched by one worker
/// thread only, until that resumes the task.
@safe class Job<Context: ~Copyable>: @unchecked Sendable {
  /// What the job failed with, if it has.
  fileprivate(set) final var failure: (any Error)?

  /// Runs the closure, once, and keeps its outcome.
  func run(in context: borrowing Context) {}

  /// Resumes the task with the outcome, once.
  func finish() {}

  /// Makes it a failure, whatever its closure returned: that did not come to last.
  func fail(_ error: any Error) { failure = error }
}

/// A ``Job`` with the type of its result.
///
/// Unchecked for its base class's reason.
@safe final class Operation<Context: ~Copyable, Value: Sendable>: Job<Context>, @unchecked Sendable
{
  private let body: @Sendable (borrowing Context) throws -> Value
  // Unsafe, so unchecked: a worker finishes each job that it takes, exactly once, and takes all.
  private let continuation: UnsafeContinuation<Value, any Error>
  private let outcome: (@Sendable (Bool) -> Void)?
  private var hasRun = false
  private var value: Value?

  init(
    _ body: @escaping @Sendable (borrowing Context) throws -> Value,
    _ continuation: UnsafeContinuation<Value, any Error>,
    outcome: (@Sendable (Bool) -> Void)? = nil
  ) {
    self.body = body
    unsafe self.continuation = continuation
    self.outcome = outcome
  }

  override func run(in context: borrowing Context) {
    hasRun = true
    do {
      value = try body(context)
    } catch {
      fail(error)
    }
  }

  override func fail(_ error: any Error) {
    super.fail(error)
    if hasRun { outcome?(false) }
  }

  override func finish() {
    if failure == nil, let value {
      outcome?(true)
      unsafe continuation.resume(returning: value)
    } else {
      unsafe continuation.resume(throwing: failure ?? StoreError.closed)
    }
  }
}
