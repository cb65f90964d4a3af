internal import ApptimistProtocol
internal import Cryptography
internal import Storage

// What nodes that share the store look up and keep for each other there.
extension ApptimistStore {
  /// The state of a user's mailbox and account, for a node that has sessions of the user.
  struct UserState: Sendable {
    let user: EncryptionPublicKey
    let last: MailboxPosition
    let isClosed: Bool
  }

  /// Looks up how far the mailboxes of users have got, and which of them have no version 1 any more. Users who
  /// can't log in any more are left out.
  func states(of users: [EncryptionPublicKey]) async throws -> [UserState] {
    let keys = users.flatMap(\.bytes)
    return try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT u.key, q.last_position, u.is_closed
        FROM generate_series(0, length(?1) / 32 - 1) AS k (i) CROSS JOIN LATERAL (
          SELECT id, key, is_closed FROM apptimist_users
          WHERE key = substr(?1, 32 * k.i + 1, 32) AND kind = ?2 OFFSET 0) u
        CROSS JOIN LATERAL (SELECT last_position FROM apptimist_queues WHERE owner = u.id OFFSET 0) q
        """, keys, StoredKind.user
      ) { row in UserState(user: try row[0], last: try row[1], isClosed: try row[2]) }
    }
  }

  /// A message in the mailbox of a user, and the account as it is with it.
  struct StoredMessage: Sendable {
    let user: EncryptionPublicKey
    let authenticationKey: AuthenticationPublicKey
    let isClosed: Bool
    let entry: MailboxEntry
  }

  /// Reads the messages at positions of users' mailboxes: as many of the first ones as fit into a page.
  func messages(
    at places: [(user: EncryptionPublicKey, position: MailboxPosition)]
  ) async throws -> [StoredMessage] {
    let keys = places.flatMap(\.user.bytes)
    let positions = places.map { "\($0.position.rawValue)" }.joined(separator: " ")
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.all(
        """
        SELECT e.key, e.authentication_key, e.is_closed, e.position, e.message_id, c.header, c.data
        FROM (
          SELECT u.key, u.authentication_key, u.is_closed, e.position, e.message_id, e.content,
            sum(e.size) OVER (ORDER BY w.place) AS bytes
          FROM unnest(CAST(string_to_array(?1, ' ') AS bigint[])) WITH ORDINALITY AS w (position, place)
            CROSS JOIN LATERAL (
              SELECT id, key, authentication_key, is_closed FROM apptimist_users
              WHERE key = substr(?2, CAST(32 * w.place - 31 AS integer), 32) OFFSET 0
            ) AS u
            CROSS JOIN LATERAL (
              SELECT * FROM apptimist_entries WHERE owner = u.id AND position = w.position OFFSET 0
            ) AS e
        ) AS e CROSS JOIN LATERAL (
          SELECT header, data FROM apptimist_contents WHERE id = e.content OFFSET 0
        ) AS c WHERE e.bytes <= ?3
        """, positions, keys, limits.pageBytes
      ) { row in
        let user: EncryptionPublicKey = try row[0]
        let content = MailboxEntry.Content.message(
          header: PDU.Message.header(try row[5], for: user), data: try row[6])
        return StoredMessage(
          user: user, authenticationKey: try row[1], isClosed: try row[2],
          entry: MailboxEntry(position: try row[3], id: try row[4], content: content))
      }
    }
  }

  /// Records a session of a user, and forgets the user's oldest ones if there are too many.
  ///
  /// - Returns: the sessions that have to end, and the last position of the mailbox: nodes are notified of all behind it.
  func join(
    _ session: NodeSession, of user: EncryptionPublicKey, limit: Int
  ) async throws -> (evicted: [NodeSession], last: MailboxPosition) {
    try await store.write(isolation: .rowLocks) { transaction in
      guard let owner = try userNumber(of: user, transaction) else { return ([], .zero) }
      try deliveries.lock(mailboxOf: owner, transaction)
      try transaction.execute(
        """
        INSERT INTO apptimist_sessions (owner, node, session) VALUES (?, ?, ?)
        ON CONFLICT DO NOTHING
        """, owner, session.node, session.session)
      let evicted = try transaction.all(
        """
        DELETE FROM apptimist_sessions WHERE (node, session) IN
          (SELECT node, session FROM apptimist_sessions WHERE owner = ?
           ORDER BY joined_at DESC OFFSET ?)
        RETURNING node, session
        """, owner, limit
      ) { row in NodeSession(node: try row[0], session: try row[1]) }
      return (evicted, try mailboxes.state(of: owner, transaction).last)
    }
  }

  /// Returns the nodes that have sessions of a user.
  func nodes(of user: EncryptionPublicKey) async throws -> [NodeID] {
    try await store.read { snapshot in
      try userNumber(of: user, snapshot).map { try SharedDelivery.nodes(of: $0, snapshot) } ?? []
    }
  }

  /// The sessions that are recorded of a node, and the moment at which the node has joined the others; nil if it is none of
  /// them.
  func sessions(of node: NodeID) async throws -> (joined: Int64, sessions: Set<SessionID>)? {
    try await store.read { snapshot in
      let joined: Int64? = try snapshot.value(
        "SELECT (extract(epoch FROM joined_at) * 1000000)::bigint FROM store_nodes WHERE id = ?",
        node)
      guard let joined else { return nil }
      let sessions: [SessionID] = try snapshot.values(
        "SELECT session FROM apptimist_sessions WHERE node = ?", node)
      return (joined, Set(sessions))
    }
  }

  // MARK: - Locks on files

  /// Locks a file for a session, or renews its lock, and reads the file.
  ///
  /// - Parameter lease: the time after which the lock ends unless it is renewed.
  /// - Returns: the content, or nil if there is no such file; or the error that applies.
  func lock(
    _ file: FileAddress, for holder: NodeSession, lease: Duration, limit: Int
  ) async throws -> FileReply {
    let seconds = lease / .seconds(1)
    return try await store.write(isolation: .rowLocks) { transaction in
      guard let directory = try lockedDirectory(file.directory, transaction) else {
        return .refused(.notFound)
      }
      guard try isFree(file.name, in: directory.number, for: holder, transaction) else {
        return .refused(.locked)
      }
      let count: Int? = try transaction.value(
        """
        SELECT count(*) FROM apptimist_locks WHERE node = ? AND session = ?
          AND ends_at > clock_timestamp() AND NOT (directory = ? AND name = ?)
        """, holder.node, holder.session, directory.number, file.name.text)
      guard let count, count < limit else { return .refused(.overQuota) }
      try transaction.execute(
        """
        INSERT INTO apptimist_locks (directory, name, node, session, ends_at)
        VALUES (?, ?, ?, ?, clock_timestamp() + ? * interval '1 second')
        ON CONFLICT (directory, name) DO UPDATE
        SET node = excluded.node, session = excluded.session, ends_at = excluded.ends_at
        """, directory.number, file.name.text, holder.node, holder.session, seconds)
      return .done(try content(of: file.name.text, in: directory.number, transaction) ?? [])
    }
  }

  /// Looks up a directory, and keeps others from changing it until the end of the transaction.
  func lockedDirectory(
    _ key: EncryptionPublicKey, _ transaction: borrowing Transaction
  ) throws -> StoredDirectory? {
    let directory = try directory(key, transaction)
    guard let directory else { return nil }
    try deliveries.lock(directoriesOf: directory.owner, transaction)
    // As it is now.
    return try self.directory(key, transaction)
  }

  /// Returns whether no other session has a lock on a file.
  func isFree(_ file: FileAddress, for session: NodeSession) async throws -> Bool {
    try await store.read { snapshot in
      guard let directory = try directory(file.directory, snapshot) else { return true }
      return try isFree(file.name, in: directory.number, for: session, snapshot)
    }
  }

  /// Returns whether no other session has a lock on a file.
  func isFree(
    _ name: Filename, in directory: AccountNumber, for session: NodeSession,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.one(
      """
      SELECT 1 FROM apptimist_locks WHERE directory = ? AND name = ? AND ends_at > clock_timestamp()
        AND NOT (node = ? AND session = ?)
      """, directory, name.text, session.node, session.session
    ) { _ in false } ?? true
  }

  /// Ends a session's lock on a file, if it has one.
  func release(
    _ name: Filename, in directory: AccountNumber, by session: NodeSession,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM apptimist_locks WHERE directory = ? AND name = ? AND node = ? AND session = ?",
      directory, name.text, session.node, session.session)
  }
}
