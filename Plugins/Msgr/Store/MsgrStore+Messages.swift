internal import MsgrProtocol
internal import Storage
internal import Time

/// A message that was taken.
struct Delivery: Sendable {
  /// The identifier of the message.
  let id: MessageID
  /// Whether the message was stored, which it is not if the recipient blocks the sender.
  let isStored: Bool
  /// The devices whose pushes are held because the message goes out by their streams.
  var held: [DeviceID] = []
  /// Whether there are pushes to phones.
  var wakesPhones = false
  /// Whether there are pushes to browsers.
  var wakesBrowsers = false
  /// The identifier of the sender's own copy, if there is one.
  var own: MessageID?
}

extension MsgrStore {
  /// The most messages of an inbox that are read at once.
  static let pageSize = 100

  /// Puts a message into a user's inbox, and for each of the user's devices into the outbox.
  ///
  /// - Parameters:
  ///   - draft: the message.
  ///   - sender: the sender.
  ///   - streaming: the recipient's devices that get messages by their streams.
  /// - Returns: the delivery, or the first one of a message that was sent again.
  /// - Throws: `.forbidden` if there is no such user, `.otherMessage`, or as ``write(as:_:)``.
  func send(
    _ draft: Draft, by sender: Caller, streaming: [DeviceID]
  ) async throws -> Delivery {
    if isShared, draft.clientID == nil {
      let input = Sending.Input(store: self, draft: draft, sender: sender)
      if let delivery = try await store.perform(input, by: Sending.self) { return delivery }
    }
    return try await write(as: sender, locking: [draft.recipient, sender.name]) { transaction in
      try send(draft, by: sender, streaming: streaming, transaction)
    }
  }

  /// Sends a message within a transaction that confirms the sender.
  func send(
    _ draft: Draft, by sender: Caller, streaming: [DeviceID], _ transaction: borrowing Transaction
  ) throws -> Delivery {
    if let delivery = try earlierDelivery(of: draft, from: sender.name, transaction) {
      return delivery
    }
    var delivery: Delivery
    let keepsOwn: Bool
    if let place = try takePlace(in: draft.recipient, for: sender.name, transaction) {
      delivery = try put(
        draft.text, from: sender.name, to: draft.recipient, place, isAddRequest: false,
        streaming: streaming, transaction)
      keepsOwn = place.senderStreams
    } else {
      // A blocked sender is given an identifier that no other message will have.
      guard let id = try nextID(of: draft.recipient, transaction) else {
        throw RequestRefusal.forbidden
      }
      delivery = Delivery(id: id, isStored: false)
      keepsOwn = try hasStreamingDevice(sender.name, transaction)
    }
    if keepsOwn {
      delivery.own =
        try draft.recipient == sender.name
        ? delivery.id : keepOwn(draft, by: sender, transaction)
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
      guard let place = try takePlace(in: name, for: name, transaction) else {
        throw RequestRefusal.forbidden
      }
      _ = try put(
        text, from: name, to: name, place, isAddRequest: false, streaming: [], transaction)
      return try pushedDevices(of: name, transaction).count
    }
  }

  /// The identifier of a message that is being stored, and the counts of its inbox with it.
  struct InboxPlace {
    let id: MessageID
    let messages: Int
    let unread: Int
    /// Whether the sender has a device that streams.
    let senderStreams: Bool
  }

  /// Counts one more message into an inbox, within the transaction that stores it.
  ///
  /// - Returns: nil if there is no such user, or the user blocks the sender.
  func takePlace(
    in recipient: UserName, for sender: UserName, _ transaction: borrowing Transaction
  ) throws -> InboxPlace? {
    try transaction.execute(
      """
      UPDATE msgr_users SET messages = messages + 1, unread = unread + 1,
        last_id = CASE WHEN last_id < ?3 THEN ?3 ELSE last_id + 1 END
      WHERE username = ?1
        AND NOT EXISTS (SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked = ?2)
      """, recipient, sender, MessageID(earliestAt: now))
    guard transaction.changes > 0 else { return nil }
    // For RETURNING, SQLite makes a table that costs more than a second statement.
    return try transaction.one(
      """
      SELECT last_id, messages, unread, EXISTS (
        SELECT 1 FROM msgr_devices WHERE username = ?2 AND substr(device_id, 1, 7) = 'stream:')
      FROM msgr_users WHERE username = ?1
      """, recipient, sender
    ) {
      InboxPlace(
        id: try $0[0], messages: try $0[1], unread: try $0[2], senderStreams: try $0[3])
    }
  }

