internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// The posts that were opened of late: who can seal for a forum can seal the same post once more.
struct RecentPosts {
  private let messages: RecentValues<SHA512.Digest, MessageID>

  /// Remembers a number of posts.
  init(limit: Int = 20_000) { messages = RecentValues(limit: limit) }

  /// Remembers a post.
  ///
  /// - Returns: whether no other message has brought a post to the same forum, of the same author, time and content.
  func insert(_ message: DeviceMessage, _ content: [UInt8]) -> Bool {
    let time = (0..<8).map { UInt8(truncatingIfNeeded: message.time >> (8 * $0)) }
    let digest = SHA512.hash(message.to.bytes + message.from.bytes + time, content[...])
    if let first = messages.value(for: digest) { return first == message.id }
    return messages.insert(message.id, for: digest)
  }
}
