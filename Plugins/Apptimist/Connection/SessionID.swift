internal import Storage

/// The number of a session in this process.
struct SessionID: Hashable, Sendable {
  let number: UInt64
}

/// A session among those of all nodes.
struct NodeSession: Hashable, Sendable {
  let node: NodeID
  let session: SessionID
}

extension SessionID: DatabaseValueConvertible {
  init?(databaseValue: DatabaseValue) {
    guard let number = Int64(databaseValue: databaseValue) else { return nil }
    self.init(number: UInt64(bitPattern: number))
  }

  var databaseValue: DatabaseValue { Int64(bitPattern: number).databaseValue }
}
