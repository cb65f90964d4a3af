internal import Observability
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
