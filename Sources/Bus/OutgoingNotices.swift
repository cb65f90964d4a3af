internal import Threading
internal import Time

/// Notices that wait for the thread that tells them, and what is counted of a bus.
final class OutgoingNotices: Sendable {
  /// The most bytes that wait. Others see by polling what is told to nobody.
  private static let limit = 8 << 20

  private struct State: Sendable {
    var notices: [Notice] = []
    var bytes = 0
    var statistics = BusStatistics()
    var isClosed = false
  }

  private let state = Monitor(State())

  /// Adds notices, if there is room.
  func append(_ notices: [Notice]) {
    let bytes = notices.reduce(0) { $0 + 64 + $1.topic.key.count + $1.content.count }
    let isFirst = state.withLock { state in
      guard !state.isClosed, state.bytes + bytes <= Self.limit else {
        state.statistics.dropped += notices.count
        return false
      }
      state.bytes += bytes
      let isFirst = state.notices.isEmpty
      state.notices += notices
      return isFirst
    }
    // The thread doesn't wait while there are some.
    if isFirst { state.wakeOne() }
  }

  /// Waits for notices, and takes all that there are.
  ///
  /// - Returns: the notices in order, or nil if there won't be any more.
  func take() -> [Notice]? {
    state.withLock(when: { $0.isClosed || !$0.notices.isEmpty }) { state in
      guard !state.notices.isEmpty else { return nil }
      state.bytes = 0
      return exchange(&state.notices, with: [])
    }
  }

  /// Waits until the end or for some time.
  ///
  /// - Returns: whether there won't be any more notices.
  func isClosed(within limit: Duration) -> Bool {
    state.withLock(when: \.isClosed, within: limit) { $0.isClosed }
  }

  /// Forgets what waits.
  func drop() {
    state.withLock { state in
      state.statistics.dropped += state.notices.count
      (state.notices, state.bytes) = ([], 0)
    }
  }

  /// Changes what is counted.
  func count(_ change: (inout BusStatistics) -> Void) {
    state.withLock { change(&$0.statistics) }
  }

  var statistics: BusStatistics { state.withLock(\.statistics) }

  var isClosed: Bool { state.withLock(\.isClosed) }

  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }
}
