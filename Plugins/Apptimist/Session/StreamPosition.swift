internal import Cluster

/// A position in a user's mailbox. The positions of a mailbox follow each other without a gap: 1, 2,
/// 3.
struct StreamPosition: EntryPosition {
  let rawValue: Int64

  /// The position before the first one.
  static let zero = StreamPosition(rawValue: 0)

  /// The position right behind this one; the last one stays.
  var next: StreamPosition { StreamPosition(rawValue: max(rawValue &+ 1, rawValue)) }

  /// The position right before this one; the lowest one stays.
  var previous: StreamPosition { StreamPosition(rawValue: min(rawValue &- 1, rawValue)) }

  static func < (left: StreamPosition, right: StreamPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}
