package import ApptimistProtocol
package import Delivery

/// An entry of a stream: a message or a truncation.
package struct StreamEntry: Hashable, Sendable {
  /// The content of an entry.
  package enum Content: Hashable, Sendable {
    /// A message with its header in clear and its data as it is boxed.
    case message(header: [UInt8], data: [UInt8])
    case truncation
  }

  package let position: StreamPosition
  /// The message, or the one that is truncated.
  package let id: MessageID
  package let content: Content

  /// Describes an entry.
  package init(position: StreamPosition, id: MessageID, content: Content) {
    (self.position, self.id, self.content) = (position, id, content)
  }
}

extension Entry<StreamPosition, StreamEntry> {
  /// Describes an entry of a stream: positions have no gaps.
  package init(_ entry: StreamEntry) {
    self.init(entry, at: entry.position, after: entry.position.previous)
  }
}

/// Some of a mailbox's entries, in order.
package struct StreamPage: Hashable, Sendable {
  package var entries: [StreamEntry]
  /// The position after which to go on.
  package var end: StreamPosition
  /// True if the mailbox had nothing more.
  package var isLast: Bool
  /// True if the session may not read on, as its login holds no more.
  package var isForbidden = false

  /// Describes a page.
  package init(entries: [StreamEntry], end: StreamPosition, isLast: Bool) {
    (self.entries, self.end, self.isLast) = (entries, end, isLast)
  }
}
