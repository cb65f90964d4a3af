internal import Platform
internal import Push
internal import Storage

// Sending: what is needed is read under locks, `plan` decides, and the plan is written. Here one message at a time.
extension MsgrStore {
  /// The time for which a client's name of a message is known.
  static let clientIDAge = Duration.seconds(86_400)
  /// The most messages that leave an inbox for one, if its limit was lowered.
  private static let mostEvictions = 8

  var sendLimits: SendLimits {
    SendLimits(
      inbox: limits.inbox, clientIDs: limits.clientIDs, pushHold: limits.pushHold,
      pushLife: limits.messageAge)
  }

  /// Puts a message into a user's inbox, and for each of the user's devices into the outbox.
  ///
  /// - Returns: the receipt, or the first one of a message that was sent again.
  /// - Throws: `.forbidden` if there is no such user, `.otherMessage`, or as ``write(as:_:)``.
  func send(_ draft: Draft, by sender: Caller) async throws -> SendReceipt {
    // A wallet's signature is used once, which takes a statement of its own.
    if !store.isShared { return try await sendAlone(draft, by: sender) }
    if case .wallet = sender { return try await sendAlone(draft, by: sender) }
    let input = SendOperation.Input(store: self, draft: draft, sender: sender)
    switch try await store.perform(input, by: SendOperation.self) {
    case .sent(let receipt): return receipt
    case .refused(let error): throw error
    case .alone: return try await sendAlone(draft, by: sender)
    }
  }

  /// Sends a message in a transaction of its own. See ``send(_:by:)``.
  private func sendAlone(_ draft: Draft, by sender: Caller) async throws -> SendReceipt {
    try await write(as: sender, locking: [draft.recipient, sender.name]) { transaction in
      switch try deliver(InboxPost(draft, by: sender), transaction) {
      case .sent(let receipt): return receipt
      case .refused(let error): throw error
      case .alone: throw RequestRefusal.busy
      }
    }
  }

  /// Puts a message of an operator into a user's inbox and outbox.
  ///
  /// - Returns: the number of devices that the message is pushed to.
  /// - Throws: `.forbidden` if there is no such user.
  func sendTest(_ text: MessageText, to name: UserName) async throws -> Int {
    try await store.write(isolation: .rowLocks) { transaction in
      let post = InboxPost(sender: name, owner: name, recipient: name, text: text)
      guard try deliver([post], transaction)[0] != nil else { throw RequestRefusal.forbidden }
      return try pushedDevices(of: name, transaction).count
    }
  }

  /// Puts messages into inboxes, within a transaction that has locked what it goes by besides accounts and devices.
  ///
  /// - Returns: a receipt for each message; nil if its recipient has no account.
  func deliver(
    _ posts: [InboxPost], _ transaction: borrowing Transaction
  ) throws -> [SendReceipt?] {
    guard !posts.isEmpty else { return [] }
    let outcomes =
      store.isShared
      ? try deliverTogether(posts, transaction)
      : try posts.map { try deliver($0, transaction) }
    return outcomes.map { outcome in
      if case .sent(let receipt) = outcome { receipt } else { nil }
    }
  }

  /// Puts many messages into inboxes in two trips to PostgreSQL, and those by themselves that need it.
  private func deliverTogether(
    _ posts: [InboxPost], _ transaction: borrowing Transaction
  ) throws -> [SendPlan.Outcome] {
    var outcomes = try SendOperation.deliver(posts, in: self, commits: false, transaction)
    for (index, outcome) in outcomes.enumerated() {
      guard case .alone = outcome else { continue }
      outcomes[index] = try deliver(posts[index], transaction)
    }
    return outcomes
  }

