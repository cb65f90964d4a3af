internal import Budgets
internal import Platform
internal import Storage

/// The numbers of topics that clients ask for: what this node has published lately, and what the store keeps.
final class TopicStatistics: Sendable {
  /// The seconds over which a rate is measured.
  private static let rateSpan: Int64 = 60
  /// The time for which the number of stored messages is taken as it was.
  private static let countAge = Duration.seconds(1)

  private struct State {
    /// The messages of each of the last seconds, by the second modulo the span.
    var counts = Array(repeating: 0, count: Int(TopicStatistics.rateSpan))
    var second: Int64 = 0
    var stored = 0
    var storedAt: Timestamp?

    mutating func advance(to now: Int64) {
      let first = max(second + 1, now - TopicStatistics.rateSpan + 1)
      if first <= now {
        for passed in first...now { counts[Int(passed % TopicStatistics.rateSpan)] = 0 }
      }
      second = max(second, now)
    }
  }

  private let store: TopicStore
  private let state = Lock(State())
  /// The messages of an account or an address in a day.
  private let ofPublishers: AttemptTable

  init(_ store: TopicStore, clock: @escaping @Sendable () -> Timestamp) {
    self.store = store
    ofPublishers = AttemptTable(span: .seconds(86_400), size: 1 << 12, clock: clock)
  }

  /// Counts a message.
  ///
  /// - Parameter publisher: the key by which limits count.
  func record(of publisher: String) {
    _ = ofPublishers.count(publisher, upTo: .max)
    let now = store.now.seconds
    state.withLock { state in
      state.advance(to: now)
      state.counts[Int(now % Self.rateSpan)] += 1
    }
  }

  /// The messages in a second, as an average of the last minute.
  var rate: Double {
    let now = store.now.seconds
    let count = state.withLock { state in
      state.advance(to: now)
      return state.counts.reduce(0, +)
    }
    return Double(count) / Double(Self.rateSpan)
  }

  /// Returns the messages of an account or an address within a day.
  func messages(of publisher: String) -> Int { ofPublishers.total(of: publisher) }

  /// Returns the number of messages that are stored.
  func storedMessages() async throws -> Int {
    let now = store.now
    let known = state.withLock { state -> Int? in
      guard let moment = state.storedAt else { return nil }
      let isFresh = moment <= now && now < moment + Self.countAge
      return isFresh ? state.stored : nil
    }
    if let known { return known }
    let count = try await store.messageCount()
    state.withLock { state in
      state.stored = count
      state.storedAt = now
    }
    return count
  }
}

extension TopicStore {
  /// Returns the number of messages that are stored, with the marks that some were deleted or read.
  fileprivate func messageCount() async throws -> Int {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value("SELECT coalesce(CAST(sum(entries) AS BIGINT), 0) FROM msgr_topics") ?? 0
    }
  }

  /// Returns the bytes of files that are kept for an account, or for an address without one.
  func fileBytes(of requester: TopicRequester) async throws -> Int {
    try await store.read(isOneQuery: true) { snapshot in
      try fileBytes(of: requester, snapshot)
    }
  }
}
