internal import Push
internal import Storage

/// The messages that a stream has delivered.
struct StreamProgress: Sendable {
  /// The message after which the stream began.
  let start: MessageID
  /// The last message that was sent.
  var sent: MessageID
  /// The last message that the peer is known to have.
  var confirmed: MessageID
}

extension MsgrStore {
  /// Returns the last identifier of the caller's log: a stream that begins there misses nothing new.
  func lastID(as caller: Caller) async throws -> MessageID {
    try await read(as: caller) { snapshot in try lastID(of: caller.name, snapshot) }
  }

  private func lastID(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> MessageID {
    try database.value("SELECT last_id FROM msgr_users WHERE username = ?", name)
      ?? .zero
  }

  /// Notes a stream of this node, so that nobody has messages pushed that it brings.
  func begin(_ stream: Int64, of token: BoundToken, after start: MessageID) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.begin(stream, of: token, after: start, transaction)
    }
  }

  /// Forgets a stream of this node.
  func end(_ stream: Int64) async throws {
    try await store.write(isolation: .rowLocks) { try deliveries.end(stream, $0) }
  }

  /// Notes a stream's deliveries.
  ///
  /// - Parameters:
  ///   - progress: the stream's deliveries.
  ///   - token: the token that the stream was opened with.
  ///   - ended: the stream if it has ended: the pushes are made due that were held for it, and that no other stream of the
  ///     device makes needless.
  func settle(
    _ progress: StreamProgress, of token: BoundToken, ending ended: Int64? = nil
  ) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.lock([token.name], transaction)
      try deliveries.lock(token.device, transaction)
      if progress.sent > progress.start {
        try noteSeen(upTo: progress.sent, by: token.name, transaction)
      }
      let device = Array(token.device.text.utf8)
      try pushes.drop(
        device, after: progress.start.rawValue, upTo: progress.confirmed.rawValue,
        evenLeased: true, transaction)
      guard let ended else { return }
      try deliveries.end(ended, transaction)
      let released = min(
        try deliveries.firstStart(of: token, transaction) ?? .last,
        // Messages after the last one are not this stream's.
        try lastID(of: token.name, transaction))
      try pushes.release(device, upTo: released.rawValue, at: now, transaction)
    }
  }
}
