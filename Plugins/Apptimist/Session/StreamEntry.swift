internal import ApptimistProtocol
internal import Cluster

/// An entry of a stream: a message or a truncation.
struct StreamEntry: Hashable, Sendable {
  /// The content of an entry.
  enum Content: Hashable, Sendable {
    /// A message with its header in clear and its data as it is boxed.
    case message(header: [UInt8], data: [UInt8])
    case truncation
  }

  let position: StreamPosition
  /// The message, or the one that is truncated.
  let id: MessageID
  let content: Content
}

extension Entry<StreamPosition, StreamEntry> {
  /// Describes an entry of a stream: positions have no gaps.
  init(_ entry: StreamEntry) {
    self.init(entry, at: entry.position, after: entry.position.previous)
  }
}

/// Some of a mailbox's entries, in order.
struct StreamPage: Hashable, Sendable {
  var entries: [StreamEntry]
  /// The position after which to go on.
  var end: StreamPosition
  /// True if the mailbox had nothing more.
  var isLast: Bool
  /// True if the session may not read on, as its login holds no more.
  var isForbidden = false
}
