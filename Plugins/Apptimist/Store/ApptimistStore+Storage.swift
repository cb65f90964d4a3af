internal import ApptimistProtocol
internal import Budgets
internal import Cryptography
internal import Platform
internal import Storage

// What the accounts of each site have in mailboxes and in files, and who may store where there is little room.
extension ApptimistStore {
  /// Looks up the number of the site that made a user's account.
  func site(of user: EncryptionPublicKey) async throws -> Int64? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value("SELECT site FROM apptimist_users WHERE key = ?", user)
    }
  }

  /// Adds up the bytes that the accounts of each site have in mailboxes and in files. A message counts for each recipient.
  func bytesBySite() async throws -> [Int64: Int] {
    let pending = try await deliveries.write(isolation: .rowLocks) { pending, _ in
      pending.bytesBySender
    }
    return try await store.read { snapshot in
      var bytes: [Int64: Int] = [:]
      try snapshot.forEach(
        """
        SELECT u.site, CAST(sum(s.bytes) AS BIGINT)
        FROM apptimist_shares s JOIN apptimist_users u ON u.id = s.sender
        WHERE s.sender > 0 GROUP BY u.site
        """
      ) { row in bytes[try row[0], default: 0] &+= try row[1] }
      try snapshot.forEach(
        """
        SELECT -sender, CAST(sum(bytes) AS BIGINT) FROM apptimist_shares
        WHERE sender < 0 GROUP BY sender
        """
      ) { row in bytes[try row[0], default: 0] &+= try row[1] }
      try snapshot.forEach(
        """
        SELECT site, CAST(sum(file_bytes) AS BIGINT) FROM apptimist_users
        WHERE file_bytes > 0 GROUP BY site
        """
      ) { row in bytes[try row[0], default: 0] &+= try row[1] }
      for (sender, more) in pending {
        let site: Int64? = try snapshot.value(
          "SELECT site FROM apptimist_users WHERE id = ?", sender)
        if let site { bytes[site, default: 0] &+= more }
      }
      return bytes
    }
  }

  /// Returns whether a user is a contact of another one.
  func isContact(_ user: EncryptionPublicKey, of owner: EncryptionPublicKey) async throws -> Bool {
    guard user != owner else { return true }
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        """
        SELECT 1 FROM apptimist_users o JOIN apptimist_users c ON c.key = ?2
          JOIN apptimist_contacts k ON k.owner = o.id AND k.contact = c.id
        WHERE o.key = ?1
        """, owner, user)
    }
  }

  /// Returns whether a user has used the account after its first day.
  func hasReturned(_ user: EncryptionPublicKey) async throws -> Bool {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM apptimist_users WHERE key = ? AND seen_at <> 0", user)
    }
  }

  // MARK: - Accounts that were never used again

  /// The time after an account was made in which its use doesn't count as a return.
  static let firstDay = Duration.seconds(86_400)
  /// The most entries of mailboxes that are deleted at once, but for those of the first mailbox.
  private static let emptiedEntries = 10_000

  /// Records that a user logs in, unless the account has just been made or that is known.
  func markReturned(
    _ user: AccountNumber, at now: Timestamp, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "UPDATE apptimist_users SET seen_at = ?1 WHERE id = ?2 AND seen_at = 0 AND made_at <= ?3",
      now, user, now - Self.firstDay)
  }

  /// Empties mailboxes of accounts that were never used after their first day.
  ///
  /// - Returns: whether there may be more.
  func emptyUnusedMailboxes(at now: Timestamp) async throws -> Bool {
    try await deliveries.write(isolation: .rowLocks) { pending, transaction in
      let unused = try transaction.all(
        """
        SELECT u.id, u.key, q.entries FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
        WHERE u.kind = 0 AND u.seen_at = 0 AND u.made_at > 0 AND u.made_at <= ? ORDER BY u.made_at LIMIT 100
        """, now - limits.unusedAge
      ) { row in
        (
          user: try row[0] as AccountNumber, key: try row[1] as EncryptionPublicKey,
          entries: try row[2] as Int
        )
      }
      var left = Self.emptiedEntries
      for mailbox in unused where left > 0 {
        left -= mailbox.entries
        try deliveries.lock(mailboxOf: mailbox.user, transaction)
        // The user may have returned since the list was read.
        let isUnused = try transaction.exists(
          """
          SELECT 1 FROM apptimist_users WHERE id = ? AND kind = 0 AND seen_at = 0 AND made_at <= ?
          /*postgresql FOR NO KEY UPDATE */
          """, mailbox.user, now - limits.unusedAge)
        guard isUnused else { continue }
        try mailboxes.flush(mailbox.key, &pending, transaction)
        pending.forget(mailbox.key)
        try emptyMailbox(of: mailbox.user, transaction)
        // It is looked at again after the same time.
        try transaction.execute(
          "UPDATE apptimist_users SET made_at = ? WHERE id = ?", now, mailbox.user)
      }
      return !unused.isEmpty
    }
  }
}

/// What accounts have stored, charged to the sites that made them.
struct AccountStorage: Sendable {
  private let store: ApptimistStore
  private let storage: SiteStorage<Int64>
  /// By login: who takes an account over that another had made with the key has another site.
  private let sites = RecentValues<AccountLogin, Int64>(limit: 32_768)

  /// - Parameter limit: the most bytes of a site.
  init(_ store: ApptimistStore, limit: Int) {
    self.store = store
    storage = SiteStorage(limit: limit) { try await store.bytesBySite() }
  }

  /// Counts bytes that a user wants to store, if the user's site may have them.
  func mayStore(_ more: Int, by login: AccountLogin) async throws -> Bool {
    try await storage.mayStore(more, of: site(of: login))
  }

  private func site(of login: AccountLogin) async throws -> Int64 {
    if let site = sites.value(for: login) { return site }
    guard let site = try await store.site(of: login.user) else { return 1 }
    sites.insert(site, for: login)
    return site
  }
}
