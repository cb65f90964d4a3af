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

/// Decides when the write-ahead log is copied into the database, and by whom.
///
/// Most of it is copied beside the writer. Such a copy never reaches the end of a log to which the writer goes on adding, and
/// only a log that is copied to its end is started anew. So the writer copies what came meanwhile, which is little and takes
/// it a short time.
struct CheckpointPlan {
  /// A step that is due.
  enum Step: Equatable {
    /// To begin a copy beside the writer.
    case begin
    /// To copy the rest by the writer itself, once no copy is made beside it any more.
    case finish
  }

  /// The growth of the log that is worth a copy, and the most that it may grow beside one: 8 MiB in pages of 4 KiB.
  static let growth = 2000

  /// The length of the log at the last step.
  private var length = 0
  private var hasBegun = false

  /// Returns the step that is due after a commit, and takes it to be done; nil if there is none.
  ///
  /// - Parameter isCopying: whether a copy is being made beside the writer.
  mutating func step(atLength length: Int, isCopying: Bool) -> Step? {
    // The log was started anew.
    if length < self.length { self = CheckpointPlan() }
    let hasGrown = length - self.length >= Self.growth
    guard hasBegun ? hasGrown || !isCopying : hasGrown else { return nil }
    self.length = length
    hasBegun.toggle()
    return hasBegun ? .begin : .finish
  }
}
