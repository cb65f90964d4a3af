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
