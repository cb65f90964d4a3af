internal import ApptimistProtocol
internal import Storage

/// The kinds of entries of a mailbox.
enum EntryKind: Int, DatabaseValueConvertible {
  case message = 0
  /// The place of a truncated message.
  case place = 1
  case truncation = 2
}

/// A user's mailbox as it is while a transaction changes it.
struct StoredMailbox {
  let user: AccountNumber
  /// The last position that was given away.
  var last: MailboxPosition
  var entries: Int
  var bytes: Int
  /// The number of dropped messages whose identifiers are still known.
  var dropped: Int
  /// The part of a sender's share that the table lacks.
  var addition: ShareAddition?
}

/// Entries of one sender, one after the other, that the sender's share does not count yet.
struct ShareAddition {
  let sender: AccountNumber
  let oldest: MailboxPosition
  var entries = 0
  var bytes = 0
}

/// The tables of mailboxes, within a transaction.
struct Mailboxes: Sendable {
  /// The bytes that a truncation counts: its header.
  static let truncationSize = 66
  /// The most entries that are dropped for one that is added, so that nobody waits long for a transaction.
  private static let mostDropped = 64

  let limits: ApptimistStore.Limits
  /// The wakes of devices, or nil if the service pushes nothing.
  var wakes: Wakes?

