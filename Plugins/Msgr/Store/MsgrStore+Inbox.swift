internal import Platform
internal import Storage

// Reading what is kept for a user: the inbox, and the log, which has the user's own copies too.
extension MsgrStore {
  /// The most messages of an inbox that are read at once.
  static let pageSize = 100

  /// Returns the caller's messages after a position, oldest first.
  func inbox(
    of caller: Caller, since position: MsgrMessageID, atMost count: Int
  ) async throws -> BoundedPage<Message> {
    let name = caller.name
    let (found, seen) = try await read(as: caller) {
      snapshot -> (BoundedPage<Message>, MsgrMessageID) in
      let seen: MsgrMessageID? = try snapshot.value(
        "SELECT seen_id FROM msgr_users WHERE username = ?", name)
      return (try page(of: name, after: position, atMost: count, snapshot), seen ?? .zero)
    }
    if seen < position { try await recordSeen(upTo: position, by: name) }
    return found
  }

  private func page(
    of name: UserName, after position: MsgrMessageID, atMost count: Int,
    _ snapshot: borrowing Snapshot
  ) throws -> BoundedPage<Message> {
    try snapshot.page(
      """
      SELECT id, sender, NULL, text, sent_at, is_add_request, parts, number, topic, NULL, NULL
      FROM msgr_inboxes WHERE recipient = ? AND id > ? AND sent_at > ? ORDER BY id LIMIT ?
      """, name, position, now - limits.messageAge, count, measuring: Self.longColumns,
      transform: Self.message)
  }

  /// The columns with text and parts, in the rows of messages.
  static let longColumns = [3, 6]

  /// Returns the position before a user's first unread message, or the last one if none is unread.
  func seen(by name: UserName, _ database: borrowing some Queryable & ~Copyable) throws
    -> MsgrMessageID
  {
    try database.value(
      """
      SELECT coalesce((
        SELECT m.id - 1 FROM msgr_inboxes m
        WHERE m.recipient = u.username AND m.id > u.seen_id AND m.is_read = 0 AND m.sent_at > ?
        ORDER BY m.id LIMIT 1), u.last_id)
      FROM msgr_users u WHERE u.username = ?
      """, now - limits.messageAge, name) ?? .zero
  }

