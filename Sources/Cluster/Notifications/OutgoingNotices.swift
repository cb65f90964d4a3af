internal import Platform

/// Notices that wait for the thread that sends them, and the statistics of a bus.
final class OutgoingNotices: Sendable {
  /// The most bytes that wait. Further notices are dropped, and other nodes see the changes by polling.
  private static let limit = 8 << 20

  /// Notices that were published together.
  typealias Publication = (notices: [Notice], recipients: Recipients)

  private struct State: Sendable {
    var waiting: [Publication] = []
    var bytes = 0
    var statistics = BusStatistics()
    var isClosed = false
  }

  private let state = Monitor(State())

  /// Adds notices, if there is room.
  func append(_ notices: [Notice], to recipients: Recipients) {
    guard !notices.isEmpty, recipients != .nodes([]) else { return }
    let bytes = notices.reduce(0) { $0 + 64 + $1.topic.key.count + $1.content.count }
    let isFirst = state.withLock { state in
      guard !state.isClosed, state.bytes + bytes <= Self.limit else {
        state.statistics.dropped += notices.count
        return false
      }
      state.bytes += bytes
      state.waiting.append((notices, recipients))
      return state.waiting.count == 1
    }
    // All, as the listener may wait as well, for something else. The notifier doesn't wait while there are some.
    if isFirst { state.wakeAll() }
  }

  /// Waits for notices, and takes all of them.
  ///
  /// - Returns: the published notices, in order, or nil at the end.
  func take() -> [Publication]? {
    state.withLock(when: { $0.isClosed || !$0.waiting.isEmpty }) { state in
      guard !state.waiting.isEmpty else { return nil }
      state.bytes = 0
      return exchange(&state.waiting, with: [])
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
      state.statistics.dropped += state.waiting.reduce(0) { $0 + $1.notices.count }
      (state.waiting, state.bytes) = ([], 0)
    }
  }

  /// Changes the statistics.
  func count(_ change: (inout BusStatistics) -> Void) { state.withLock { change(&$0.statistics) } }

  var statistics: BusStatistics { state.withLock(\.statistics) }

  var isClosed: Bool { state.withLock(\.isClosed) }

  func close() {
    state.withLock { $0.isClosed = true }
    state.wakeAll()
  }
}
