internal import Platform

/// The statistics that the store and its threads share.
///
/// One lock instead of single atomics, so that a copy is consistent. The writer takes it once for each group.
final class StatisticsRecorder: Sendable {
  private let state = Lock(StoreStatistics())

  var statistics: StoreStatistics { state.withLock { $0 } }

  func record(_ change: (inout StoreStatistics) -> Void) { state.withLock { change(&$0) } }
}