  /// Puts one message into an inbox. The accounts are locked, and the sender is confirmed.
  private func deliver(
    _ post: InboxPost, _ transaction: borrowing Transaction
  ) throws -> SendPlan.Outcome {
    let batch = SendBatch([post])
    var facts = SendFacts(for: batch)
    try readAccounts(of: batch, &facts, transaction)
    if let account = facts.accounts[0], facts.posts[0].earlier == nil, !facts.posts[0].isBlocked {
      let tooMany = account.messages + 1 - limits.inbox
      if tooMany > 0 {
        let hasRoom = try makeRoom(for: post, dropping: tooMany, transaction)
        facts.fullInbox = .settled(hasRoom: hasRoom)
        facts.accounts[0] = try counters(of: post.recipient, transaction)
      }
      let streams = try strategy.streams(of: post.recipient, transaction)
      facts.nodes[0] = Array(streams.nodes)
      facts.devices[0] = try pushedDevices(of: post.recipient, transaction).map { device in
        SendFacts.Device(device: device, start: streams.starts[device.id])
      }
    }
    var plan = plan(batch, facts, now: now, sendLimits)
    plan.record(try write(plan, transaction))
    return plan.outcomes[0]
  }

  // MARK: - Reading

  private func readAccounts(
    of batch: SendBatch, _ facts: inout SendFacts, _ transaction: borrowing Transaction
  ) throws {
    let post = batch.posts[0]
    if let clientID = post.personal?.clientID {
      facts.posts[0].earlier = try transaction.one(
        """
        SELECT content, id, own_id FROM msgr_client_ids
        WHERE sender = ? AND client_id = ? AND sent_at > ?
        """, post.sender, clientID, now - Self.clientIDAge
      ) { SendFacts.EarlierSend(digest: try $0[0], id: try $0[1], own: try $0[2]) }
      if facts.posts[0].earlier != nil { return }
    }
    var found = facts.posts[0]
    // Those who are blocked are looked up one by one, as a list to look in is a table of its own for SQLite.
    facts.accounts[0] = try transaction.one(
      """
      SELECT messages, unread, last_id, sent, named, last_number,
        EXISTS (SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked = ?2)
          OR EXISTS (SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked = ?3),
        EXISTS (
          SELECT 1 FROM msgr_devices WHERE username = ?2 AND substr(device_id, 1, 7) = 'stream:'),
        EXISTS (SELECT 1 FROM msgr_acquaintances WHERE username = ?2 AND other = ?1)
      FROM msgr_users WHERE username = ?1 AND disabled_password IS NULL
      """, post.recipient, post.sender, post.otherOwner
    ) { row in
      found.isBlocked = try row[6]
      found.keepsCopies = try row[7]
      found.hasWritten = try row[8]
      return try SendFacts.Account(row)
    }
    facts.posts[0] = found
    guard let sender = batch.senders[0], sender != 0,
      found.keepsCopies || post.personal?.clientID != nil
    else { return }
    facts.accounts[sender] = try counters(of: post.sender, transaction)
    guard facts.accounts[sender] != nil else { throw OutdatedCaller() }
    if found.keepsCopies { facts.nodes[sender] = try strategy.nodes(of: post.sender, transaction) }
  }

  private func counters(
    of name: UserName, _ transaction: borrowing Transaction
  ) throws -> SendFacts.Account? {
    try transaction.one(
      """
      SELECT messages, unread, last_id, sent, named, last_number FROM msgr_users
      WHERE username = ?
      """, name, transform: SendFacts.Account.init)
  }

  // MARK: - Full inboxes

  /// Drops messages from a full inbox.
  ///
  /// - Returns: whether there is room.
  private func makeRoom(
    for post: InboxPost, dropping count: Int, _ transaction: borrowing Transaction
  ) throws -> Bool {
    let isKnown = try isKnown(post, transaction)
    for _ in 0..<min(count, Self.mostEvictions) {
      let shares = try shares(of: post.recipient, transaction)
      guard let id = InboxEviction.leastWanted(shares, forKnown: isKnown) else { return false }
      try transaction.execute(
        "DELETE FROM msgr_messages WHERE recipient = ? AND id = ?", post.recipient, id)
    }
    return true
  }

