internal import Storage
internal import Platform

/// The time that has passed for sure: what the store has kept of the last run, and as much as a clock that nobody sets has
/// counted in this one.
///
/// The system's clock may be wrong, and what is deleted by it for its age can't be brought back.
struct PassedTime: Sendable {
  private let store: Store
  private let start: Timestamp
  private let beginning = ContinuousClock.now

  /// Goes on where the last run has ended.
  ///
  /// - Parameters:
  ///   - store: a store of this process's own.
  ///   - isReset: whether the system's clock counts whatever was kept.
  init(in store: Store, isReset: Bool) async throws {
    self.store = store
    let now = Timestamp.now()
    start = isReset ? now : try await store.keptTime() ?? now
  }

  /// The time.
  var now: Timestamp { start + (ContinuousClock.now - beginning) }

  /// Has the store keep it.
  func keep() async throws { try await store.keep(now) }
}
