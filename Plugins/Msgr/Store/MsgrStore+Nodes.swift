internal import Cryptography
internal import MsgrProtocol
internal import Storage
internal import Time

// Look-ups of a node that shares the store, for its streams.
extension MsgrStore {
  /// Joins names, which have no line feed, into one text.
  static func list(_ names: [UserName]) -> String { names.map(\.text).joined(separator: "\n") }

  /// Returns the streams that are noted of a node.
  func streams(of node: NodeID) async throws -> Set<Int64> {
    try await store.read { snapshot in
      Set(
        try snapshot.all("SELECT number FROM msgr_streams WHERE node = ?", node) {
          try $0[0] as Int64
        })
    }
  }

  /// Returns the last identifiers of users' logs.
  func lastIDs(of names: [UserName]) async throws -> [(user: UserName, last: MessageID)] {
    let list = Self.list(names)
    return try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT username, last_id FROM msgr_users
        WHERE username = ANY (string_to_array(?, chr(10)))
        """, list
      ) { (try $0[0], try $0[1]) }
    }
  }

  /// Finds the tokens that have ended, of some that were good, at once.
  func endedAtOnce(of tokens: [TokenHash]) async throws -> Set<TokenHash> {
    let (limit, hashes) = (now - limits.tokenAge, tokens.flatMap(\.digest.bytes))
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
  func correspondent(of name: UserName, at id: MessageID) async throws -> UserName? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        """
        SELECT sender FROM msgr_messages WHERE recipient = ?1 AND id = ?2
        UNION ALL SELECT recipient FROM msgr_sent WHERE sender = ?1 AND id = ?2
        """, name, id)
    }
  }
}
