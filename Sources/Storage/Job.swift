/// A closure that a worker thread runs for a waiting task.
///
/// It is unchecked because it is handed on, not shared: the task makes it, and then only one worker thread uses it until
/// that resumes the task.
@safe class Job<Context: ~Copyable>: @unchecked Sendable {
  /// The way in which the job's transaction is kept apart from others; nil if it is one query, which needs none.
  final let isolation: Isolation?
  /// The error of the job, if it has failed.
  final var failure: (any Error)?
  /// The moment of the first try on PostgreSQL.
  final var begun: ContinuousClock.Instant?

  init(isolation: Isolation?) { self.isolation = isolation }

  /// Runs the closure, and keeps its result or its error in place of those of an earlier try.
  func run(in context: borrowing Context) { missing() }

  /// Resumes the task with the outcome, once.
  func finish() { missing() }

  /// Makes the job a failure, once, whatever its closure returned or threw: its changes are undone, and it isn't tried again.
  func fail(_ error: any Error) { failure = error }

  /// Notifies the job that its changes are undone because another job has failed, and that it runs again.
  func undo() { failure = nil }

  // MARK: - Jobs that can be one

  /// The kind, if several of it can be one job.
  var kind: ObjectIdentifier? { nil }

  /// The amount of work, by which jobs are made one.
  var size: Int { 1 }

  /// Makes one job of several of this one's kind.
  func joined(_ jobs: [Job<Context>]) -> Job<Context> { self }

  /// The number of tasks that wait for the job.
  var count: Int { 1 }

  /// The smaller jobs that this one can be instead, or none if it is one task's.
  var parts: [Job<Context>] { [] }
}

/// A ``Job`` of one closure with one result.
///
/// It is unchecked for the reason of its base class.
@safe
final class Operation<Context: ~Copyable, Value: Sendable>: Job<Context>, @unchecked Sendable {
  private let body: @Sendable (borrowing Context) throws -> Value
  private let outcome: (@Sendable (Bool) -> Void)?
  private let complete: @Sendable (Result<Value, any Error>) -> Void
  private var hasRun = false
  private var value: Value?

  /// Makes an operation.
  ///
  /// - Parameters:
  ///   - isolation: the way in which its transaction is kept apart from others.
  ///   - outcome: is notified each time that its changes are committed or undone, once it has run.
  ///   - complete: takes the result, once.
  init(
    _ body: @escaping @Sendable (borrowing Context) throws -> Value, isolation: Isolation?,
    outcome: (@Sendable (Bool) -> Void)? = nil,
    complete: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    self.body = body
    self.outcome = outcome
    self.complete = complete
    super.init(isolation: isolation)
  }

  override func run(in context: borrowing Context) {
    hasRun = true
    failure = nil
    do {
      value = try body(context)
    } catch { failure = error }
  }

  override func fail(_ error: any Error) {
    super.fail(error)
    if hasRun { outcome?(false) }
  }

  override func undo() {
    super.undo()
    outcome?(false)
  }

  override func finish() {
    if failure == nil, let value {
      outcome?(true)
      complete(.success(value))
    } else {
      complete(.failure(failure ?? StoreError.closed))
    }
  }
}
