/// When to look at a folder that is being changed: after a while of quiet, but not too late.
struct QuietPeriod: Sendable {
  /// How long nothing must change.
  static let quiet = Duration.milliseconds(200)
  /// How long a change waits at most.
  static let limit = Duration.seconds(2)

  /// When it is time; nil while nothing has changed.
  private(set) var deadline: ContinuousClock.Instant?
  private var first: ContinuousClock.Instant?

  /// Something changed.
  ///
  /// - Parameter now: the time.
  mutating func change(at now: ContinuousClock.Instant) {
    let first = first ?? now
    self.first = first
    deadline = min(now + Self.quiet, first + Self.limit)
  }

  /// Whether it is time; then everything begins anew.
  ///
  /// - Parameter now: the time.
  mutating func isOver(at now: ContinuousClock.Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self = QuietPeriod()
    return true
  }
}