  /// Records the position that a user has come to; never back, and not beyond the last identifier.
  func recordSeen(upTo position: MsgrMessageID, by name: UserName) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try strategy.lock([name], transaction)
      try recordSeen(upTo: position, by: name, transaction)
    }
  }

  /// Records the position that a user has come to, within a transaction.
  func recordSeen(
    upTo position: MsgrMessageID, by name: UserName, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE msgr_users SET seen_id = CASE WHEN last_id < ?1 THEN last_id ELSE ?1 END,
        unread = CASE WHEN unread > seen.messages THEN unread - seen.messages ELSE 0 END
      FROM (
        SELECT count(*) AS messages FROM msgr_messages m
        JOIN msgr_users u ON u.username = m.recipient
        WHERE m.recipient = ?2 AND m.id > u.seen_id AND m.id <= ?1 AND m.is_read = 0) AS seen
      WHERE username = ?2 AND seen_id < ?1
      """, position, name)
  }

  /// Returns a user's stream after a position, oldest first: messages to the user, and own ones.
  func log(
    of name: UserName, after position: MsgrMessageID, atMost count: Int = pageSize
  ) async throws -> BoundedPage<Message> {
    try await store.read { snapshot in
      try log(of: name, after: position, atMost: count, snapshot)
    }
  }

  /// Returns the same, within a transaction that confirms the user.
  func log(
    of name: UserName, after position: MsgrMessageID, atMost count: Int = pageSize,
    _ snapshot: borrowing Snapshot
  ) throws -> BoundedPage<Message> {
    try snapshot.page(
      """
      SELECT id, sender, NULL, text, sent_at, is_add_request, parts, number, topic, NULL, NULL
      FROM msgr_inboxes WHERE recipient = ?1 AND id > ?2 AND sent_at > ?3
      UNION ALL
      SELECT id, sender, recipient, text, sent_at, 0, NULL, NULL, NULL, client_id, device_id
      FROM msgr_sent WHERE sender = ?1 AND id > ?2 AND sent_at > ?3 ORDER BY 1 LIMIT ?4
      """, name, position, now - limits.messageAge, count, measuring: Self.longColumns,
      transform: Self.message)
  }

  /// Returns what two users have sent each other, newest first, as far as it is kept for the caller.
  ///
  /// - Parameter position: the message before which to begin.
  func history(
    of caller: Caller, with other: UserName, before position: MsgrMessageID, atMost count: Int
  ) async throws -> BoundedPage<Message> {
    try await read(as: caller) { snapshot in
      try snapshot.page(
        """
        SELECT id, sender, recipient, text, sent_at, is_add_request, parts, number, topic,
          NULL, NULL
        FROM msgr_inboxes WHERE recipient = ?1 AND sender = ?2 AND id < ?3 AND sent_at > ?4
        UNION ALL
        SELECT id, sender, recipient, text, sent_at, 0, NULL, NULL, NULL, client_id, device_id
        FROM msgr_sent WHERE sender = ?1 AND recipient = ?2 AND id < ?3 AND sent_at > ?4
        ORDER BY 1 DESC LIMIT ?5
        """, caller.name, other, position, now - limits.messageAge, count,
        measuring: Self.longColumns, transform: Self.message)
    }
  }

  /// Makes a message of a row with the columns that the queries above have.
  static func message(_ row: borrowing Row) throws -> Message {
    Message(
      id: try row[0], sender: try row[1], recipient: try row[2], text: try row[3],
      time: try row[4], isAddRequest: try row[5],
      parts: MessageParts(stored: try row[6], topic: try row[8]), number: try row[7],
      clientID: try row[9], origin: try row[10])
  }

  /// Marks as read what a user has read everything from another up to a message.
  ///
  /// - Returns: the last message that was read, and the nodes that have streams of the user, if several share the store;
  ///   nil if there is nothing from the other user.
  func markRead(
    from sender: UserName, upTo last: MsgrMessageID, by caller: Caller
  ) async throws -> (last: MsgrMessageID, nodes: [NodeID])? {
    try await write(as: caller, locking: [caller.name]) { transaction in
      try transaction.execute(
        """
        UPDATE msgr_messages SET is_read = 1
        WHERE recipient = ?1 AND sender = ?2 AND id <= ?3 AND is_read = 0
          AND id > (SELECT seen_id FROM msgr_users WHERE username = ?1)
        """, caller.name, sender, last)
      try transaction.execute(
        """
        UPDATE msgr_users SET unread = CASE WHEN unread > ?1 THEN unread - ?1 ELSE 0 END
        WHERE username = ?2
        """, transaction.changes, caller.name)
      let read: MsgrMessageID?? = try transaction.value(
        "SELECT max(id) FROM msgr_messages WHERE recipient = ? AND sender = ? AND id <= ?",
        caller.name, sender, last)
      guard case .some(.some(let read)) = read else { return nil }
      return (read, try strategy.nodes(of: caller.name, transaction))
    }
  }

  // MARK: - Age

  /// Deletes rows that are old at a time, some of them.
  ///
  /// - Returns: whether there may be more.
  func expire(at now: Timestamp) async throws -> Bool {
    let oldest = now - limits.messageAge
    let oldestID = now - Self.clientIDAge
    let oldestUse = now - limits.tokenAge
    // The first two pass over inboxes that others are changing: if they waited, others might wait for them in turn.
    let deletions: [(StaticString, Timestamp)] = [
      (
        """
        DELETE FROM msgr_messages WHERE (recipient, id) IN (
          SELECT m.recipient, m.id FROM
            (SELECT recipient, id FROM msgr_messages WHERE sent_at <= ?
             ORDER BY sent_at LIMIT 1000) m
            JOIN msgr_users u ON u.username = m.recipient
          /*postgresql FOR NO KEY UPDATE OF u SKIP LOCKED */)
        """, oldest
      ),
      (
        """
        DELETE FROM msgr_sent WHERE (sender, id) IN (
          SELECT m.sender, m.id FROM
            (SELECT sender, id FROM msgr_sent WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000) m
            JOIN msgr_users u ON u.username = m.sender
          /*postgresql FOR NO KEY UPDATE OF u SKIP LOCKED */)
        """, oldest
      ),
      (
        """
        DELETE FROM msgr_client_ids WHERE (sender, client_id) IN
          (SELECT sender, client_id FROM msgr_client_ids WHERE sent_at <= ?
           ORDER BY sent_at LIMIT 1000)
        """, oldestID
      ),
      ("DELETE FROM msgr_tokens WHERE used_at <= ?", oldestUse),
      ("DELETE FROM msgr_publishers WHERE used_at <= ?", oldestUse),
      ("DELETE FROM msgr_invitations WHERE expires_at <= ?", now),
      ("DELETE FROM msgr_wallet_nonces WHERE expires_at <= ?", now),
    ]
    let steps = deletions.map { sql, time in
      { @Sendable (transaction: borrowing Transaction) in
        try transaction.execute(sql, time)
        return transaction.changes == 1000
      }
    }
    return try await store.write(steps: steps, isolation: .rowLocks).map { try $0.get() }
      .contains(true)
  }
}
