internal import ApptimistProtocol
internal import Storage

/// What an entry of a queue is.
enum EntryKind: Int, DatabaseValueConvertible {
  case message = 0
  /// What is left of a truncated message.
  case place = 1
  case truncation = 2
}

/// A user's queue as it is while a transaction changes it.
struct StoredQueue {
  let user: Int64
  /// The last position that was given away.
  var last: StreamPosition
  var entries: Int
  var bytes: Int
  /// Of how many dropped messages the identifiers are still known.
  var dropped: Int
  /// What a sender's newest entries add to the sender's share, and the table lacks.
  var addition: ShareAddition?
}

/// Entries of one sender, one after the other, that the sender's share doesn't count yet.
struct ShareAddition {
  let sender: Int64
  let oldest: StreamPosition
  var entries = 0
  var bytes = 0
}

extension ApptimistStore {
  /// What a truncation counts, in bytes: its header.
  static let truncationSize = 66

  /// A user's queue.
  func queue(
    of user: Int64, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StoredQueue {
    let queue = try database.one(
      "SELECT last_position, entries, bytes, dropped FROM apptimist_queues WHERE user = ?", user
    ) { row in
      StoredQueue(
        user: user, last: try row[0], entries: try row[1], bytes: try row[2], dropped: try row[3])
    }
    guard let queue else { throw InconsistentQueue() }
    return queue
  }

  /// Stores what a transaction has made of a queue.
  func save(_ queue: inout StoredQueue, _ transaction: borrowing Transaction) throws {
    try saveShare(of: &queue, transaction)
    try transaction.execute(
      """
      UPDATE apptimist_queues SET last_position = ?, entries = ?, bytes = ?, dropped = ?
      WHERE user = ?
      """, queue.last, queue.entries, queue.bytes, queue.dropped, queue.user)
  }

  /// Puts an entry behind all others.
  ///
  /// - Parameters:
  ///   - kind: what it is.
  ///   - id: the message that it is, or that it truncates.
  ///   - size: what it counts, in bytes.
  ///   - sender: whose share it belongs to.
  ///   - content: a message's.
  ///   - queue: has room for it.
  func append(
    _ kind: EntryKind, _ id: MessageID, size: Int, from sender: Int64, content: Int64?,
    to queue: inout StoredQueue, _ transaction: borrowing Transaction
  ) throws {
    queue.last = queue.last.next
    queue.entries += 1
    queue.bytes += size
    try transaction.execute(
      """
      INSERT INTO apptimist_entries (user, position, kind, sender, size, content, message_id)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, queue.user, queue.last, kind, sender, size, content, id)
    if queue.addition?.sender != sender {
      try saveShare(of: &queue, transaction)
      queue.addition = ShareAddition(sender: sender, oldest: queue.last)
    }
    queue.addition?.entries += 1
    queue.addition?.bytes += size
  }

  private func saveShare(
    of queue: inout StoredQueue, _ transaction: borrowing Transaction
  ) throws {
    guard let addition = queue.addition else { return }
    queue.addition = nil
    try transaction.execute(
      """
      INSERT INTO apptimist_shares (user, sender, entries, bytes, oldest) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (user, sender)
      DO UPDATE SET entries = entries + excluded.entries, bytes = bytes + excluded.bytes
      """, queue.user, addition.sender, addition.entries, addition.bytes, addition.oldest)
  }

  /// Deletes a message's content and leaves its place, if the queue hasn't dropped it.
  func clear(
    _ position: StreamPosition, in queue: inout StoredQueue, _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      "SELECT sender, size, content FROM apptimist_entries WHERE user = ? AND position = ?",
      queue.user, position
    ) { row in
      (sender: try row[0] as Int64, size: try row[1] as Int, content: try row[2] as Int64?)
    }
    guard let entry else { return }
    try release(entry.content, transaction)
    try transaction.execute(
      """
      UPDATE apptimist_entries SET kind = ?, size = 0, content = NULL
      WHERE user = ? AND position = ?
      """, EntryKind.place, queue.user, position)
    try transaction.execute(
      "UPDATE apptimist_shares SET bytes = bytes - ? WHERE user = ? AND sender = ?", entry.size,
      queue.user, entry.sender)
    queue.bytes -= entry.size
  }

  /// Drops entries until one more fits: each time the oldest of whichever sender holds most, so that
  /// nobody can push out what others have sent.
  func makeRoom(
    for size: Int, in queue: inout StoredQueue, _ transaction: borrowing Transaction
  ) throws {
    while queue.entries > 0 {
      let isFull = queue.entries >= limits.queueEntries
      guard isFull || queue.bytes + size > limits.queueBytes else { return }
      try saveShare(of: &queue, transaction)
      let oldest =
        isFull
        ? try transaction.one(
          """
          SELECT sender, oldest FROM apptimist_shares WHERE user = ?
          ORDER BY entries DESC, oldest LIMIT 1
          """, queue.user, transform: Self.oldest)
        : try transaction.one(
          """
          SELECT sender, oldest FROM apptimist_shares WHERE user = ?
          ORDER BY bytes DESC, oldest LIMIT 1
          """, queue.user, transform: Self.oldest)
      guard let (sender, position) = oldest else { return }
      try drop(position, of: sender, from: &queue, transaction)
    }
  }

  private static func oldest(_ row: borrowing Row) throws -> (Int64, StreamPosition) {
    (try row[0], try row[1])
  }

  /// Drops a sender's oldest entry; a message stays known.
  private func drop(
    _ position: StreamPosition, of sender: Int64, from queue: inout StoredQueue,
    _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      """
      DELETE FROM apptimist_entries WHERE user = ? AND position = ?
      RETURNING kind, size, content, message_id
      """, queue.user, position
    ) { row in
      (
        kind: try row[0] as EntryKind, size: try row[1] as Int, content: try row[2] as Int64?,
        id: try row[3] as MessageID
      )
    }
    guard let entry else { throw InconsistentQueue() }
    queue.entries -= 1
    queue.bytes -= entry.size
    let next: StreamPosition? = try transaction.one(
      """
      SELECT position FROM apptimist_entries WHERE user = ? AND position > ? AND sender = ?
      ORDER BY position LIMIT 1
      """, queue.user, position, sender
    ) { try $0[0] }
    if let next {
      try transaction.execute(
        """
        UPDATE apptimist_shares SET entries = entries - 1, bytes = bytes - ?, oldest = ?
        WHERE user = ? AND sender = ?
        """, entry.size, next, queue.user, sender)
    } else {
      try transaction.execute(
        "DELETE FROM apptimist_shares WHERE user = ? AND sender = ?", queue.user, sender)
    }
    try release(entry.content, transaction)
    if entry.kind != .truncation {
      try remember(entry.id, droppedFrom: position, in: &queue, transaction)
    }
  }

  /// Notes that a known message has lost its place, and forgets the oldest such if they are many.
  private func remember(
    _ id: MessageID, droppedFrom position: StreamPosition, in queue: inout StoredQueue,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "INSERT INTO apptimist_dropped (user, position, message_id) VALUES (?, ?, ?)", queue.user,
      position, KnownID(id))
    queue.dropped += 1
    while queue.dropped > limits.rememberedMessages {
      let forgotten: [UInt8]? = try transaction.one(
        """
        DELETE FROM apptimist_dropped WHERE user = ?1 AND position =
          (SELECT min(position) FROM apptimist_dropped WHERE user = ?1) RETURNING message_id
        """, queue.user
      ) { try $0[0] }
      guard let forgotten else { throw InconsistentQueue() }
      try transaction.execute(
        "DELETE FROM apptimist_message_ids WHERE user = ? AND message_id = ?", queue.user, forgotten
      )
      queue.dropped -= 1
    }
  }

  /// Lets go of a message's content, which goes with the last entry that has it.
  private func release(_ content: Int64?, _ transaction: borrowing Transaction) throws {
    guard let content else { return }
    try transaction.execute(
      "DELETE FROM apptimist_contents WHERE id = ? AND holders = 1", content)
    guard transaction.changes == 0 else { return }
    try transaction.execute(
      "UPDATE apptimist_contents SET holders = holders - 1 WHERE id = ?", content)
  }
}

/// The tables of a queue contradict each other: somebody else has changed the file.
struct InconsistentQueue: Error {}
