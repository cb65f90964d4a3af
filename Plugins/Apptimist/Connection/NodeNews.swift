internal import ApptimistSession
internal import Bus
internal import Cryptography
internal import Storage

/// A notice between nodes about a user's mailbox and sessions.
enum NodeNews: Hashable, Sendable {
  /// The mailbox has entries up to a position.
  case grown(to: StreamPosition)
  /// The account has no version 1 any more.
  case closedVersion1
  /// A session has to give way to later ones of the user.
  case evicted(NodeSession)

  private static let length = 17

  /// Makes a notice of a user's.
  func notice(of user: EncryptionPublicKey) -> Notice {
    let content: [UInt8] =
      switch self {
      case .grown(let position): [0] + Self.bytes(position.rawValue)
      case .closedVersion1: [1]
      case .evicted(let session):
        [2] + Self.bytes(session.node.rawValue)
          + Self.bytes(Int64(bitPattern: session.session.number))
      }
    return Notice(Topic(ApptimistService.name, user.bytes), content)
  }

  /// Reads a notice; nil if it is none of a user's.
  static func read(_ notice: Notice) -> (user: EncryptionPublicKey, news: NodeNews)? {
    let content = notice.content
    guard let user = EncryptionPublicKey(notice.topic.key[...]), let kind = content.first,
      content.count <= length
    else { return nil }
    switch (kind, content.count) {
    case (0, 9): return (user, .grown(to: StreamPosition(rawValue: number(content[1...]))))
    case (1, 1): return (user, .closedVersion1)
    case (2, 17):
      let session = SessionID(number: UInt64(bitPattern: number(content[9...])))
      return (
        user,
        .evicted(NodeSession(node: NodeID(rawValue: number(content[1..<9])), session: session))
      )
    default: return nil
    }
  }

  private static func bytes(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reduce(0) { $0 << 8 | Int64($1) }
  }
}