  /// Stores a message within a transaction, and queues its pushes.
  ///
  /// - Parameter place: the result of ``takePlace(in:for:_:)``.
  func put(
    _ text: MessageText, from sender: UserName, to recipient: UserName, _ place: InboxPlace,
    isAddRequest: Bool, extras: Publication.Extras = .init(), streaming: [DeviceID],
    _ transaction: borrowing Transaction
  ) throws -> Delivery {
    let message = Message(
      id: place.id, sender: sender, text: text, time: now,
      isAddRequest: isAddRequest, extras: extras)
    let isFull = place.messages > limits.inbox
    let unread: Int
    if isFull {
      unread = try putIntoFull(recipient, message, place, transaction)
    } else {
      try insert(message, to: recipient, transaction)
      unread = place.unread
    }
    var delivery = Delivery(id: message.id, isStored: true)
    try lockDevices(of: recipient, transaction)
    let streaming = try self.streaming(streaming, of: recipient, transaction)
    for (device, isWeb) in try pushedDevices(of: recipient, transaction) {
      let isHeld = streaming.contains(device)
      if isHeld { delivery.held.append(device) }
      if isWeb { delivery.wakesBrowsers = true } else { delivery.wakesPhones = true }
      try enqueuePush(
        of: message, to: device, badge: unread, isWeb: isWeb, isHeld: isHeld, transaction)
      if isFull || isWeb { try dropOldPushes(to: device, isWeb: isWeb, transaction) }
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

  /// Makes the next identifier of a user's log, above all earlier ones whatever the clock does.
  ///
  /// - Returns: nil if there is no such user.
  func nextID(of user: UserName, _ transaction: borrowing Transaction) throws -> MessageID? {
    try transaction.one(
      """
      UPDATE msgr_users SET last_id = CASE WHEN last_id < ?1 THEN ?1 ELSE last_id + 1 END
      WHERE username = ?2 RETURNING last_id
      """, MessageID(earliestAt: now), user
    ) { try $0[0] }
  }

  /// Stores a message in a full inbox, from which others are dropped.
  ///
  /// Strangers' messages go first, the oldest of whichever stranger has most, then those of friends and the user's own in
  /// the same way. A stranger's message pushes out no friend's: if there are only those, it is the one that is dropped.
  /// What publishers send is their owners'.
  ///
  /// - Returns: the number of unread messages then.
  private func putIntoFull(
    _ recipient: UserName, _ message: Message, _ place: InboxPlace,
    _ transaction: borrowing Transaction
  ) throws -> Int {
    let isFriend = try self.isFriend(
      Publisher.owner(of: message.sender) ?? message.sender, of: recipient, transaction)
    var hasRoom = true
    // It is more than one only if the limit was lowered.
    for _ in limits.inbox..<place.messages where hasRoom {
      try transaction.execute(
        """
        DELETE FROM msgr_messages WHERE recipient = ?1 AND id = (
          SELECT oldest FROM (
            SELECT sum(messages) AS messages, min(oldest) AS oldest,
              owner = ?1 OR EXISTS (
                SELECT 1 FROM msgr_contacts a JOIN msgr_contacts b
                  ON b.username = a.friend AND b.friend = a.username
                WHERE a.username = ?1 AND a.friend = owner) AS is_friend
            FROM (
              -- The owner is what stands before the last slash, if there is one.
              SELECT count(*) AS messages, min(id) AS oldest,
                coalesce(
                  nullif(rtrim(rtrim(sender, replace(sender, '/', '')), '/'), ''), sender) AS owner
              FROM msgr_messages WHERE recipient = ?1 GROUP BY sender) AS senders
            GROUP BY owner) AS owners
          WHERE NOT is_friend OR ?2 = 1
          ORDER BY is_friend, messages DESC, oldest LIMIT 1)
        """, recipient, isFriend)
      hasRoom = transaction.changes > 0
    }
    if hasRoom {
      try insert(message, to: recipient, transaction)
    } else {
      try transaction.execute(
        """
        UPDATE msgr_users SET messages = messages - 1, unread = unread - 1 WHERE username = ?
        """, recipient)
    }
    return try transaction.one("SELECT unread FROM msgr_users WHERE username = ?", recipient) {
      try $0[0]
    } ?? place.unread
  }

  /// Returns the devices that messages to a user are pushed to.
  func pushedDevices(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [(device: DeviceID, isWeb: Bool)] {
    let devices: [(device: DeviceID, isWeb: Bool)] = try database.all(
      "SELECT device_id, endpoint IS NOT NULL FROM msgr_devices WHERE username = ?", name
    ) { (try $0[0], try $0[1]) }
    return devices.filter { $0.isWeb || $0.device.isPushable && limits.isPushing }
  }

  // MARK: - Inboxes

  /// Returns the caller's messages after a position, oldest first.
  func inbox(of caller: Caller, since position: MessageID) async throws -> [Message] {
    let name = caller.name
    let (messages, seen) = try await read(as: caller) { snapshot in
      let seen: MessageID? = try snapshot.one(
        "SELECT seen_id FROM msgr_users WHERE username = ?", name
      ) { try $0[0] }
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
      FROM msgr_messages
      WHERE recipient = ? AND id > ? AND sent_at > ? ORDER BY id LIMIT ?
      """, name, position, now - limits.messageAge, Self.pageSize, transform: Self.message)
  }

  /// Notes the position that a user has come to; never back, and not beyond the last identifier.
  func noteSeen(upTo position: MessageID, by name: UserName) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try lock([name], transaction)
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

  /// Deletes what is too old, some at a time.
  ///
  /// - Returns: whether there may be more.
  func expire() async throws -> Bool {
    let now = now
    let (oldest, oldestID) = (now - limits.messageAge, now - Self.clientIDAge)
    let oldestUse = now - limits.tokenAge
    let steps: [@Sendable (borrowing Transaction) throws -> Bool] = [
      { transaction in
        try transaction.execute(
          isShared ? Self.expiryOfMessagesBesideOthers : Self.expiryOfMessages, oldest)
        return transaction.changes == 1000
      },
      { transaction in
        try transaction.execute(
          isShared ? Self.expiryOfSentBesideOthers : Self.expiryOfSent, oldest)
        return transaction.changes == 1000
      },
      { transaction in
        try transaction.execute(
          """
          DELETE FROM msgr_client_ids WHERE (sender, client_id) IN
            (SELECT sender, client_id FROM msgr_client_ids WHERE sent_at <= ?
             ORDER BY sent_at LIMIT 1000)
          """, oldestID)
        return transaction.changes == 1000
      },
      { transaction in
        try transaction.execute("DELETE FROM msgr_tokens WHERE used_at <= ?", oldestUse)
        try transaction.execute("DELETE FROM msgr_publishers WHERE used_at <= ?", oldestUse)
        try transaction.execute("DELETE FROM msgr_invitations WHERE expires_at <= ?", now)
        return false
      },
    ]
    return try await store.write(steps: steps, isolation: .rowLocks).map { try $0.get() }
      .contains(true)
  }

  private static let expiryOfMessages: StaticString = """
    DELETE FROM msgr_messages WHERE (recipient, id) IN
      (SELECT recipient, id FROM msgr_messages WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000)
    """

  /// The same, but for inboxes that others are changing: it waits for nobody, who might wait for it.
  private static let expiryOfMessagesBesideOthers: StaticString = """
    DELETE FROM msgr_messages WHERE (recipient, id) IN (
      SELECT m.recipient, m.id FROM
        (SELECT recipient, id FROM msgr_messages WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000) m
        JOIN msgr_users u ON u.username = m.recipient
      FOR NO KEY UPDATE OF u SKIP LOCKED)
    """

  private static let expiryOfSent: StaticString = """
    DELETE FROM msgr_sent WHERE (sender, id) IN
      (SELECT sender, id FROM msgr_sent WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000)
    """

  private static let expiryOfSentBesideOthers: StaticString = """
    DELETE FROM msgr_sent WHERE (sender, id) IN (
      SELECT m.sender, m.id FROM
        (SELECT sender, id FROM msgr_sent WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000) m
        JOIN msgr_users u ON u.username = m.sender
      FOR NO KEY UPDATE OF u SKIP LOCKED)
    """
}
