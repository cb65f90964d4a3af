internal import Observability
internal import Platform
internal import Storage

/// A thread's work: receives other nodes' notifications from PostgreSQL, and passes them to this node's services.
struct NotificationListener: Sendable {
  /// The time after which the thread notices that the bus is closed.
  private static let slice = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let seal: NotificationSeal
  let interval: Duration
  let subscribers: Subscribers
  let outgoing: OutgoingNotifications
  let log: Log

  /// Receives until the bus is closed.
  func run() {
    var nextPoll = ContinuousClock.now + interval
    var counts: [NodeID: UInt64] = [:]
    var tries = 0
    while !outgoing.isClosed {
      do {
        let connection = try NotificationConnection(address)
        try connection.listen(as: seal.node)
        if tries > 0 { log.info("notification connection restored") }
        tries = 0
        // What was sent before is lost.
        subscribers.notifyGap()
        while !outgoing.isClosed {
          receive(try connection.notifications(within: min(Self.slice, interval)), &counts)
          pollIfDue(&nextPoll)
        }
      } catch {
        if tries == 0 {
          outgoing.count { $0.interruptions += 1 }
          log.warning(
            "notification connection lost; other nodes' changes are seen by polling",
            ["cause": "\(error)"])
        }
        tries += 1
        pollIfDue(&nextPoll)
        _ = outgoing.isClosed(within: .milliseconds(min(1000, 50 * tries)))
      }
    }
  }

  private func receive(_ texts: [String], _ counts: inout [NodeID: UInt64]) {
    guard !texts.isEmpty else { return }
    var notifications: [NodeNotification] = []
    var refused = 0
    for text in texts {
      if let opened = seal.open(text, counts: &counts) {
        notifications += opened
      } else {
        refused += 1
      }
    }
    outgoing.count { counts in
      counts.received += notifications.count
      counts.refused += refused
    }
    if !notifications.isEmpty { subscribers.publish(notifications) }
  }

  /// Has services poll the store once in each interval.
  private func pollIfDue(_ next: inout ContinuousClock.Instant) {
    guard ContinuousClock.now >= next else { return }
    next = .now + interval
    subscribers.notifyGap()
  }
}

/// A thread's work: sends by PostgreSQL what this node publishes.
struct NotificationSender: Sendable {
  /// The pause after a call for each notification of it, in which more gather, and the longest one. It grows with the rate:
  /// few are sent at once, and many together.
  private static let pause = (each: Duration.microseconds(200), most: Duration.milliseconds(2))
  /// The pause after two connections that have failed.
  private static let rest = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let seal: NotificationSeal
  let outgoing: OutgoingNotifications

  /// Sends until the bus is closed and nothing waits. What can't be sent is dropped: it would be out of date.
  func run() {
    var connection: NotificationConnection?
    var count: UInt64 = 0
    while let waiting = outgoing.next() {
      // The connection may have been lost long ago, which only its use shows.
      for isLastTry in [false, true] {
        do {
          let open = try connection ?? NotificationConnection(address)
          connection = open
          let sent = try send(waiting, by: open, count: &count)
          outgoing.count { $0.sent += sent }
          _ = outgoing.isClosed(within: min(Self.pause.each * waiting.count, Self.pause.most))
          break
        } catch {
          connection = nil
          guard isLastTry else { continue }
          outgoing.count { $0.dropped += waiting.reduce(0) { $0 + $1.notifications.count } }
          outgoing.drop()
          _ = outgoing.isClosed(within: Self.rest)
        }
      }
    }
  }

  /// Sends each node its notifications.
  ///
  /// - Returns: their number, counted once for each node.
  private func send(
    _ waiting: [OutgoingNotifications.Publication], by connection: NotificationConnection,
    count: inout UInt64
  ) throws -> Int {
    let isForAll = waiting.contains { $0.recipients == .all }
    let all = isForAll ? try connection.livingNodes() : []
    var notifications: [NodeID: [NodeNotification]] = [:]
    for publication in waiting {
      let nodes = if case .nodes(let nodes) = publication.recipients { nodes } else { all }
      for node in nodes where node != seal.node {
        notifications[node, default: []] += publication.notifications
      }
    }
    try connection.notify(
      notifications.flatMap { node, notifications in
        seal.seal(notifications, to: node, count: &count).map { (node, $0) }
      })
    return notifications.values.reduce(0) { $0 + $1.count }
  }
}

/// Notifications that wait for the thread that sends them, and the statistics of a bus.
final class OutgoingNotifications: Sendable {
  /// The most bytes that wait. Further ones are dropped, and other nodes see the changes by polling.
  private static let limit = 8 << 20

  /// Notifications that were published together.
  typealias Publication = (notifications: [NodeNotification], recipients: Recipients)

  private struct State: Sendable {
    var waiting: [Publication] = []
    var bytes = 0
    var statistics = BusStatistics()
    var isClosed = false
  }

  private let state = Monitor(State())

  /// Adds notifications, if there is room.
  func append(_ notifications: [NodeNotification], to recipients: Recipients) {
    guard !notifications.isEmpty, recipients != .nodes([]) else { return }
    let bytes = notifications.reduce(0) { $0 + 64 + $1.topic.key.count + $1.content.count }
    let isFirst = state.withLock { state in
      guard !state.isClosed, state.bytes + bytes <= Self.limit else {
        state.statistics.dropped += notifications.count
        return false
      }
      state.bytes += bytes
      state.waiting.append((notifications, recipients))
      return state.waiting.count == 1
    }
    // All, as the listener may wait as well, for something else. The notifier doesn't wait while there are some.
    if isFirst { state.wakeAll() }
  }

  /// Waits for notifications, and removes all of them.
  ///
  /// - Returns: the published ones, in order, or nil at the end.
  func next() -> [Publication]? {
    state.withLock(when: { $0.isClosed || !$0.waiting.isEmpty }) { state in
      guard !state.waiting.isEmpty else { return nil }
      state.bytes = 0
      return exchange(&state.waiting, with: [])
    }
  }

  /// Waits until the end or for some time.
  ///
  /// - Returns: whether there won't be any more notifications.
  func isClosed(within limit: Duration) -> Bool {
    state.withLock(when: \.isClosed, within: limit) { $0.isClosed }
  }

  /// Forgets what waits.
  func drop() {
    state.withLock { state in
      state.statistics.dropped += state.waiting.reduce(0) { $0 + $1.notifications.count }
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
