internal import Storage
internal import Platform

// A user who has a device that streams keeps copies of sent messages for the other devices. Nobody else does.
extension MsgrStore {
  /// The time for which a client's name of a message is known.
  static let clientIDAge = Duration.seconds(86_400)
  /// The most names of a sender that are known, the latest ones.
  static let clientIDs = 10_000

  /// Finds the delivery of a message that its sender has sent before under the same name.
  ///
  /// - Returns: nil if the message has no name, or a new one.
  /// - Throws: `.otherMessage` if the name is another message's.
  func earlierDelivery(
    of draft: Draft, from sender: UserName, _ transaction: borrowing Transaction
  ) throws -> Delivery? {
    guard let clientID = draft.clientID else { return nil }
    let found: (content: [UInt8], delivery: Delivery)? = try transaction.one(
      """
      SELECT content, id, own_id FROM msgr_client_ids
      WHERE sender = ? AND client_id = ? AND sent_at > ?
      """, sender, clientID, now - Self.clientIDAge
    ) { (try $0[0], Delivery(id: try $0[1], isStored: false, own: try $0[2])) }
    guard let found else { return nil }
    guard found.content == draft.digest else { throw RequestRefusal.otherMessage }
    return found.delivery
  }

  /// Notes a delivery, so that a retry is known, unless its message has no name.
  func note(
    _ delivery: Delivery, of draft: Draft, from sender: UserName,
    _ transaction: borrowing Transaction
  ) throws {
    guard let clientID = draft.clientID else { return }
    let number: Int? = try transaction.value(
      "UPDATE msgr_users SET named = named + 1 WHERE username = ? RETURNING named", sender)
    guard let number else { throw OutdatedCaller() }
    try transaction.execute(
      """
      INSERT INTO msgr_client_ids (sender, client_id, number, content, id, own_id, sent_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (sender, client_id) DO UPDATE SET number = excluded.number,
        content = excluded.content, id = excluded.id, own_id = excluded.own_id,
        sent_at = excluded.sent_at
      """, sender, clientID, number, draft.digest, delivery.id, delivery.own, now)
    try transaction.execute(
      "DELETE FROM msgr_client_ids WHERE sender = ? AND number <= ?", sender,
      number - Self.clientIDs)
  }

  /// Keeps the own copy of a sender who has a device that streams.
  ///
  /// - Returns: the copy in the sender's log.
  func keepOwn(
    _ draft: Draft, by sender: Caller, _ transaction: borrowing Transaction
  ) throws -> LogEntry {
    let found = try transaction.one(
      "SELECT last_id, sent FROM msgr_users WHERE username = ?", sender.name
    ) { (last: try $0[0] as MessageID, sent: try $0[1] as Int) }
    guard let found else { throw OutdatedCaller() }
    let copy = Message(
      ownCopy: draft, of: sender, id: max(MessageID(earliestAt: now), found.last.next), time: now)
    try transaction.execute(
      "UPDATE msgr_users SET last_id = ?, sent = ? WHERE username = ?", copy.id, found.sent + 1,
      sender.name)
    try transaction.execute(
      """
      INSERT INTO msgr_sent (id, sender, recipient, text, sent_at, client_id, device_id)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, copy.id, copy.sender, copy.recipient, copy.text, copy.time, copy.clientID, copy.origin)
    // As many as an inbox keeps.
    if found.sent >= limits.inbox {
      try transaction.execute(
        """
        DELETE FROM msgr_sent WHERE sender = ?1 AND id IN
          (SELECT id FROM msgr_sent WHERE sender = ?1 ORDER BY id LIMIT ?2)
        """, sender.name, found.sent + 1 - limits.inbox)
    }
    return LogEntry(
      user: sender.name, predecessor: found.last, message: copy,
      nodes: try deliveries.nodes(of: sender.name, transaction))
  }

  /// Returns a user's stream after a position, oldest first: messages to the user, and own ones.
  func log(of name: UserName, after position: MessageID) async throws -> [Message] {
    try await store.read { snapshot in try log(of: name, after: position, snapshot) }
  }

  /// Returns the same, within a transaction that confirms the user.
  func log(
    of name: UserName, after position: MessageID, _ snapshot: borrowing Snapshot
  ) throws -> [Message] {
    try snapshot.all(
      """
      SELECT id, sender, NULL, text, sent_at, is_add_request, title, priority, link, NULL, NULL
      FROM msgr_messages WHERE recipient = ?1 AND id > ?2 AND sent_at > ?3
      UNION ALL
      SELECT id, sender, recipient, text, sent_at, 0, NULL, NULL, NULL, client_id, device_id
      FROM msgr_sent WHERE sender = ?1 AND id > ?2 AND sent_at > ?3 ORDER BY 1 LIMIT ?4
      """, name, position, now - limits.messageAge, Self.pageSize, transform: Self.message)
  }

  /// Returns what two users have sent each other, newest first, as far as it is kept for the caller.
  ///
  /// - Parameters:
  ///   - caller: one of them.
  ///   - other: the other one, or the caller for messages to oneself.
  ///   - position: the message before which to begin.
  ///   - count: the most messages.
  func history(
    of caller: Caller, with other: UserName, before position: MessageID, atMost count: Int
  ) async throws -> [Message] {
    try await read(as: caller) { snapshot in
      try snapshot.all(
        """
        SELECT id, sender, recipient, text, sent_at, is_add_request, title, priority, link,
          NULL, NULL
        FROM msgr_messages WHERE recipient = ?1 AND sender = ?2 AND id < ?3 AND sent_at > ?4
        UNION ALL
        SELECT id, sender, recipient, text, sent_at, 0, NULL, NULL, NULL, client_id, device_id
        FROM msgr_sent WHERE sender = ?1 AND recipient = ?2 AND id < ?3 AND sent_at > ?4
        ORDER BY 1 DESC LIMIT ?5
        """, caller.name, other, position, now - limits.messageAge, count, transform: Self.message)
    }
  }

  /// Makes a message of a row with the columns that the queries above have.
  static func message(_ row: borrowing Row) throws -> Message {
    Message(
      id: try row[0], sender: try row[1], recipient: try row[2], text: try row[3],
      time: try row[4], isAddRequest: try row[5],
      extras: .init(title: try row[6], priority: try row[7], link: try row[8]),
      clientID: try row[9], origin: try row[10])
  }

  /// Notes that a user has read everything from another up to a message.
  ///
  /// - Returns: the last message that was read, and the nodes that have streams of the user, if several share the store;
  ///   nil if there is nothing from the other user.
  func noteRead(
    from sender: UserName, upTo last: MessageID, by caller: Caller
  ) async throws -> (last: MessageID, nodes: [NodeID])? {
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
      let read: MessageID?? = try transaction.value(
        "SELECT max(id) FROM msgr_messages WHERE recipient = ? AND sender = ? AND id <= ?",
        caller.name, sender, last)
      guard case .some(.some(let read)) = read else { return nil }
      return (read, try deliveries.nodes(of: caller.name, transaction))
    }
  }
}
