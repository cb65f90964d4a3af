internal import ServiceKit

/// Shows how far a copy has come, once a person has begun to wait.
struct CopyProgress {
  private static let interval = Duration.seconds(1)
  private var next = ContinuousClock.now + interval

  /// Is told after each piece.
  mutating func tell(_ done: Int, of total: Int) {
    guard ContinuousClock.now >= next else { return }
    next = .now + Self.interval
    Terminal.showProgress(done, of: total, "pages")
  }
}
