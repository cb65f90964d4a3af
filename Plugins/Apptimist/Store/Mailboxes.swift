internal import ApptimistProtocol
internal import Cryptography
internal import Platform
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
  /// The part of a share that the table lacks.
  var addition: ShareAddition?
}

/// Entries of one holder, one after the other, that its share does not count yet.
struct ShareAddition {
  let holder: ShareHolder
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
  /// The numbers of the accounts that had a message lately, by their keys.
  let numbers = RecentValues<EncryptionPublicKey, AccountNumber>(limit: 1 << 16)

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
  ///   - holder: to whose share it belongs.
  ///   - mailbox: the mailbox, which has room for it.
  func append(
    _ kind: EntryKind, _ id: MessageID, size: Int, from holder: ShareHolder, message: LogNumber?,
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
      """, mailbox.user, mailbox.last, kind, holder, size, message, id,
      mailbox.addition?.holder != holder)
    if mailbox.addition?.holder != holder {
      try saveShare(of: &mailbox, transaction)
      mailbox.addition = ShareAddition(holder: holder, oldest: mailbox.last)
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
      """, mailbox.user, addition.holder, addition.entries, addition.bytes, addition.oldest)
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
        holder: try row[0] as ShareHolder, size: try row[1] as Int,
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
      mailbox.user, entry.holder)
    mailbox.bytes &-= entry.size
  }

  /// Drops entries until one more fits, in the order of ``EvictionFacts``.
  ///
  /// If a large entry replaces very many small ones, the mailbox is above its limit until some more have come.
  ///
  /// - Parameter holder: to whose share the entry will belong.
  /// - Returns: false if nothing more may be dropped for it.
  func makeRoom(
    for size: Int, from holder: ShareHolder, in mailbox: inout StoredMailbox,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    try saveShare(of: &mailbox, transaction)
    let acknowledged: MailboxPosition?? = try transaction.value(
      "SELECT min(position) FROM apptimist_devices WHERE owner = ?", mailbox.user)
    if holder.isStranger, mailbox.bytes > limits.mailboxBytes - size {
      // Nothing goes for a message that doesn't fit after all.
      let bytes: Int? = try transaction.value(
        """
        SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM apptimist_shares
        WHERE owner = ? AND sender < 0
        """, mailbox.user)
      let served: Int? = try transaction.value(
        """
        SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM apptimist_entries
        WHERE owner = ? AND sender > 0 AND position <= ?
        """, mailbox.user, (acknowledged ?? nil) ?? .zero)
      let kept = mailbox.bytes &- (bytes ?? 0) &- (served ?? 0)
      guard kept <= limits.mailboxBytes - size else { return false }
    }
    for _ in 0..<Self.mostDropped where mailbox.entries > 0 {
      let isFull = mailbox.entries >= limits.mailboxEntries
      guard isFull || mailbox.bytes > limits.mailboxBytes - size else { return true }
      let facts = try eviction(
        from: mailbox.user, for: holder, isFull: isFull,
        acknowledged: (acknowledged ?? nil) ?? .zero, transaction)
      guard let victim = facts.victim else { return false }
      try drop(victim.position, of: victim.holder, from: &mailbox, transaction)
    }
    return true
  }

  /// Reads what a full mailbox could lose, as far as it matters.
  private func eviction(
    from user: AccountNumber, for holder: ShareHolder, isFull: Bool,
    acknowledged: MailboxPosition, _ transaction: borrowing Transaction
  ) throws -> EvictionFacts {
    let served = try transaction.one(
      """
      SELECT position, sender FROM apptimist_entries WHERE owner = ? AND position <= ?
      ORDER BY position LIMIT 1
      """, user, acknowledged
    ) { row in (position: try row[0] as MailboxPosition, holder: try row[1] as ShareHolder) }
    var site: (position: MailboxPosition, holder: ShareHolder)?
    if served == nil {
      site = try transaction.one(
        isFull
          ? """
          SELECT sender, oldest FROM apptimist_shares WHERE owner = ? AND sender < 0
          ORDER BY entries DESC, oldest LIMIT 1
          """
          : """
          SELECT sender, oldest FROM apptimist_shares WHERE owner = ? AND sender < 0
          ORDER BY bytes DESC, oldest LIMIT 1
          """, user
      ) { row in (position: try row[1], holder: try row[0]) }
    }
    if let largest = site {
      let position = try oldestOfLargestSender(
        in: largest.holder, of: user, from: largest.position, isFull: isFull, transaction)
      site = (position ?? largest.position, largest.holder)
    }
    var share: (position: MailboxPosition, holder: ShareHolder)?
    if served == nil, site == nil, !holder.isStranger {
      share = try transaction.one(
        isFull
          ? """
          SELECT sender, oldest FROM apptimist_shares WHERE owner = ?
          ORDER BY entries DESC, oldest LIMIT 1
          """
          : """
          SELECT sender, oldest FROM apptimist_shares WHERE owner = ?
          ORDER BY bytes DESC, oldest LIMIT 1
          """, user
      ) { row in (position: try row[1], holder: try row[0]) }
    }
    return EvictionFacts(
      holder: holder, acknowledged: served, largestSite: site, largestShare: share)
  }

  /// Looks up the oldest entry of the stranger who holds most among the oldest ones of a site.
  ///
  /// The places of truncated messages go first: nobody misses them.
  private func oldestOfLargestSender(
    in site: ShareHolder, of user: AccountNumber, from oldest: MailboxPosition, isFull: Bool,
    _ transaction: borrowing Transaction
  ) throws -> MailboxPosition? {
    var weights: [AccountNumber: Int] = [:]
    var firsts: [(sender: AccountNumber, position: MailboxPosition)] = []
    var emptyPlace: MailboxPosition?
    try transaction.forEach(
      """
      SELECT e.position, e.size,
        (SELECT c.sender FROM apptimist_contents c WHERE c.id = e.content)
      FROM (
        SELECT position, size, content FROM apptimist_entries
        WHERE owner = ?1 AND sender = ?2 AND position >= ?3 AND position < ?3 + 1024
        ORDER BY position LIMIT 256) AS e
      ORDER BY e.position
      """, user, site, oldest
    ) { row in
      let position: MailboxPosition = try row[0]
      guard let sender: AccountNumber = try row[2] else {
        emptyPlace = emptyPlace ?? position
        return
      }
      if weights[sender] == nil { firsts.append((sender, position)) }
      weights[sender, default: 0] &+= isFull ? 1 : try row[1]
    }
    if isFull, let emptyPlace { return emptyPlace }
    let most = weights.values.max()
    return firsts.first { weights[$0.sender] == most }?.position
  }

  /// Drops an entry of a share; a message stays known.
  private func drop(
    _ position: MailboxPosition, of holder: ShareHolder, from mailbox: inout StoredMailbox,
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
    let oldest: MailboxPosition? = try transaction.value(
      "SELECT oldest FROM apptimist_shares WHERE owner = ? AND sender = ?", mailbox.user, holder)
    if let oldest, oldest < position {
      try transaction.execute(
        """
        UPDATE apptimist_shares SET entries = entries - 1, bytes = bytes - ?
        WHERE owner = ? AND sender = ?
        """, entry.size, mailbox.user, holder)
      // The next one isn't right behind another one of its share any more.
      try transaction.execute(
        "UPDATE apptimist_entries SET begins_run = 1 WHERE owner = ? AND position = ?",
        mailbox.user, position.next)
    } else if let next = try self.position(
      after: position, of: holder, in: mailbox.user, transaction)
    {
      try transaction.execute(
        """
        UPDATE apptimist_shares SET entries = entries - 1, bytes = bytes - ?, oldest = ?
        WHERE owner = ? AND sender = ?
        """, entry.size, next, mailbox.user, holder)
    } else {
      try transaction.execute(
        "DELETE FROM apptimist_shares WHERE owner = ? AND sender = ?", mailbox.user, holder)
    }
    try release(entry.message, transaction)
    if entry.kind != .truncation {
      try remember(entry.id, droppedFrom: position, in: &mailbox, transaction)
    }
  }

  /// Looks up the position of a share's next entry.
  ///
  /// - Parameters:
  ///   - position: the place of the sender's oldest entry, which is gone.
  ///   - user: the user whose mailbox it is.
  private func position(
    after position: MailboxPosition, of holder: ShareHolder, in user: AccountNumber,
    _ transaction: borrowing Transaction
  ) throws -> MailboxPosition? {
    let isNext: Bool? = try transaction.value(
      "SELECT sender = ? FROM apptimist_entries WHERE owner = ? AND position = ?", holder, user,
      position.next)
    if isNext == true { return position.next }
    return try transaction.value(
      """
      SELECT position FROM apptimist_entries
      WHERE owner = ? AND sender = ? AND position > ? AND begins_run = 1 ORDER BY position LIMIT 1
      """, user, holder, position)
  }

  /// Records that a known message has lost its place, and forgets the oldest such if they are many.
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
  func release(_ message: LogNumber?, _ transaction: borrowing Transaction) throws {
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
