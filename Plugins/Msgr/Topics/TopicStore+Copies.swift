internal import Platform
internal import Storage

// The copies of a topic's messages in the inboxes of those who have subscribed.

extension TopicStore {
  /// The messages of one sequence that a topic keeps; a later one replaces the oldest.
  private static let sequenceLength = 20
  /// The copies that are removed at once, so that others' changes don't wait for long.
  private static let removalsAtOnce = 500

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
