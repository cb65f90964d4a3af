internal import Storage

/// Finds out whether the store takes writes, by writing a row of its own, at most once a second however often it is asked.
actor StoreProbe {
  private static let validity = Duration.seconds(1)
  /// The time after which a disk that doesn't answer counts as failed.
  private static let patience = Duration.seconds(5)

  private let store: Store
  private let clock = ContinuousClock()
  private var answer: (problem: String?, end: ContinuousClock.Instant)?
  private var running: (task: Task<String?, Never>, start: ContinuousClock.Instant)?

  /// Makes a probe that has not written yet.
  ///
  /// - Parameter store: the store.
  init(_ store: Store) { self.store = store }

  /// The reason why the store can't be written to, in words that anyone may read; nil if it can.
  var problem: String? {
    get async {
      if let answer, clock.now < answer.end { return answer.problem }
      if let running {
        guard clock.now - running.start < Self.patience else { return "the disk doesn't answer" }
        return await running.task.value
      }
      let task = Task { await Self.write(to: store) }
      running = (task, clock.now)
      let problem = await task.value
      answer = (problem, clock.now + Self.validity)
      running = nil
      return problem
    }
  }

  private static func write(to store: Store) async -> String? {
    do {
      try await store.writeProbe()
      return nil
    } catch let error as StoreError {
      return switch error.code {
      case .full: "it can't be written to: the disk is full"
      case .readOnly: "it can't be written to: the file or its file system is read-only"
      case .ioError: "it can't be written to: the disk fails"
      case .busy: "it can't be written to: it is busy"
      case .corrupt: "it is damaged"
      default: "it can't be written to"
      }
    } catch {
      return "it can't be written to"
    }
  }
}
