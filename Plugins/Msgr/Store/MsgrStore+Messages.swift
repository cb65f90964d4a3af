internal import Push
internal import Storage
internal import Platform

/// A message that was taken.
struct Delivery: Sendable {
  /// The identifier of the message.
  let id: MessageID
  /// True if the message was stored, which it is not if the recipient blocks the sender.
  let isStored: Bool
  /// The entries that were written into users' logs, for their streams.
  var entries: [LogEntry] = []
  /// The kinds of push services that it is pushed to.
  var pushes: Set<PushKind> = []
  /// The identifier of the sender's own copy, if there is one.
  var own: MessageID?
}

/// A message in the log of a user whose streams bring it.
struct LogEntry: Sendable {
  let user: UserName
  /// The last identifier of the log before.
  let predecessor: MessageID
  let message: Message
  /// The nodes that have streams of the user, if several share the store.
  let nodes: [NodeID]
}

/// A message that is to be put into an inbox.
struct NewMessage: Sendable {
  let text: MessageText
  let sender: UserName
  let recipient: UserName
  var isAddRequest = false
  var extras = Publication.Extras()
}

extension MsgrStore {
  /// The most messages of an inbox that are read at once.
  static let pageSize = 100

  /// Puts a message into a user's inbox, and for each of the user's devices into the outbox.
  ///
  /// - Parameters:
  ///   - draft: the message.
  ///   - sender: the sender.
  /// - Returns: the delivery, or the first one of a message that was sent again.
  /// - Throws: `.forbidden` if there is no such user, `.otherMessage`, or as ``write(as:_:)``.
  func send(_ draft: Draft, by sender: Caller) async throws -> Delivery {
    try await deliveries.send(draft, by: sender, in: self)
  }

  /// Sends a message in a transaction of its own. See ``send(_:by:)``.
  func sendAlone(_ draft: Draft, by sender: Caller) async throws -> Delivery {
    try await write(as: sender, locking: [draft.recipient, sender.name]) { transaction in
      try send(draft, by: sender, transaction)
    }
  }

  private func send(
    _ draft: Draft, by sender: Caller, _ transaction: borrowing Transaction
  ) throws -> Delivery {
    if let delivery = try earlierDelivery(of: draft, from: sender.name, transaction) {
      return delivery
    }
    guard let place = try takePlace(in: draft.recipient, for: sender.name, transaction) else {
      throw RequestRefusal.forbidden
    }
    let message = NewMessage(text: draft.text, sender: sender.name, recipient: draft.recipient)
    var delivery = try put(message, place, transaction)
    if place.senderStreams {
      if draft.recipient == sender.name {
        delivery.own = delivery.id
      } else {
        let copy = try keepOwn(draft, by: sender, transaction)
        delivery.own = copy.message.id
        delivery.entries.append(copy)
      }
    }
    try note(delivery, of: draft, from: sender.name, transaction)
    return delivery
  }

