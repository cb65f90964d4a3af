internal import Platform
internal import Storage

// The copies of a topic's messages in the inboxes of those who have subscribed.

/// Copies of a topic's message that one transaction has made.
struct TopicCopies: Sendable {
  var receipts: [SendReceipt] = []
  /// The bytes of the copies by the recipient's site. They are counted after the commit, as the transaction may run again.
  var bytes: [String: Int] = [:]
}

extension TopicStore {
  /// The messages of one sequence that a topic keeps; a later one replaces the oldest.
  private static let sequenceLength = 20
  /// The copies that are made at once. More follow in transactions of their own, between which others get their turns.
  static let copiesAtOnce = 16
  /// The bytes of these, where the text is long.
  private static let copiedAtOnce = 256 << 10
  /// The time after which copying goes on elsewhere: its node has ended.
  private static let copyingTime = Duration.seconds(3)
  /// The copies that are removed at once, so that others' changes don't wait for long.
  private static let removalsAtOnce = 500

  // MARK: - Copying

  /// Copies an entry into the first inboxes of those who have subscribed, and records that others are to follow.
  func beginCopying(
    _ entry: TopicEntry, into receipt: inout TopicReceipt, _ transaction: borrowing Transaction
  ) throws {
    guard !entry.isBase64, !entry.isTransient else { return }
    // Copies come in the order of the log.
    let isBehind = try transaction.exists(
      "SELECT 1 FROM msgr_topic_copying WHERE topic = ?", entry.topic)
    let last: UserName?
    if isBehind {
      last = UserName(stored: "")
    } else {
      last = try copy(entry, after: UserName(stored: ""), &receipt.copies, transaction)
    }
    guard let last else { return }
    let left: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_topic_subscriptions WHERE topic = ? AND username > ?",
      entry.topic, last)
    guard let left, left > 0 else { return }
    receipt.copiesLeft = left
    try transaction.execute(
      "INSERT INTO msgr_topic_copying (entry, topic, started_at, username) VALUES (?, ?, ?, ?)",
      entry.number, entry.topic, now, last)
  }

  /// Copies an entry into some of the inboxes.
  ///
  /// - Parameter name: the last one who has a copy.
  /// - Returns: the last one who has a copy now; nil if all have.
  private func copy(
    _ entry: TopicEntry, after name: UserName, _ copies: inout TopicCopies,
    _ transaction: borrowing Transaction
  ) throws -> UserName? {
    let size = entry.text.utf8.count + MsgrStore.messageOverhead
    let count = max(1, min(Self.copiesAtOnce, Self.copiedAtOnce / size))
    let subscribers: [(name: UserName, isPushed: Bool, site: String?)] = try transaction.all(
      """
      SELECT s.username, s.is_pushed, u.site FROM msgr_topic_subscriptions s
        JOIN msgr_users u ON u.username = s.username
      WHERE s.topic = ? AND s.username > ? ORDER BY s.username LIMIT ?
      """, entry.topic, name, count
    ) { (try $0[0], try $0[1], try $0[2]) }
    var parts = entry.parts
    parts.sequence = entry.sequence == entry.id ? nil : entry.sequence
    let sender = entry.topic.sender
    // A subscriber without room finds the message in the topic.
    var planned: [String: Int] = [:]
    let stored = subscribers.filter { subscriber in
      guard let site = subscriber.site, let storage = msgr.storage else { return true }
      let sum = planned[site, default: 0] + size
      guard storage.hasRoom(for: sum, of: site) else { return false }
      planned[site] = sum
      return true
    }
    let posts = stored.map { name, isPushed, _ in
      var post = InboxPost(
        sender: sender, owner: sender, recipient: name, text: MessageText(stored: entry.text),
        parts: parts)
      post.topic = InboxPost.TopicEntry(topic: entry.topic.text, id: entry.number.rawValue)
      post.isNumbered = true
      post.isPushed = isPushed
      return post
    }
    for (subscriber, receipt) in zip(stored, try msgr.deliver(posts, transaction)) {
      guard let receipt else { continue }
      copies.receipts.append(receipt)
      if let site = subscriber.site { copies.bytes[site, default: 0] += size }
    }
    return subscribers.count < count ? nil : subscribers.last?.name
  }

  /// Makes some of the copies that a topic's oldest entry lacks. Others who change the topic wait meanwhile, so that each
  /// copy is made once.
  ///
  /// - Parameter last: the last entry whose copies are made.
  /// - Returns: the copies; nil if none is lacking.
  func copyOn(
    in topic: TopicName, through last: TopicPosition
  ) async throws -> [SendReceipt]? {
    let copies = try await store.write(isolation: .rowLocks) { transaction -> TopicCopies? in
      _ = try transaction.exists(
        "SELECT 1 FROM msgr_topics WHERE topic = ? /*postgresql FOR NO KEY UPDATE */", topic)
      let place: (number: TopicPosition, name: UserName)? = try transaction.one(
        """
        SELECT entry, username FROM msgr_topic_copying WHERE topic = ? AND entry <= ?
        ORDER BY entry LIMIT 1
        """, topic, last
      ) { (try $0[0], try $0[1]) }
      guard let (number, name) = place else { return nil }
      let entry: TopicEntry? = try transaction.one(
        """
        SELECT number, topic, id, event, time, expires_at, is_transient, sequence, text, parts,
          is_base64
        FROM msgr_topic_entries WHERE number = ?
        """, number, transform: Self.entry)
      var copies = TopicCopies()
      // What was deleted meanwhile is copied no further.
      if let entry, let last = try copy(entry, after: name, &copies, transaction) {
        try transaction.execute(
          "UPDATE msgr_topic_copying SET username = ?, started_at = ? WHERE entry = ?", last, now,
          number)
      } else {
        try transaction.execute("DELETE FROM msgr_topic_copying WHERE entry = ?", number)
      }
      return copies
    }
    guard let copies else { return nil }
    msgr.storage?.record(copies.bytes)
    return copies.receipts
  }

  /// Returns the topics whose copying was left by a node that has ended.
  func abandonedCopying() async throws -> [TopicName] {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.values(
        """
        SELECT topic FROM msgr_topic_copying GROUP BY topic HAVING max(started_at) <= ? LIMIT 100
        """, now - Self.copyingTime)
    }
  }

  // MARK: - Removal

  /// Removes the oldest messages of a sequence that has too many.
  ///
  /// - Returns: their number.
  func replace(_ post: TopicPost, _ transaction: borrowing Transaction) throws -> Int {
    guard post.event == .message, let sequence = post.sequence else { return 0 }
    let numbers: [TopicPosition] = try transaction.values(
      """
      SELECT number FROM msgr_topic_entries WHERE topic = ? AND sequence = ? AND event = ?
      ORDER BY number /*postgresql + 0 */ DESC LIMIT 1000000 OFFSET ?
      """, post.topic, sequence, TopicEvent.message, Self.sequenceLength)
    try remove(numbers, from: post.topic, transaction)
    return numbers.count
  }

  /// Removes entries. Their copies are shown no more, and are removed by and by.
  func remove(
    _ numbers: [TopicPosition], from topic: TopicName, _ transaction: borrowing Transaction
  ) throws {
    for number in numbers {
      try transaction.execute(
        """
        INSERT INTO msgr_topic_removals (entry, topic) SELECT topic_entry, topic FROM msgr_messages
        WHERE topic = ? AND topic_entry = ? LIMIT 1
        """, topic, number)
      try transaction.execute("DELETE FROM msgr_topic_entries WHERE number = ?", number)
    }
  }

  /// Removes some of the copies that are shown no more.
  ///
  /// - Returns: whether there may be more.
  func removeCopies() async throws -> Bool {
    let removals: [(entry: TopicPosition, topic: TopicName)] = try await store.read(
      isOneQuery: true
    ) { snapshot in
      try snapshot.all("SELECT entry, topic FROM msgr_topic_removals ORDER BY entry LIMIT 100") {
        (try $0[0], try $0[1])
      }
    }
    var isAny = false
    for (entry, topic) in removals {
      while try await removeSomeCopies(of: entry, in: topic) { isAny = true }
    }
    return isAny && removals.count == 100
  }

  /// Removes some copies of an entry.
  ///
  /// - Returns: whether there may be more that can be removed now.
  private func removeSomeCopies(
    of entry: TopicPosition, in topic: TopicName
  ) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      // It passes over inboxes that others are changing: if it waited, others might wait for it in turn.
      try transaction.execute(
        """
        DELETE FROM msgr_messages WHERE (recipient, id) IN (
          SELECT m.recipient, m.id FROM
            (SELECT recipient, id FROM msgr_messages WHERE topic = ? AND topic_entry = ? LIMIT ?) m
            JOIN msgr_users u ON u.username = m.recipient
          /*postgresql FOR NO KEY UPDATE OF u SKIP LOCKED */)
        """, topic, entry, Self.removalsAtOnce)
      let removed = transaction.changes
      let isOver = try !transaction.exists(
        "SELECT 1 FROM msgr_messages WHERE topic = ? AND topic_entry = ?", topic, entry)
      if isOver {
        try transaction.execute("DELETE FROM msgr_topic_removals WHERE entry = ?", entry)
      }
      return !isOver && removed > 0
    }
  }
}