  /// Returns whether a message comes from somebody whom its recipient knows.
  private func isKnown(
    _ post: InboxPost, _ transaction: borrowing Transaction
  ) throws -> Bool {
    if post.topic != nil || post.owner == post.recipient { return true }
    return try knows(post.recipient, post.owner, transaction)
  }

  /// Returns whether a user has added or written to another.
  func knows(_ user: UserName, _ other: UserName) async throws -> Bool {
    if user == other { return true }
    return try await store.read(isOneQuery: true) { try knows(user, other, $0) }
  }

  private func knows(
    _ user: UserName, _ other: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.exists(
      """
      SELECT 1 FROM msgr_contacts WHERE username = ?1 AND friend = ?2
      UNION ALL SELECT 1 FROM msgr_acquaintances WHERE username = ?1 AND other = ?2
      """, user, other)
  }

  /// Forgets whom users have written to longest ago, beyond as many as an account may have contacts.
  func forgetOldAcquaintances() async throws {
    let users: [UserName] = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.values(
        "SELECT username FROM msgr_acquaintances GROUP BY username HAVING count(*) > ?",
        limits.contacts)
    }
    for user in users {
      try await store.write(isolation: .rowLocks) { transaction in
        try transaction.execute(
          """
          DELETE FROM msgr_acquaintances WHERE username = ?1 AND other IN (
            SELECT other FROM msgr_acquaintances WHERE username = ?1
            ORDER BY written_at DESC LIMIT 1000000 OFFSET ?2)
          """, user, limits.contacts)
      }
    }
  }

  /// Returns what each account has in an inbox. Publishers' messages are their owners'; each topic counts by itself.
  private func shares(
    of recipient: UserName, _ transaction: borrowing Transaction
  ) throws -> [InboxShare] {
    try transaction.all(
      """
      WITH senders AS (
        -- The owner is what stands before the last slash, if there is one.
        SELECT count(*) AS messages, min(id) AS oldest, topic, coalesce(
          nullif(rtrim(rtrim(sender, replace(sender, '/', '')), '/'), ''), sender) AS owner
        FROM msgr_messages WHERE recipient = ?1 GROUP BY sender, topic),
      owners AS (
        SELECT owner, topic, sum(messages) AS messages, min(oldest) AS oldest
        FROM senders GROUP BY owner, topic)
      SELECT o.owner, CASE WHEN u.username IS NULL THEN '' ELSE coalesce(u.site, u.username) END,
        CASE WHEN o.topic IS NOT NULL OR o.owner = ?1
          OR EXISTS (SELECT 1 FROM msgr_contacts WHERE username = ?1 AND friend = o.owner)
          OR EXISTS (SELECT 1 FROM msgr_acquaintances WHERE username = ?1 AND other = o.owner)
        THEN 1 ELSE 0 END,
        CAST(o.messages AS BIGINT), o.oldest
      FROM owners o LEFT JOIN msgr_users u ON u.username = o.owner AND o.topic IS NULL
      """, recipient
    ) { row in
      InboxShare(
        owner: try row[0], site: try row[1], isKnown: try row[2], messages: try row[3],
        oldest: try row[4])
    }
  }

  // MARK: - Writing

  /// Writes a plan, row by row.
  ///
  /// - Returns: what became of the pushes.
  private func write(
    _ plan: SendPlan, _ transaction: borrowing Transaction
  ) throws -> SendPlan.QueuedPushes {
    for (name, counters) in plan.accounts {
      try transaction.execute(
        """
        UPDATE msgr_users SET messages = ?, unread = ?, last_id = ?, sent = ?, named = ?,
          last_number = ?
        WHERE username = ?
        """, counters.messages, counters.unread, counters.last, counters.sent, counters.named,
        counters.number, name)
    }
    for row in plan.inbox { try insert(row, transaction) }
    var queued = SendPlan.QueuedPushes()
    for (index, push) in plan.pushes.enumerated() {
      queued.leased[index] = try enqueue(push, transaction)
      queued.dropped += try trim(push, transaction)
    }
    for copy in plan.copies {
      try transaction.execute(
        """
        INSERT INTO msgr_sent (id, sender, recipient, text, sent_at, client_id, device_id)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """, copy.id, copy.sender, copy.recipient, copy.text, copy.time, copy.clientID,
        copy.origin)
    }
    for row in plan.acquaintances {
      try transaction.execute(
        """
        INSERT INTO msgr_acquaintances (username, other, written_at) VALUES (?, ?, ?)
        ON CONFLICT DO NOTHING
        """, row.sender, row.recipient, now)
    }
    for row in plan.names {
      try transaction.execute(
        """
        INSERT INTO msgr_client_ids (sender, client_id, number, content, id, own_id, sent_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (sender, client_id) DO UPDATE SET number = excluded.number,
          content = excluded.content, id = excluded.id, own_id = excluded.own_id,
          sent_at = excluded.sent_at
        """, row.sender, row.clientID, row.number, row.digest, row.id, row.own, now)
    }
    for (sender, count) in plan.copiesToDrop {
      try transaction.execute(
        """
        DELETE FROM msgr_sent WHERE sender = ?1 AND id IN
          (SELECT id FROM msgr_sent WHERE sender = ?1 ORDER BY id LIMIT ?2)
        """, sender, count)
    }
    for (sender, number) in plan.namesToDrop {
      try transaction.execute(
        "DELETE FROM msgr_client_ids WHERE sender = ? AND number <= ?", sender, number)
    }
    return queued
  }

  private func insert(_ row: SendPlan.InboxRow, _ transaction: borrowing Transaction) throws {
    let message = row.message
    try transaction.execute(
      """
      INSERT INTO msgr_messages (
        id, recipient, sender, text, sent_at, is_add_request, parts, number, topic, topic_entry)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, message.id, row.recipient, message.sender, message.text, message.time,
      message.isAddRequest, message.parts.stored, message.number, row.topic?.topic, row.topic?.id)
  }

  private func enqueue(
    _ push: SendPlan.PushRow, _ transaction: borrowing Transaction
  ) throws -> LeasedPush? {
    try pushes.queue(
      push.content, to: push.device.address, of: Array(push.device.id.text.utf8),
      for: Array(push.recipient.text.utf8), urgency: push.urgency,
      position: push.message.id.rawValue, created: push.message.time, due: push.due,
      expires: push.message.time + limits.messageAge, mayLease: true, transaction)
  }

  /// Drops pushes that wait for a device, if there are too many with a new one.
  ///
  /// - Returns: their number.
  private func trim(
    _ push: SendPlan.PushRow, _ transaction: borrowing Transaction
  ) throws -> Int {
    let most: Int
    if push.device.address.kind == .web {
      most = webPushLimit
    } else if push.isFull {
      most = limits.inbox
    } else {
      return 0
    }
    return try pushes.trim(Array(push.device.id.text.utf8), toAtMost: most, transaction)
  }
}

extension SendFacts.Account {
  /// Reads a row that begins with the counters.
  init(_ row: borrowing Row) throws {
    messages = try row[0]
    unread = try row[1]
    last = try row[2]
    sent = try row[3]
    named = try row[4]
    number = try row[5]
  }
}

extension SendPlan.PushRow {
  var content: [UInt8] {
    PushedMessage(message, badge: badge, isDeclarative: device.isDeclarative).content
  }

  var urgency: PushUrgency { message.parts.isLow ? .low : .high }
}

extension MessageParts {
  /// The column of the store: JSON, or nil if there is nothing. The topic has a column of its own.
  var stored: String? {
    var parts = self
    parts.topic = nil
    guard !parts.isEmpty, let json = try? JSONText.of(parts) else { return nil }
    return String(decoding: json, as: UTF8.self)
  }
}
