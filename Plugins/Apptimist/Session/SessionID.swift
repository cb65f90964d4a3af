/// What a session is known by in this process; a later session has a higher number.
struct SessionID: Hashable, Comparable, Sendable {
  let number: UInt64

  static func < (left: SessionID, right: SessionID) -> Bool { left.number < right.number }
}