  /// Puts a message of an operator into a user's inbox and outbox.
  ///
  /// - Returns: the number of devices that the message is pushed to.
  /// - Throws: `.forbidden` if there is no such user.
  func sendTest(_ text: MessageText, to name: UserName) async throws -> Int {
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.lock([name], transaction)
      guard let place = try takePlace(in: name, for: name, transaction), !place.isBlocked else {
        throw RequestRefusal.forbidden
      }
      _ = try put(NewMessage(text: text, sender: name, recipient: name), place, transaction)
      return try pushedDevices(of: name, transaction).count
    }
  }

  /// The identifier of a message that is being stored, and the counts of its inbox with it.
  struct InboxPlace {
    let id: MessageID
    /// The last identifier of the log before.
    let predecessor: MessageID
    let messages: Int
    let unread: Int
    /// True if the recipient blocks the sender: then nothing is stored, and the counts are without the message.
    let isBlocked: Bool
    /// True if the sender has a device that streams.
    let senderStreams: Bool
  }

  /// Takes the next identifier of a user's log, above all earlier ones whatever the clock does, and counts one more message
  /// into the inbox unless the user blocks the sender, within the transaction that stores the message.
  ///
  /// - Parameters:
  ///   - recipient: the user.
  ///   - sender: the sender.
  ///   - owner: the owner of a publisher, or nil for other senders; who blocks the owner blocks the publisher.
  ///   - transaction: the transaction.
  /// - Returns: nil if there is no such user.
  func takePlace(
    in recipient: UserName, for sender: UserName, of owner: UserName? = nil,
    _ transaction: borrowing Transaction
  ) throws -> InboxPlace? {
    let earliest = MessageID(earliestAt: now)
    let place: InboxPlace? = try transaction.one(
      """
      SELECT last_id, messages, unread,
        EXISTS (SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked IN (?2, ?3)),
        EXISTS (
          SELECT 1 FROM msgr_devices WHERE username = ?2 AND substr(device_id, 1, 7) = 'stream:')
      FROM msgr_users WHERE username = ?1
      """, recipient, sender, owner ?? sender
    ) { row in
      let (last, isBlocked): (MessageID, Bool) = (try row[0], try row[3])
      let added = isBlocked ? 0 : 1
      return InboxPlace(
        id: max(earliest, last.next), predecessor: last, messages: try row[1] + added,
        unread: try row[2] + added, isBlocked: isBlocked, senderStreams: try row[4])
    }
    guard let place else { return nil }
    try transaction.execute(
      "UPDATE msgr_users SET messages = ?, unread = ?, last_id = ? WHERE username = ?",
      place.messages, place.unread, place.id, recipient)
    return place
  }

  /// Stores a message within a transaction, and queues its pushes.
  ///
  /// - Parameters:
  ///   - new: the message.
  ///   - place: the result of ``takePlace(in:for:_:)``.
  ///   - transaction: the transaction.
  /// - Returns: the delivery, which stores nothing if the recipient blocks the sender: the identifier is no other message's.
  func put(
    _ new: NewMessage, _ place: InboxPlace, _ transaction: borrowing Transaction
  ) throws -> Delivery {
    var delivery = Delivery(id: place.id, isStored: !place.isBlocked)
    guard delivery.isStored else { return delivery }
    let message = Message(
      id: place.id, sender: new.sender, text: new.text, time: now, isAddRequest: new.isAddRequest,
      extras: new.extras)
    let streams = try deliveries.streams(of: new.recipient, transaction)
    let isFull = place.messages > limits.inbox
    let hasRoom =
      try !isFull
      || makeRoom(
        for: new.sender, in: new.recipient, dropping: place.messages - limits.inbox, transaction)
    if hasRoom {
      try insert(message, to: new.recipient, transaction)
      delivery.entries.append(
        LogEntry(
          user: new.recipient, predecessor: place.predecessor, message: message,
          nodes: Array(streams.nodes)))
    }
    let unread = try isFull ? unread(of: new.recipient, transaction) : place.unread
    for device in try pushedDevices(of: new.recipient, transaction) {
      delivery.pushes.insert(device.address.kind)
      try enqueuePush(
        of: message, to: device, of: new.recipient, badge: unread,
        isHeld: streams.bring(message.id, to: device.id), isFull: isFull, transaction)
    }
    return delivery
  }

  private func insert(
    _ message: Message, to recipient: UserName, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO msgr_messages (
        id, recipient, sender, text, sent_at, is_add_request, title, priority, link)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, message.id, recipient, message.sender, message.text, message.time,
      message.isAddRequest, message.extras.title, message.extras.priority, message.extras.link)
  }

  private func unread(of name: UserName, _ transaction: borrowing Transaction) throws -> Int {
    try transaction.value("SELECT unread FROM msgr_users WHERE username = ?", name) ?? 0
  }

  /// Drops messages from a full inbox for one that is counted already.
  ///
  /// Strangers' messages go first, the oldest of whichever stranger has most, then those of friends and the user's own in
  /// the same way. A stranger's message pushes out no friend's: if there are only those, it is the one that is dropped.
  /// Publishers' messages count as their owners'.
  ///
  /// - Parameters:
  ///   - sender: the sender of the message.
  ///   - recipient: the user.
  ///   - count: how many to drop, which is more than one only if the limit was lowered.
  ///   - transaction: the transaction.
  /// - Returns: whether there is room; if not, the message isn't counted any more.
  private func makeRoom(
    for sender: UserName, in recipient: UserName, dropping count: Int,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    let isFriend = try self.isFriend(
      Publisher.owner(of: sender) ?? sender, of: recipient, transaction)
    for _ in 0..<count {
      guard let id = try leastWanted(in: recipient, forFriend: isFriend, transaction) else {
        try transaction.execute(
          """
          UPDATE msgr_users SET messages = messages - 1, unread = unread - 1 WHERE username = ?
          """, recipient)
        return false
      }
      try transaction.execute(
        "DELETE FROM msgr_messages WHERE recipient = ? AND id = ?", recipient, id)
    }
    return true
  }

  /// Finds the message that goes first when an inbox is full, or nil if none may go.
  private func leastWanted(
    in recipient: UserName, forFriend isFriend: Bool, _ transaction: borrowing Transaction
  ) throws -> MessageID? {
    try transaction.value(
      """
      WITH senders AS (
        -- The owner is what stands before the last slash, if there is one.
        SELECT count(*) AS messages, min(id) AS oldest, coalesce(
          nullif(rtrim(rtrim(sender, replace(sender, '/', '')), '/'), ''), sender) AS owner
        FROM msgr_messages WHERE recipient = ?1 GROUP BY sender),
      owners AS (
        SELECT owner, sum(messages) AS messages, min(oldest) AS oldest
        FROM senders GROUP BY owner),
      friends AS (
        SELECT a.friend FROM msgr_contacts a
        JOIN msgr_contacts b ON b.username = a.friend AND b.friend = a.username
        WHERE a.username = ?1)
      SELECT oldest FROM owners LEFT JOIN friends ON friend = owner
      WHERE ?2 = 1 OR friend IS NULL AND owner <> ?1
      ORDER BY CASE WHEN friend IS NULL AND owner <> ?1 THEN 0 ELSE 1 END, messages DESC, oldest
      LIMIT 1
      """, recipient, isFriend)
  }

  // MARK: - Inboxes

  /// Returns the caller's messages after a position, oldest first.
  func inbox(of caller: Caller, since position: MessageID) async throws -> [Message] {
    let name = caller.name
    let (messages, seen) = try await read(as: caller) { snapshot in
      let seen: MessageID? = try snapshot.value(
        "SELECT seen_id FROM msgr_users WHERE username = ?", name)
      return (try page(of: name, after: position, snapshot), seen ?? .zero)
    }
    if seen < position { try await noteSeen(upTo: position, by: name) }
    return messages
  }

  private func page(
    of name: UserName, after position: MessageID, _ snapshot: borrowing Snapshot
  ) throws -> [Message] {
    try snapshot.all(
      """
      SELECT id, sender, NULL, text, sent_at, is_add_request, title, priority, link, NULL, NULL
      FROM msgr_messages WHERE recipient = ? AND id > ? AND sent_at > ? ORDER BY id LIMIT ?
      """, name, position, now - limits.messageAge, Self.pageSize, transform: Self.message)
  }

  /// Notes the position that a user has come to; never back, and not beyond the last identifier.
  func noteSeen(upTo position: MessageID, by name: UserName) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.lock([name], transaction)
      try noteSeen(upTo: position, by: name, transaction)
    }
  }

  /// Notes the position that a user has come to, within a transaction.
  func noteSeen(
    upTo position: MessageID, by name: UserName, _ transaction: borrowing Transaction
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

  /// Deletes rows that are old at a time, some of them.
  ///
  /// - Returns: whether there may be more.
  func expire(at now: Timestamp) async throws -> Bool {
    let (oldest, oldestID) = (now - limits.messageAge, now - Self.clientIDAge)
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
