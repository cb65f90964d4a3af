internal import ApptimistProtocol
internal import Cryptography
internal import Threading

/// The posts that were opened of late: who can seal for a forum can seal the same post once more.
struct RecentPosts {
  private let limit: Int
  private var messages: [SHA512.Digest: MessageID] = [:]
  private var order = FIFO<SHA512.Digest>()

  /// Remembers a number of posts.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Remembers a post.
  ///
  /// - Returns: whether no other message has brought a post to the same forum, of the same author, time and content.
  mutating func insert(_ message: DeviceMessage, _ content: [UInt8]) -> Bool {
    let time = (0..<8).map { UInt8(truncatingIfNeeded: message.time >> (8 * $0)) }
    let digest = SHA512.hash(message.to.bytes + message.from.bytes + time, content[...])
    if let first = messages[digest] { return first == message.id }
    messages[digest] = message.id
    order.append(digest)
    if messages.count > limit, let oldest = order.popFirst() { messages[oldest] = nil }
    return true
  }
}
