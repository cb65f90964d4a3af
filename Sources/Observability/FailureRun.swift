/// Decides which failures of work that is repeated are logged: the first, and one a minute while it goes on.
///
/// A database that is away for an hour would otherwise fill the log, in which its cause is to be found.
package struct FailureRun: Sendable {
  /// The time between two lines.
  package static let interval = Duration.seconds(60)

  private var next: ContinuousClock.Instant?

  /// Makes one for work that hasn't failed.
  package init() {}

  /// Records a failure.
  ///
  /// - Returns: whether it is to be logged.
  package mutating func failed(at now: ContinuousClock.Instant = .now) -> Bool {
    if let next, now < next { return false }
    next = now + Self.interval
    return true
  }

  /// Records that the work was done: its next failure is a new one.
  package mutating func succeeded() { next = nil }
}