  /// Reads the state of a user's mailbox.
  func state(
    of user: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StoredMailbox {
    let mailbox = try database.one(
      "SELECT last_position, entries, bytes, dropped FROM apptimist_queues WHERE owner = ?", user
    ) { row in
      StoredMailbox(
        user: user, last: try row[0], entries: try row[1], bytes: try row[2], dropped: try row[3])
    }
    // Whatever stands in the file, sums of these can't overflow.
    guard let mailbox,
      [mailbox.entries, mailbox.bytes, mailbox.dropped].allSatisfy((0...1 << 60).contains)
    else { throw InconsistentMailbox() }
    return mailbox
  }

  /// Stores the state of a mailbox that a transaction has changed.
  func save(_ mailbox: inout StoredMailbox, _ transaction: borrowing Transaction) throws {
    try saveShare(of: &mailbox, transaction)
    try transaction.execute(
      """
      UPDATE apptimist_queues SET last_position = ?, entries = ?, bytes = ?, dropped = ?
      WHERE owner = ?
      """, mailbox.last, mailbox.entries, mailbox.bytes, mailbox.dropped, mailbox.user)
  }

  /// Puts an entry behind all others.
  ///
  /// - Parameters:
  ///   - id: the message that it is, or that it truncates.
  ///   - size: the bytes that it counts.
  ///   - sender: the user to whose share it belongs.
  ///   - mailbox: the mailbox, which has room for it.
  func append(
    _ kind: EntryKind, _ id: MessageID, size: Int, from sender: AccountNumber, message: LogNumber?,
    to mailbox: inout StoredMailbox, _ transaction: borrowing Transaction
  ) throws {
    mailbox.last = mailbox.last.next
    mailbox.entries += 1
    mailbox.bytes += size
    try transaction.execute(
      """
      INSERT INTO apptimist_entries
        (owner, position, kind, sender, size, content, message_id, begins_run)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, mailbox.user, mailbox.last, kind, sender, size, message, id,
      mailbox.addition?.sender != sender)
    if mailbox.addition?.sender != sender {
      try saveShare(of: &mailbox, transaction)
      mailbox.addition = ShareAddition(sender: sender, oldest: mailbox.last)
    }
    mailbox.addition?.entries += 1
    mailbox.addition?.bytes += size
  }

  private func saveShare(
    of mailbox: inout StoredMailbox, _ transaction: borrowing Transaction
  ) throws {
    guard let addition = mailbox.addition else { return }
    mailbox.addition = nil
    try transaction.execute(
      """
      INSERT INTO apptimist_shares (owner, sender, entries, bytes, oldest) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (owner, sender)
      DO UPDATE SET entries = apptimist_shares.entries + excluded.entries,
        bytes = apptimist_shares.bytes + excluded.bytes
      """, mailbox.user, addition.sender, addition.entries, addition.bytes, addition.oldest)
  }

  /// Deletes a message's content and leaves its place, if the mailbox has not dropped it.
  func clear(
    _ position: MailboxPosition, in mailbox: inout StoredMailbox,
    _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      "SELECT sender, size, content FROM apptimist_entries WHERE owner = ? AND position = ?",
      mailbox.user, position
    ) { row in
      (
        sender: try row[0] as AccountNumber, size: try row[1] as Int,
        message: try row[2] as LogNumber?
      )
    }
    guard let entry else { return }
    try release(entry.message, transaction)
    try transaction.execute(
      """
      UPDATE apptimist_entries SET kind = ?, size = 0, content = NULL
      WHERE owner = ? AND position = ?
      """, EntryKind.place, mailbox.user, position)
    try transaction.execute(
      "UPDATE apptimist_shares SET bytes = bytes - ? WHERE owner = ? AND sender = ?", entry.size,
      mailbox.user, entry.sender)
    mailbox.bytes &-= entry.size
  }

  /// Drops entries until one more fits: each time the oldest of the sender who holds most, so that
  /// nobody can push out what others have sent.
  ///
  /// If a large entry replaces very many small ones, the mailbox is above its limit until some more have come.
  func makeRoom(
    for size: Int, in mailbox: inout StoredMailbox, _ transaction: borrowing Transaction
  ) throws {
    for _ in 0..<Self.mostDropped where mailbox.entries > 0 {
      let isFull = mailbox.entries >= limits.mailboxEntries
      guard isFull || mailbox.bytes > limits.mailboxBytes - size else { return }
      try saveShare(of: &mailbox, transaction)
      let largestShare: StaticString =
        isFull
        ? """
        SELECT sender, oldest FROM apptimist_shares WHERE owner = ?
        ORDER BY entries DESC, oldest LIMIT 1
        """
        : """
        SELECT sender, oldest FROM apptimist_shares WHERE owner = ?
        ORDER BY bytes DESC, oldest LIMIT 1
        """
      let share: (sender: AccountNumber, oldest: MailboxPosition)? = try transaction.one(
        largestShare, mailbox.user
      ) { row in (try row[0], try row[1]) }
      guard let share else { return }
      try drop(share.oldest, of: share.sender, from: &mailbox, transaction)
    }
  }

  /// Drops a sender's oldest entry; a message stays known.
  private func drop(
    _ position: MailboxPosition, of sender: AccountNumber, from mailbox: inout StoredMailbox,
    _ transaction: borrowing Transaction
  ) throws {
    let entry = try transaction.one(
      """
      DELETE FROM apptimist_entries WHERE owner = ? AND position = ?
      RETURNING kind, size, content, message_id
      """, mailbox.user, position
    ) { row in
      (
        kind: try row[0] as EntryKind, size: try row[1] as Int,
        message: try row[2] as LogNumber?, id: try row[3] as MessageID
      )
    }
    guard let entry else { throw InconsistentMailbox() }
    mailbox.entries -= 1
    mailbox.bytes &-= entry.size
    if let next = try self.position(after: position, of: sender, in: mailbox.user, transaction) {
      try transaction.execute(
        """
        UPDATE apptimist_shares SET entries = entries - 1, bytes = bytes - ?, oldest = ?
        WHERE owner = ? AND sender = ?
        """, entry.size, next, mailbox.user, sender)
    } else {
      try transaction.execute(
        "DELETE FROM apptimist_shares WHERE owner = ? AND sender = ?", mailbox.user, sender)
    }
    try release(entry.message, transaction)
    if entry.kind != .truncation {
      try remember(entry.id, droppedFrom: position, in: &mailbox, transaction)
    }
  }

  /// Looks up the place of a sender's next entry.
  ///
  /// - Parameters:
  ///   - position: the place of the sender's oldest entry, which is gone.
  ///   - user: the user whose mailbox it is.
  private func position(
    after position: MailboxPosition, of sender: AccountNumber, in user: AccountNumber,
    _ transaction: borrowing Transaction
  ) throws -> MailboxPosition? {
    let isNext: Bool? = try transaction.value(
      "SELECT sender = ? FROM apptimist_entries WHERE owner = ? AND position = ?", sender, user,
      position.next)
    if isNext == true { return position.next }
    return try transaction.value(
      """
      SELECT position FROM apptimist_entries
      WHERE owner = ? AND sender = ? AND position > ? AND begins_run = 1 ORDER BY position LIMIT 1
      """, user, sender, position)
  }

  /// Notes that a known message has lost its place, and forgets the oldest such if they are many.
  private func remember(
    _ id: MessageID, droppedFrom position: MailboxPosition, in mailbox: inout StoredMailbox,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "INSERT INTO apptimist_dropped (owner, position, message_id) VALUES (?, ?, ?)", mailbox.user,
      position, KnownID(id))
    mailbox.dropped += 1
    while mailbox.dropped > limits.rememberedMessages {
      let forgotten: [UInt8]? = try transaction.value(
        """
        DELETE FROM apptimist_dropped WHERE owner = ?1 AND position =
          (SELECT min(position) FROM apptimist_dropped WHERE owner = ?1) RETURNING message_id
        """, mailbox.user)
      guard let forgotten else { throw InconsistentMailbox() }
      try transaction.execute(
        "DELETE FROM apptimist_message_ids WHERE owner = ? AND message_id = ?", mailbox.user,
        forgotten
      )
      mailbox.dropped -= 1
    }
  }

  /// Deletes a message from the message log with the last entry that has it.
  private func release(_ message: LogNumber?, _ transaction: borrowing Transaction) throws {
    guard let message else { return }
    try transaction.execute("DELETE FROM apptimist_contents WHERE id = ? AND holders = 1", message)
    guard transaction.changes == 0 else { return }
    let holders: Int? = try transaction.value(
      "UPDATE apptimist_contents SET holders = holders - 1 WHERE id = ? RETURNING holders", message)
    // Another node may have released the other one's meanwhile.
    guard holders == 0 else { return }
    try transaction.execute("DELETE FROM apptimist_contents WHERE id = ?", message)
  }
}

/// The tables of a mailbox contradict each other: somebody else has changed the file.
struct InconsistentMailbox: Error {}
