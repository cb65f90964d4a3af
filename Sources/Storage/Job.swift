/// A closure that a worker thread runs for a waiting task.
///
/// It is unchecked because it is handed on, not shared: the task makes it, and then only one worker thread uses it until
/// that resumes the task.
@safe class Job<Context: ~Copyable>: @unchecked Sendable {
  /// The error of the job, if it has failed.
  fileprivate(set) final var failure: (any Error)?

  /// Runs the closure, once, and keeps its outcome.
  func run(in context: borrowing Context) {}

  /// Resumes the task with the outcome, once.
  func finish() {}

  /// Makes the job a failure, whatever its closure returned, because its changes are undone.
  func fail(_ error: any Error) { failure = error }
}

/// A ``Job`` with the type of its result.
///
/// It is unchecked for the reason of its base class.
@safe final class Operation<Context: ~Copyable, Value: Sendable>: Job<Context>, @unchecked Sendable
{
  private let body: @Sendable (borrowing Context) throws -> Value
  // Unsafe, as a worker takes every job and finishes each exactly once.
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
