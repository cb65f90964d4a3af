/// The number of a session in this process; a later session has a higher one.
struct SessionID: Hashable, Comparable, Sendable {
  let number: UInt64

  static func < (left: SessionID, right: SessionID) -> Bool { left.number < right.number }
}
