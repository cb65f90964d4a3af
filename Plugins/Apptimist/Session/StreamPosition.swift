internal import Delivery

/// A position in a user's mailbox. The positions of a mailbox follow each other without a gap: 1, 2,
/// 3.
package struct StreamPosition: EntryPosition {
  package let rawValue: Int64

  /// Makes a position of its number.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The position before the first one.
  package static let zero = StreamPosition(rawValue: 0)

  /// The position right behind this one; the last one stays.
  package var next: StreamPosition { StreamPosition(rawValue: max(rawValue &+ 1, rawValue)) }

  /// The position right before this one; the lowest one stays.
  package var previous: StreamPosition { StreamPosition(rawValue: min(rawValue &- 1, rawValue)) }

  package static func < (left: StreamPosition, right: StreamPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}
