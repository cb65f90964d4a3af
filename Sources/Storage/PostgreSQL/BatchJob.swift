/// One input of a ``BatchOperation``, for a task that waits for its output.
///
/// It is unchecked for the reason of its base class.
@safe final class BatchJob<Operation: BatchOperation>: Job<Transaction>, @unchecked Sendable {
  fileprivate let input: Operation.Input
  fileprivate var outcome: Result<Operation.Output, any Error>?
  // Unsafe, as a worker takes every job and finishes each exactly once.
  private let continuation: UnsafeContinuation<Operation.Output, any Error>

  init(_ input: Operation.Input, _ continuation: UnsafeContinuation<Operation.Output, any Error>) {
    self.input = input
    unsafe self.continuation = continuation
    super.init(isolation: .rowLocks)
  }

  override var size: Int { Operation.size(of: input) }

  override func joined(_ jobs: [Job<Transaction>]) -> Job<Transaction> {
    BatchGroup(jobs.compactMap { $0 as? BatchJob<Operation> })
  }

  override var kind: ObjectIdentifier? { ObjectIdentifier(Operation.self) }

  override func finish() {
    if let failure {
      unsafe continuation.resume(throwing: failure)
    } else {
      unsafe continuation.resume(with: outcome ?? .failure(StoreError.closed))
    }
  }
}

/// Inputs of one operation that are one call.
///
/// It is unchecked for the reason of its base class.
@safe
private final class BatchGroup<Operation: BatchOperation>:
  Job<Transaction>, @unchecked Sendable
{
  private let jobs: [BatchJob<Operation>]

  init(_ jobs: [BatchJob<Operation>]) {
    self.jobs = jobs
    super.init(isolation: .rowLocks)
  }

  override var count: Int { jobs.count }

  override var parts: [Job<Transaction>] {
    guard jobs.count > 1 else { return [] }
    // So that the one that fails or waits is found in a few steps.
    let size = (jobs.count + 7) / 8
    return stride(from: 0, to: jobs.count, by: size).map { start in
      BatchGroup(Array(jobs[start..<min(start + size, jobs.count)]))
    }
  }

  override func run(in transaction: borrowing Transaction) {
    failure = nil
    for job in jobs { job.outcome = nil }
    do {
      let outcomes = try Operation.run(jobs.map { $0.input }, in: transaction)
      guard outcomes.count == jobs.count else {
        throw StoreError(.unexpectedValue, "a batch has another number of outcomes than of inputs")
      }
      for (job, outcome) in zip(jobs, outcomes) { job.outcome = outcome }
    } catch { failure = error }
  }

  override func fail(_ error: any Error) {
    super.fail(error)
    for job in jobs { job.fail(error) }
  }

  override func finish() { for job in jobs { job.finish() } }
}
