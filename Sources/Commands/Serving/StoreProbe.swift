internal import Platform
internal import Storage

/// Finds out whether the store takes writes, by writing a row of its own, at most once a second however often it is asked.
actor StoreProbe {
  private static let validity = Duration.seconds(1)
  /// The time after which a disk that doesn't answer counts as failed.
  private static let patience = Duration.seconds(5)
  private static let lateness = "it doesn't answer"

  private let store: Store
  private let clock = ContinuousClock()
  private var answer: (problem: String?, end: ContinuousClock.Instant)?
  /// The problem that the present write will find, if there is one.
  private var write: Promise<String?>?
  /// True if the present write takes longer than ``patience``.
  private var isLate = false

  /// Makes a probe that has not written yet.
  init(_ store: Store) { self.store = store }

  /// The reason why the store can't be written to, in words that anyone may read; nil if it can.
  var problem: String? {
    get async {
      if let answer, clock.now < answer.end { return answer.problem }
      if isLate { return Self.lateness }
      return await (write ?? begin()).value
    }
  }

  private func begin() -> Promise<String?> {
    let write = Promise<String?>()
    self.write = write
    Task { [store] in finish(write, await Self.write(to: store)) }
    Task {
      try? await Task.sleep(for: Self.patience)
      timeOut(write)
    }
    return write
  }

  private func finish(_ write: Promise<String?>, _ problem: String?) {
    answer = (problem, clock.now + Self.validity)
    self.write = nil
    isLate = false
    write.fulfill(problem)
  }

  private func timeOut(_ write: Promise<String?>) {
    guard write === self.write else { return }
    isLate = true
    write.fulfill(Self.lateness)
  }

  private static func write(to store: Store) async -> String? {
    do {
      try await store.writeProbe()
      return nil
    } catch {
      let general = "it can't be written to"
      return switch (error as? StoreError)?.code {
      case .full: "\(general): the disk is full"
      case .readOnly: "\(general): it is read-only"
      case .ioError where (error as? StoreError)?.isOfDisk == true: "\(general): the disk fails"
      case .ioError, .unknown: "\(general): the database can't be reached"
      case .busy: "\(general): it is busy"
      case .corrupt: "it is damaged"
      default: general
      }
    }
  }
}
