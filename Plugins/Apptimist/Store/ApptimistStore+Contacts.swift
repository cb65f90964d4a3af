internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import Storage

// Whom users know: those to whom they wrote, or for whom they vouch. What these send isn't dropped for strangers' messages.
extension ApptimistStore {
  /// The newest positions of a mailbox among which messages of a new contact are looked for.
  private static let reviewedEntries = 1_000

  /// Records that a user has written to another one, unless that is known.
  ///
  /// - Parameter login: the user's; nothing is changed if it holds no more.
  func recordContact(
    _ contact: EncryptionPublicKey, of login: AccountLogin, at now: Timestamp
  ) async throws {
    let isKnown = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        """
        SELECT 1 FROM apptimist_users o JOIN apptimist_users c ON c.key = ?2
          JOIN apptimist_contacts k ON k.owner = o.id AND k.contact = c.id
        WHERE o.key = ?1
        """, login.user, contact)
    }
    guard !isKnown else { return }
    try await deliveries.write(isolation: .rowLocks) { pending, transaction in
      guard let owner = try account(of: login, transaction),
        let contact = try userNumber(of: contact, transaction)
      else { return }
      try deliveries.lock(mailboxOf: owner, transaction)
      // What is pending is a stranger's still.
      try mailboxes.flush(login.user, &pending, transaction)
      try addContact(contact, of: owner, at: now, transaction)
    }
  }

  /// Adds a contact of a user, whose mailbox is locked and has all that was delivered to it.
  func addContact(
    _ contact: AccountNumber, of owner: AccountNumber, at now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws {
    guard contact != owner else { return }
    try transaction.execute(
      """
      INSERT INTO apptimist_contacts (owner, contact, added_at) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING
      """, owner, contact, now)
    guard transaction.changes == 1 else { return }
    try transaction.execute(
      """
      DELETE FROM apptimist_contacts WHERE owner = ?1 AND contact IN (
        SELECT contact FROM apptimist_contacts WHERE owner = ?1
        ORDER BY added_at DESC, contact LIMIT 1000 OFFSET ?2)
      """, owner, limits.contacts)
    try mailboxes.move(from: contact, in: owner, newest: Self.reviewedEntries, transaction)
  }
}

extension Mailboxes {
  /// Moves what a user has sent as a stranger into a share of its own.
  ///
  /// - Parameter newest: the number of newest positions that are looked at.
  fileprivate func move(
    from contact: AccountNumber, in owner: AccountNumber, newest: Int,
    _ transaction: borrowing Transaction
  ) throws {
    let site: ShareHolder? = try transaction.value(
      """
      SELECT s.sender FROM apptimist_users u
        JOIN apptimist_shares s ON s.owner = ?2 AND s.sender = -u.site
      WHERE u.id = ?1
      """, contact, owner)
    guard let site else { return }
    let moved = try transaction.all(
      """
      SELECT e.position, e.size FROM apptimist_entries e JOIN apptimist_contents c ON c.id = e.content
      WHERE e.owner = ?1 AND e.sender = ?2 AND c.sender = ?3
        AND e.position > (SELECT last_position FROM apptimist_queues WHERE owner = ?1) - ?4
      ORDER BY e.position
      """, owner, site, contact, newest
    ) { row in (position: try row[0] as MailboxPosition, size: try row[1] as Int) }
    guard let first = moved.first else { return }
    for entry in moved {
      try transaction.execute(
        """
        UPDATE apptimist_entries SET sender = ?, begins_run = 1 WHERE owner = ? AND position = ?
        """, ShareHolder(contact: contact), owner, entry.position)
      try transaction.execute(
        "UPDATE apptimist_entries SET begins_run = 1 WHERE owner = ? AND position = ?", owner,
        entry.position.next)
    }
    let bytes = moved.reduce(0) { $0 + $1.size }
    try transaction.execute(
      """
      INSERT INTO apptimist_shares (owner, sender, entries, bytes, oldest) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (owner, sender)
      DO UPDATE SET entries = apptimist_shares.entries + excluded.entries,
        bytes = apptimist_shares.bytes + excluded.bytes,
        oldest = CASE WHEN excluded.oldest < apptimist_shares.oldest THEN excluded.oldest
          ELSE apptimist_shares.oldest END
      """, owner, ShareHolder(contact: contact), moved.count, bytes, first.position)
    let oldest: MailboxPosition? = try transaction.value(
      """
      SELECT position FROM apptimist_entries WHERE owner = ? AND sender = ? ORDER BY position LIMIT 1
      """, owner, site)
    if let oldest {
      try transaction.execute(
        """
        UPDATE apptimist_shares SET entries = entries - ?, bytes = bytes - ?, oldest = ?
        WHERE owner = ? AND sender = ?
        """, moved.count, bytes, oldest, owner, site)
    } else {
      try transaction.execute(
        "DELETE FROM apptimist_shares WHERE owner = ? AND sender = ?", owner, site)
    }
  }
}
