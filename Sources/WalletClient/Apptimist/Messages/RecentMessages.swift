internal import ApptimistProtocol
internal import Threading

/// The messages that came of late, as a service may send one again.
struct RecentMessages {
  private let limit: Int
  private var ids: Set<MessageID> = []
  private var order = FIFO<MessageID>()

  /// Remembers a number of messages.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Remembers a message.
  ///
  /// - Returns: whether it is a new one.
  mutating func insert(_ id: MessageID) -> Bool {
    guard ids.insert(id).inserted else { return false }
    order.append(id)
    if ids.count > limit, let oldest = order.popFirst() { ids.remove(oldest) }
    return true
  }
}
