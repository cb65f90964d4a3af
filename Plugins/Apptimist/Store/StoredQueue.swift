import Cryptography
import Storage

/// What an entry of a queue is.
enum EntryKind: Int, DatabaseValueConvertible {
  case message = 0
  /// What is left of a truncated message.
  case place = 1
  case truncation = 2
}

/// A user's queue as it is while a transaction changes it; its row is written with each new entry.
struct StoredQueue {
  let user: Int64
  /// The last position that was given away.
  var last: StreamPosition
  var entries: Int
  var bytes: Int
  /// Of how many dropped messages the identifiers are still known.
  var dropped: Int
}

extension ApptimistStore {
  /// What a truncation counts, in bytes: its header.
  static let truncationSize = 66

  /// A user's queue; nil if there is no such user.
  func queue(
    of user: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StoredQueue? {
    try database.one(
      """
      SELECT q.user, q.last_position, q.entries, q.bytes, q.dropped
      FROM apptimist_users u JOIN apptimist_queues q ON q.user = u.id WHERE u.key = ?
      """, user
    ) { row in
      StoredQueue(
        user: try row[0], last: try row[1], entries: try row[2], bytes: try row[3],
        dropped: try row[4])
    }
  }

  /// Puts an entry behind all others.
  ///
  /// - Parameters:
  ///   - kind: what it is.
  ///   - size: what it counts, in bytes.
  ///   - sender: whose share it belongs to.
  ///   - message: the row with its content.
  ///   - queue: has room for it.
  func append(
    _ kind: EntryKind, size: Int, from sender: Int64, message: Int64, to queue: inout StoredQueue,
    _ transaction: borrowing Transaction
  ) throws -> StreamPosition {
    queue.last = queue.last.next
    queue.entries += 1
    queue.bytes += size
    try transaction.execute(
      """
      INSERT INTO apptimist_entries (user, position, kind, sender, size, message)
      VALUES (?, ?, ?, ?, ?, ?)
      """, queue.user, queue.last, kind, sender, size, message)
    try transaction.execute(
      """
      INSERT INTO apptimist_shares (user, sender, entries, bytes, oldest) VALUES (?, ?, 1, ?, ?)
      ON CONFLICT (user, sender)
      DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes
      """, queue.user, sender, size, queue.last)
    try transaction.execute(
      """
      UPDATE apptimist_queues SET last_position = ?, entries = ?, bytes = ?, dropped = ?
      WHERE user = ?
      """, queue.last, queue.entries, queue.bytes, queue.dropped, queue.user)
    return queue.last
  }

  /// Deletes a message's content and leaves its place, if the queue hasn't dropped it.
  func clear(
    _ position: StreamPosition, in queue: inout StoredQueue, _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      """
      SELECT e.sender, e.size, e.message, m.body
      FROM apptimist_entries e JOIN apptimist_messages m ON m.id = e.message
      WHERE e.user = ? AND e.position = ?
      """, queue.user, position
    ) { row in
      (
        sender: try row[0] as Int64, size: try row[1] as Int, message: try row[2] as Int64,
        body: try row[3] as Int64?
      )
    }
    guard let entry else { return }
    try transaction.execute(
      "UPDATE apptimist_messages SET header = NULL, body = NULL, data = NULL WHERE id = ?",
      entry.message)
    try release(entry.body, transaction)
    try transaction.execute(
      "UPDATE apptimist_entries SET kind = ?, size = 0 WHERE user = ? AND position = ?",
      EntryKind.place, queue.user, position)
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
      let oldest: (Int64, StreamPosition)?
      if queue.entries >= limits.queueEntries {
        oldest = try transaction.one(
          """
          SELECT sender, oldest FROM apptimist_shares WHERE user = ?
          ORDER BY entries DESC, oldest LIMIT 1
          """, queue.user
        ) { row in (try row[0], try row[1]) }
      } else if queue.bytes + size > limits.queueBytes {
        oldest = try transaction.one(
          """
          SELECT sender, oldest FROM apptimist_shares WHERE user = ?
          ORDER BY bytes DESC, oldest LIMIT 1
          """, queue.user
        ) { row in (try row[0], try row[1]) }
      } else {
        return
      }
      guard let (sender, position) = oldest else { return }
      try drop(position, of: sender, from: &queue, transaction)
    }
  }

  /// Drops a sender's oldest entry; a message stays known.
  private func drop(
    _ position: StreamPosition, of sender: Int64, from queue: inout StoredQueue,
    _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      """
      DELETE FROM apptimist_entries WHERE user = ? AND position = ? RETURNING kind, size, message
      """, queue.user, position
    ) { row in
      (kind: try row[0] as EntryKind, size: try row[1] as Int, message: try row[2] as Int64)
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
    let message = try transaction.one(
      "DELETE FROM apptimist_messages WHERE id = ? RETURNING message_id, body", entry.message
    ) { row in (id: try row[0] as [UInt8], body: try row[1] as Int64?) }
    guard let message else { throw InconsistentQueue() }
    try release(message.body, transaction)
    if entry.kind != .truncation {
      try remember(message.id, droppedFrom: position, in: &queue, transaction)
    }
  }

  /// Notes that a known message has lost its place, and forgets the oldest such if they are many.
  private func remember(
    _ id: [UInt8], droppedFrom position: StreamPosition, in queue: inout StoredQueue,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "INSERT INTO apptimist_dropped (user, position, message_id) VALUES (?, ?, ?)", queue.user,
      position, id)
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

  /// Deletes data that messages shared, once none of them is left.
  private func release(_ body: Int64?, _ transaction: borrowing Transaction) throws {
    guard let body else { return }
    try transaction.execute(
      """
      DELETE FROM apptimist_bodies WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM apptimist_messages WHERE body = ?1)
      """, body)
  }

  /// The tables of a queue contradict each other: somebody else has changed the file.
  private struct InconsistentQueue: Error {}
}
