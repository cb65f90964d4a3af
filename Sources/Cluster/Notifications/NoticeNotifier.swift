internal import Storage

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
