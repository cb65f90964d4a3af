internal import Observability
internal import Platform
internal import Storage

/// A thread's work: hears what other nodes tell by PostgreSQL, and tells this node's services.
struct NoticeListener: Sendable {
  /// The time after which the thread notices that the bus is closed.
  private static let slice = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let seal: NoticeSeal
  let interval: Duration
  let subscribers: Subscribers
  let outgoing: OutgoingNotices
  let log: Log

  /// Hears until the bus is closed.
  func run() {
    var nextLook = ContinuousClock.now + interval
    var counts: [NodeID: UInt64] = [:]
    var tries = 0
    while !outgoing.isClosed {
      do {
        let connection = try NotificationConnection(address)
        try connection.listen(as: seal.node)
        if tries > 0 { log.info("other nodes are heard again") }
        tries = 0
        // What was told before is lost.
        subscribers.tellOfLoss()
        while !outgoing.isClosed {
          hear(try connection.told(within: min(Self.slice, interval)), &counts)
          look(&nextLook)
        }
      } catch {
        if tries == 0 {
          outgoing.count { $0.interruptions += 1 }
          log.warning(
            "other nodes aren't heard; their changes are seen by polling",
            ["cause": "\(error)"])
        }
        tries += 1
        look(&nextLook)
        _ = outgoing.isClosed(within: .milliseconds(min(1000, 50 * tries)))
      }
    }
  }

  private func hear(_ texts: [String], _ counts: inout [NodeID: UInt64]) {
    guard !texts.isEmpty else { return }
    var notices: [Notice] = []
    var refused = 0
    for text in texts {
      if let told = seal.open(text, counts: &counts) { notices += told } else { refused += 1 }
    }
    outgoing.count { counts in
      counts.heard += notices.count
      counts.refused += refused
    }
    if !notices.isEmpty { subscribers.tell(notices) }
  }

  /// Lets services look by themselves once in a while.
  private func look(_ next: inout ContinuousClock.Instant) {
    guard ContinuousClock.now >= next else { return }
    next = .now + interval
    subscribers.tellOfLoss()
  }
}

/// A thread's work: tells other nodes by PostgreSQL what this one publishes.
struct NoticeNotifier: Sendable {
  /// The pause after a call for each notice of it, in which more gather, and the longest one. It grows with the rate of
  /// notices: few are told at once, and many together.
  private static let pause = (each: Duration.microseconds(200), most: Duration.milliseconds(2))
  /// The pause after two connections that have failed.
  private static let rest = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let seal: NoticeSeal
  let outgoing: OutgoingNotices

  /// Tells until the bus is closed and nothing waits. What can't be told is dropped: it would be out of date.
  func run() {
    var connection: NotificationConnection?
    var count: UInt64 = 0
    while let waiting = outgoing.take() {
      // The connection may have been lost long ago, which only its use shows.
      for isLastTry in [false, true] {
        do {
          let open = try connection ?? NotificationConnection(address)
          connection = open
          let told = try tell(waiting, by: open, count: &count)
          outgoing.count { $0.told += told }
          _ = outgoing.isClosed(within: min(Self.pause.each * waiting.count, Self.pause.most))
          break
        } catch {
          connection = nil
          guard isLastTry else { continue }
          outgoing.count { $0.dropped += waiting.reduce(0) { $0 + $1.notices.count } }
          outgoing.drop()
          _ = outgoing.isClosed(within: Self.rest)
        }
      }
    }
  }

  /// Sends each node its notices.
  ///
  /// - Returns: the number of notices, counted once for each node.
  private func tell(
    _ waiting: [OutgoingNotices.Publication], by connection: NotificationConnection,
    count: inout UInt64
  ) throws -> Int {
    let isForAll = waiting.contains { $0.recipients == .all }
    let all = isForAll ? try connection.livingNodes() : []
    var notices: [NodeID: [Notice]] = [:]
    for publication in waiting {
      let nodes = if case .nodes(let nodes) = publication.recipients { nodes } else { all }
      for node in nodes where node != seal.node {
        notices[node, default: []] += publication.notices
      }
    }
    try connection.tell(
      notices.flatMap { node, notices in
        seal.seal(notices, to: node, count: &count).map { (node, $0) }
      })
    return notices.values.reduce(0) { $0 + $1.count }
  }
}

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
      state.waiting = []
      state.bytes = 0
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
