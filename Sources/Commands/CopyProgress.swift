internal import ServiceKit

/// Shows the progress of a copy that takes longer than a second.
struct CopyProgress {
  private static let interval = Duration.seconds(1)
  private var next = ContinuousClock.now + interval

  /// Shows the progress if the last time is long enough ago.
  ///
  /// - Parameters:
  ///   - done: the number of pages that are copied.
  ///   - total: the number of pages to copy.
  mutating func show(_ done: Int, of total: Int) {
    guard ContinuousClock.now >= next else { return }
    next = .now + Self.interval
    Terminal.showProgress(done, of: total, "pages")
  }
}
