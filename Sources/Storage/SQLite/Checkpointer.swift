internal import Platform

/// Copies the write-ahead log into the database on a thread of its own, when the writer says so.
final class Checkpointer: Sendable {
  private enum State {
    case idle
    case copying
    case closed
  }

  private let state = Monitor(State.idle)

  /// Copies until ``close()``; to be called on the thread.
  ///
  /// - Parameters:
  ///   - connection: a connection that may write.
  ///   - recorder: counts the copies that fail.
  func run(_ connection: SQLiteConnection, recorder: StatisticsRecorder) {
    while state.withLock(when: { $0 != .idle }, { $0 == .copying }) {
      connection.checkpointOrCount(recorder)
      state.withLock { if $0 == .copying { $0 = .idle } }
      state.wakeAll()
    }
  }

  /// True if a copy is being made.
  var isCopying: Bool { state.withLock { $0 == .copying } }

  /// Begins a copy.
  func begin() {
    state.withLock { $0 = .copying }
    state.wakeAll()
  }

  /// Waits until no copy is being made.
  func wait() { state.withLock(when: { $0 != .copying }) { _ in } }

  /// Ends the thread, after the present copy.
  func close() {
    state.withLock { $0 = .closed }
    state.wakeAll()
  }
}

extension SQLiteConnection {
  /// Copies the write-ahead log into the database, as far as readers allow.
  ///
  /// - Parameter recorder: counts a failure, after which what was committed is safe in the log.
  func checkpointOrCount(_ recorder: StatisticsRecorder) {
    do throws(StoreError) {
      try checkpoint()
    } catch { recorder.record { $0.checkpointsFailed += 1 } }
  }
}
