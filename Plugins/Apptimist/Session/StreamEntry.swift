package import ApptimistProtocol

/// A position in a user's mailbox. The positions of a mailbox follow each other without a gap: 1, 2,
/// 3.
package struct StreamPosition: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: Int64

  /// Makes a position of its number.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The position before the first one.
  package static let zero = StreamPosition(rawValue: 0)

  /// The position right behind this one.
  package var next: StreamPosition { StreamPosition(rawValue: rawValue + 1) }

  /// The position right before this one.
  package var previous: StreamPosition { StreamPosition(rawValue: rawValue - 1) }

  package static func < (left: StreamPosition, right: StreamPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}

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
    self.position = position
    self.id = id
    self.content = content
  }
}

/// Some of a mailbox's entries, in order.
package struct StreamPage: Hashable, Sendable {
  package let entries: [StreamEntry]
  /// The position after which to go on.
  package let end: StreamPosition
  /// Whether the mailbox had nothing more.
  package let isLast: Bool

  /// Describes a page.
  package init(entries: [StreamEntry], end: StreamPosition, isLast: Bool) {
    self.entries = entries
    self.end = end
    self.isLast = isLast
  }
}

/// The result of a request for truncation.
package enum Truncation: Hashable, Sendable {
  /// The message's content is deleted, and the stream tells so at this position.
  case first(StreamPosition)
  /// The message was truncated before.
  case again
  /// The message was never in the mailbox.
  case never
}
