internal import Threading

/// The statistics, shared by the store and its threads.
///
/// A lock and not single atomics, so that a snapshot adds up: the writer takes it once a group.
final class Meter: Sendable {
  private let state = Lock(StoreStatistics())

  var statistics: StoreStatistics { state.withLock { $0 } }

  func record(_ change: (inout StoreStatistics) -> Void) {
    state.withLock { change(&$0) }
  }
}
