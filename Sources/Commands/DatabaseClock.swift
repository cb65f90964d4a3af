internal import Storage
internal import Synchronization
internal import Platform

/// The time by the clock of the database that nodes share.
///
/// Between two looks at the database it goes by a clock that nobody sets.
final class DatabaseClock: Sendable {
  private let store: Store
  private let beginning = ContinuousClock.now
  /// The database's time at the beginning, in milliseconds since 1970.
  private let start = Atomic<Int64>(0)

  /// Makes a clock that shows the database's time.
  init(of store: Store) async throws {
    self.store = store
    try await set()
  }

  /// The time.
  var now: Timestamp { Timestamp(milliseconds: start.load(ordering: .relaxed) + elapsed) }

  /// Looks at the database's clock.
  func set() async throws {
    let time = try await store.time()
    start.store(time.milliseconds - elapsed, ordering: .relaxed)
  }

  private var elapsed: Int64 { (ContinuousClock.now - beginning).milliseconds }
}
