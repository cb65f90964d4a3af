internal import Storage
internal import Time

/// A thread's work: tells other nodes by PostgreSQL what this one publishes.
struct NoticeNotifier: Sendable {
  /// The pause between two calls, in which notices gather.
  private static let pause = Duration.milliseconds(2)
  /// The pause before a new connection after one that failed.
  private static let rest = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let node: NodeID
  let outgoing: OutgoingNotices

  /// Tells until the bus is closed and nothing waits. What can't be told is dropped: it would be out of date.
  func run() {
    while let first = outgoing.take() {
      var notices: [Notice]? = first
      do {
        let connection = try NotificationConnection(address)
        while let told = notices {
          for text in NoticeText.texts(of: told, from: node) {
            try connection.tell(text, on: "awd")
          }
          outgoing.count { $0.told += told.count }
          _ = outgoing.isClosed(within: Self.pause)
          notices = outgoing.take()
        }
      } catch {
        outgoing.count { $0.dropped += notices?.count ?? 0 }
        outgoing.drop()
        _ = outgoing.isClosed(within: Self.rest)
      }
    }
  }
}
