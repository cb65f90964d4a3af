/// A closure of a task that waits, to be run by a worker thread.
///
/// Unchecked because it is handed on, not shared: made by the task, then touched by one worker
/// thread only, until that resumes the task.
@safe class Job<Context: ~Copyable>: @unchecked Sendable {
  /// Runs the closure, once, and keeps its outcome.
  func run(in context: borrowing Context) {}

  /// Replaces a result that did not come to last.
  func fail(_ error: any Error) {}

  /// What the job failed with, if it has.
  var failure: (any Error)? { nil }

  /// Resumes the task with the outcome, once.
  func finish() {}
}

/// A ``Job`` with the type of its result.
///
/// Unchecked for its base class's reason.
@safe final class Operation<Context: ~Copyable, Value: Sendable>: Job<Context>, @unchecked Sendable
{
  private let body: @Sendable (borrowing Context) throws -> Value
  // Unsafe, so unchecked: a worker finishes each job that it takes, exactly once, and takes all.
  private let continuation: UnsafeContinuation<Value, any Error>
  private var outcome: Result<Value, any Error>?

  init(
    _ body: @escaping @Sendable (borrowing Context) throws -> Value,
    _ continuation: UnsafeContinuation<Value, any Error>
  ) {
    self.body = body
    unsafe self.continuation = continuation
  }

  override func run(in context: borrowing Context) {
    do {
      outcome = .success(try body(context))
    } catch {
      outcome = .failure(error)
    }
  }

  override func fail(_ error: any Error) { outcome = .failure(error) }

  override var failure: (any Error)? {
    guard case .failure(let error) = outcome else { return nil }
    return error
  }

  override func finish() {
    unsafe continuation.resume(with: outcome ?? .failure(StoreError.closed))
  }
}
