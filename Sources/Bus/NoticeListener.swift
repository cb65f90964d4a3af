internal import Observability
internal import Storage
internal import Time

/// A thread's work: hears what other nodes tell by PostgreSQL, and tells this node's services.
struct NoticeListener: Sendable {
  /// The time after which the thread notices that the bus is closed.
  private static let slice = Duration.milliseconds(200)

  let address: PostgreSQLAddress
  let node: NodeID
  let interval: Duration
  let subscribers: Subscribers
  let outgoing: OutgoingNotices
  let log: Log

  /// Hears until the bus is closed.
  func run() {
    var nextLook = ContinuousClock.now + interval
    var tries = 0
    while !outgoing.isClosed {
      do {
        let connection = try NotificationConnection(address)
        try connection.listen(to: "awd")
        if tries > 0 { log.info("other nodes are heard again") }
        tries = 0
        // What was told before is lost.
        subscribers.tellOfLoss()
        while !outgoing.isClosed {
          hear(try connection.told(within: min(Self.slice, interval)))
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

  private func hear(_ texts: [String]) {
    var notices: [Notice] = []
    for text in texts {
      // A text that no node has written may stand for any lost notice.
      guard let told = NoticeText.notices(in: text, except: node) else {
        subscribers.tellOfLoss()
        continue
      }
      notices += told
    }
    guard !notices.isEmpty else { return }
    outgoing.count { $0.heard += notices.count }
    subscribers.tell(notices)
  }

  /// Lets services look by themselves once in a while.
  private func look(_ next: inout ContinuousClock.Instant) {
    guard ContinuousClock.now >= next else { return }
    next = .now + interval
    subscribers.tellOfLoss()
  }
}
