internal import Platform

/// The knowledge of the workers of one queue whether PostgreSQL can be reached.
final class Availability: Sendable {
  private struct State {
    /// The number of workers with a connection.
    var connected = 0
    var isDownSince: ContinuousClock.Instant?
  }

  private let state = Lock(State())

  /// Notes that a worker has a connection.
  func connected() {
    state.withLock { state in
      state.connected += 1
      state.isDownSince = nil
    }
  }

  /// Notes that a worker has lost its connection.
  func lost() {
    state.withLock { state in
      state.connected -= 1
      if state.connected == 0 { state.isDownSince = .now }
    }
  }

  /// Notes that a worker couldn't connect.
  ///
  /// - Returns: the time since the last of all had a connection, or nil if one has.
  func failed() -> Duration? {
    state.withLock { state in
      guard state.connected == 0 else { return nil }
      let start = state.isDownSince ?? .now
      state.isDownSince = start
      return .now - start
    }
  }
}
