internal import MsgrProtocol
internal import Storage

extension MsgrStore {
  /// Returns the last identifier of the caller's log: a stream that begins there misses nothing new.
  func lastID(as caller: Caller) async throws -> MessageID {
    try await read(as: caller) { snapshot in try lastID(of: caller.name, snapshot) }
  }

  /// Returns the last identifier of a user's log.
  func lastID(of name: UserName) async throws -> MessageID {
    try await store.read { snapshot in try lastID(of: name, snapshot) }
  }

  private func lastID(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> MessageID {
    try database.one("SELECT last_id FROM msgr_users WHERE username = ?", name) { try $0[0] }
      ?? .zero
  }

  /// Notes what a stream has delivered.
  ///
  /// - Parameters:
  ///   - cursor: the position that the stream has come to.
  ///   - token: the token that the stream was opened with.
  ///   - released: the last message whose held push is made due, as no stream of the device brings it; nil if none is.
  ///   - ended: the stream, if it has ended and other nodes know it; then they say what is released.
  func settle(
    _ cursor: InboxCursor, of token: BoundToken, releasedTo released: MessageID?,
    ending ended: NodeStream? = nil
  ) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try lock([token.name], transaction)
      try lock(token.device, transaction)
      var released = released
      if let ended {
        try end(ended, transaction)
        released = min(
          try firstStart(of: token.device, transaction) ?? .last,
          try lastID(of: token.name, transaction))
      }
      if cursor.streamed > cursor.start {
        try noteSeen(upTo: cursor.streamed, by: token.name, transaction)
      }
      try dropPushes(
        to: token.device, after: cursor.start, confirmed: cursor.confirmed, transaction)
      if let released { try releasePushes(to: token.device, upTo: released, transaction) }
    }
  }

  /// Makes the held pushes of some devices due.
  ///
  /// - Parameter last: the last message whose push is made due.
  func releasePushes(to devices: [DeviceID], upTo last: MessageID) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      for device in devices { try releasePushes(to: device, upTo: last, transaction) }
    }
  }
}
