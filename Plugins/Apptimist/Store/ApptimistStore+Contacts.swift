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
      SELECT e.position, e.size FROM apptimist_entries e
      WHERE e.owner = ?1 AND e.sender = ?2
        AND (SELECT c.sender FROM apptimist_contents c WHERE c.id = e.content) = ?3
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

extension ApptimistStore {
  /// Records that a user vouches for another account; doing so again changes nothing.
  ///
  /// - Parameters:
  ///   - login: the user's, whose signature has been checked.
  ///   - signature: the signature of version 2, which is kept for others to verify.
  /// - Returns: false if there is no such account, or the login holds no more.
  func vouch(
    for subject: EncryptionPublicKey, by login: AccountLogin, signature: Signature? = nil,
    at now: Timestamp = Timestamp.now()
  ) async throws -> ErrorCode {
    let outcome = try await store.write { transaction -> ErrorCode in
      guard let subject = try directory(subject, transaction)?.number,
        let voucher = try account(of: login, transaction)
      else { return .notFound }
      // A list of the subject's vouchers, read page by page by their numbers, misses none that comes later.
      try deliveries.lock(directoriesOf: subject, transaction)
      let site: Int64? = try transaction.value(
        "SELECT site FROM apptimist_users WHERE id = ?", voucher)
      guard try mayVouch(voucher, of: site ?? 1, for: subject, transaction) else {
        return .overQuota
      }
      try transaction.execute(
        """
        INSERT INTO apptimist_vouchers (subject, voucher, signature, site) VALUES (?, ?, ?, ?)
        ON CONFLICT (subject, voucher)
        DO UPDATE SET signature = coalesce(excluded.signature, apptimist_vouchers.signature)
        """, subject, voucher, signature, site)
      return .done
    }
    if outcome == .done { try await recordContact(subject, of: login, at: now) }
    return outcome
  }

  /// Returns whether a user who vouches again, or for few others, may vouch for an account that has few vouchers of the same
  /// site.
  private func mayVouch(
    _ voucher: AccountNumber, of site: Int64, for subject: AccountNumber,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    let isThere = try transaction.exists(
      "SELECT 1 FROM apptimist_vouchers WHERE subject = ? AND voucher = ?", subject, voucher)
    if isThere { return true }
    let given: Int? = try transaction.value(
      """
      SELECT count(*) FROM (SELECT 1 FROM apptimist_vouchers WHERE voucher = ? LIMIT ?) AS given
      """, voucher, limits.vouchesGiven)
    let ofSite: Int? = try transaction.value(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM apptimist_vouchers WHERE subject = ? AND site = ? LIMIT ?) AS vouchers
      """, subject, site, limits.vouchersOfSite)
    return given ?? 0 < limits.vouchesGiven && ofSite ?? 0 < limits.vouchersOfSite
  }

  /// Records that a user no longer vouches for another account.
  func revokeVouch(for subject: EncryptionPublicKey, by login: AccountLogin) async throws {
    try await store.write { transaction in
      guard let voucher = try account(of: login, transaction) else { return }
      try transaction.execute(
        """
        DELETE FROM apptimist_vouchers
        WHERE subject = (SELECT id FROM apptimist_users WHERE key = ?) AND voucher = ?
        """, subject, voucher)
    }
  }

  /// Lists the users who vouch for an account, the oldest first. If they are more than fit, each site has its turns.
  func vouchers(of subject: EncryptionPublicKey) async throws -> [EncryptionPublicKey] {
    try await store.read { snapshot in
      try snapshot.values(
        """
        SELECT u.key FROM (
          SELECT voucher, id FROM (
            SELECT voucher, id, row_number() OVER (PARTITION BY site ORDER BY id) AS turn
            FROM apptimist_vouchers
            WHERE subject = (SELECT id FROM apptimist_users WHERE key = ?)
          ) AS turns ORDER BY turn, id LIMIT ?
        ) AS v JOIN apptimist_users u ON u.id = v.voucher ORDER BY v.id
        """, subject, limits.vouchers)
    }
  }
}
