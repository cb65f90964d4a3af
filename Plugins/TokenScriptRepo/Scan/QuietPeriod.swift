/// Decides when to scan a folder that is being changed: after a while of quiet, but not too late.
struct QuietPeriod: Sendable {
  /// The time without a change that ends the wait.
  static let quiet = Duration.milliseconds(200)
  /// The longest time that a change waits.
  static let limit = Duration.seconds(2)

  /// The end of the wait, or nil if nothing has changed.
  private(set) var deadline: ContinuousClock.Instant?
  private var first: ContinuousClock.Instant?

  /// Records a change.
  ///
  /// - Parameter now: the present time.
  mutating func change(at now: ContinuousClock.Instant) {
    let first = first ?? now
    self.first = first
    deadline = min(now + Self.quiet, first + Self.limit)
  }

  /// Returns whether the wait is over, and then starts anew.
  ///
  /// - Parameter now: the present time.
  mutating func isOver(at now: ContinuousClock.Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self = QuietPeriod()
    return true
  }
}
