internal import Storage
internal import Time

/// A thread's work: tells other nodes by PostgreSQL what this one publishes.
struct NoticeNotifier: Sendable {
  /// The pause after a call for each notice of it, in which more gather, and the longest one. It grows with the rate of
  /// notices: few are told at once, and many together.
  private static let pause = (each: Duration.microseconds(200), most: Duration.milliseconds(2))
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
          _ = outgoing.isClosed(
            within: min(Self.pause.each * told.count, Self.pause.most))
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
