internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// The messages that a stream has delivered.
struct MessageStreamProgress: Sendable {
  /// The message after which the stream began.
  let start: MsgrMessageID
  /// The last message that was sent.
  var sent: MsgrMessageID
  /// The last message that the peer is known to have.
  var confirmed: MsgrMessageID
}

extension MsgrStore {
  /// Returns the last identifier of the caller's log: a stream that begins there misses nothing new.
  func lastID(as caller: Caller) async throws -> MsgrMessageID {
    try await read(as: caller) { snapshot in try lastID(of: caller.name, snapshot) }
  }

  private func lastID(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> MsgrMessageID {
    try database.value("SELECT last_id FROM msgr_users WHERE username = ?", name)
      ?? .zero
  }

  /// Records a stream of this node, so that nobody has messages pushed that it brings.
  func begin(_ stream: Int64, of token: BoundToken, after start: MsgrMessageID) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try strategy.begin(stream, of: token, after: start, transaction)
    }
  }

  /// Forgets a stream of this node.
  func end(_ stream: Int64) async throws {
    try await store.write(isolation: .rowLocks) { try strategy.end(stream, $0) }
  }

  /// Records a stream's deliveries.
  ///
  /// - Parameters:
  ///   - token: the token that the stream was opened with.
  ///   - ended: the stream if it has ended: the pushes are made due that were held for it, and that no other stream of the
  ///     device makes needless.
  func recordProgress(
    _ progress: MessageStreamProgress, of token: BoundToken, ending ended: Int64? = nil
  ) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try strategy.lock([token.name], transaction)
      try strategy.lock(token.device, transaction)
      if progress.sent > progress.start {
        try recordSeen(upTo: progress.sent, by: token.name, transaction)
      }
      let device = Array(token.device.text.utf8)
      try pushes.drop(
        device, after: progress.start.rawValue, upTo: progress.confirmed.rawValue,
        evenLeased: true, transaction)
      guard let ended else { return }
      try strategy.end(ended, transaction)
      let released = min(
        try strategy.firstStart(of: token, transaction) ?? .last,
        // Messages after the last one are not this stream's.
        try lastID(of: token.name, transaction))
      try pushes.release(device, upTo: released.rawValue, at: now, transaction)
    }
  }
}

// Look-ups of a node that shares the store, for its streams.
extension MsgrStore {
  /// Joins names, which have no line feed, into one text.
  static func list(_ names: [UserName]) -> String { names.map(\.text).joined(separator: "\n") }

  /// Returns the registered streams of a node.
  func streams(of node: NodeID) async throws -> Set<Int64> {
    try await store.read { snapshot in
      Set(
        try snapshot.all("SELECT number FROM msgr_streams WHERE node = ?", node) {
          try $0[0] as Int64
        })
    }
  }

  /// Returns the last identifiers of users' logs.
  func lastIDs(of names: [UserName]) async throws -> [(user: UserName, last: MsgrMessageID)] {
    let list = Self.list(names)
    return try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT username, last_id FROM msgr_users WHERE username = ANY (string_to_array(?, chr(10)))
        """, list
      ) { (try $0[0], try $0[1]) }
    }
  }

  /// Reads messages of users' logs, at most so many as a page has.
  func entries(
    at places: [(user: UserName, position: MsgrMessageID)]
  ) async throws -> [(user: UserName, predecessor: MsgrMessageID, message: Message)] {
    let places = places.prefix(Self.pageSize)
    let names = Self.list(places.map(\.user))
    let positions = places.map { "\($0.position.rawValue)" }.joined(separator: " ")
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.all(
        """
        SELECT m.*, w.name, greatest(0,
          (SELECT max(id) FROM msgr_messages WHERE recipient = w.name AND id < w.position),
          (SELECT max(id) FROM msgr_sent WHERE sender = w.name AND id < w.position))
        FROM unnest(
          string_to_array(?1, chr(10)), CAST(string_to_array(?2, ' ') AS bigint[])
        ) AS w (name, position) CROSS JOIN LATERAL (
          SELECT id, sender, NULL, text, sent_at, is_add_request, parts, number, topic, NULL, NULL
          FROM msgr_inboxes WHERE recipient = w.name AND id = w.position AND sent_at > ?3
          UNION ALL
          SELECT id, sender, recipient, text, sent_at, 0, NULL, NULL, NULL, client_id, device_id
          FROM msgr_sent WHERE sender = w.name AND id = w.position AND sent_at > ?3
        ) AS m
        """, names, positions, now - limits.messageAge
      ) { row in (try row[11], try row[12], try Self.message(row)) }
    }
  }

  /// Finds the tokens that have ended, of some that were good, at once.
  func endedAtOnce(of tokens: [TokenHash]) async throws -> Set<TokenHash> {
    let limit = now - limits.tokenAge
    let hashes = tokens.flatMap(\.digest.bytes)
    return try await store.read { snapshot in
      Set(
        try snapshot.all(
          """
          SELECT substr(?1, 32 * i + 1, 32) FROM generate_series(0, length(?1) / 32 - 1) i
          WHERE NOT EXISTS (
            SELECT 1 FROM msgr_tokens WHERE hash = substr(?1, 32 * i + 1, 32) AND used_at > ?2)
          """, hashes, limit
        ) { try $0[0] as TokenHash })
    }
  }

  /// Returns the user whom a user has a message from or has sent it to, or nil if the message isn't there.
  func correspondent(of name: UserName, at id: MsgrMessageID) async throws -> UserName? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        """
        SELECT sender FROM msgr_messages WHERE recipient = ?1 AND id = ?2
        UNION ALL SELECT recipient FROM msgr_sent WHERE sender = ?1 AND id = ?2
        """, name, id)
    }
  }
}
