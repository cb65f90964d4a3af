internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Platform
internal import ServiceKit
internal import Storage

/// An operator's view of a user or a forum.
struct AdministeredAccount: Encodable {
  /// The key in hexadecimal digits.
  let key: String
  let name: String
  let uid: String?
  let isDisabled: Bool
  /// The author's key of a forum.
  let author: String?
  /// When the account was made, as RFC 3339 writes it; nil if it isn't known.
  let made: String?
  /// The day of the last login; nil if there was none after the first day.
  let seen: String?
  let messages: Int
  let messageBytes: Int
  let files: Int
  let fileBytes: Int
  let forums: Int
  let devices: Int
}

/// All that is stored of a user, for the user: keys and contents in hexadecimal digits and Base64.
struct StoredAccountExport: Encodable {
  struct File: Encodable {
    let name: String
    let content: Data
  }

  struct Message: Encodable {
    let id: String
    let header: Data
    let data: Data
  }

  let account: AdministeredAccount
  let contacts: [String]
  /// The users for whom this one vouches, and those who vouch for it.
  let vouches: [String]
  let vouchers: [String]
  let files: [File]
  let forums: [AdministeredAccount]
  /// Messages in the mailbox, encrypted for the user's devices.
  let mailbox: [Message]
}

extension ApptimistStore {
  private func account(_ row: borrowing Row) throws -> AdministeredAccount {
    let kind: StoredKind = try row[3]
    let made: Int64 = try row[5]
    let seen: Int64 = try row[6]
    let uid = try row[2] as StoredUID? ?? row[13] as StoredUID?
    return AdministeredAccount(
      key: (try row[0] as EncryptionPublicKey).hex, name: try row[1],
      uid: uid.flatMap { $0.text.isEmpty ? nil : $0.text },
      isDisabled: kind == .disabled, author: (try row[4] as EncryptionPublicKey?)?.hex,
      made: made > 0 ? Timestamp(milliseconds: made).description : nil,
      seen: seen > 0 ? Timestamp(milliseconds: seen).description : nil, messages: try row[7],
      messageBytes: try row[8], files: try row[9], fileBytes: try row[10], forums: try row[11],
      devices: try row[12])
  }

  /// Lists users, or forums, in the order in which they were made.
  ///
  /// - Parameters:
  ///   - key: the key of the last one before, or nil from the beginning.
  ///   - count: the most that are returned.
  func administeredAccounts(
    forums: Bool, behind key: EncryptionPublicKey?, atMost count: Int
  ) async throws -> [AdministeredAccount] {
    try await store.read { snapshot in
      let first: AccountNumber? = try key.flatMap { key in
        try snapshot.value("SELECT id FROM apptimist_users WHERE key = ?", key)
      }
      return try snapshot.all(
        """
        SELECT id FROM apptimist_users
        WHERE id > ? AND kind IN (?, ?) ORDER BY id LIMIT ?
        """, first ?? AccountNumber(rawValue: 0), forums ? StoredKind.forum : .user,
        forums ? StoredKind.forum : .disabled, count
      ) { try $0[0] as AccountNumber }.compactMap { try account($0, snapshot) }
    }
  }

  private func account(
    _ number: AccountNumber, _ snapshot: borrowing some Queryable & ~Copyable
  ) throws -> AdministeredAccount? {
    try snapshot.one(
      """
      SELECT u.key, u.name, u.uid, u.kind, a.key, u.made_at, u.seen_at,
        coalesce(q.entries, 0), coalesce(q.bytes, 0),
        (SELECT count(*) FROM apptimist_files f WHERE f.directory = u.id),
        (SELECT CAST(coalesce(sum(f.size), 0) AS BIGINT) FROM apptimist_files f
         WHERE f.directory = u.id),
        (SELECT count(*) FROM apptimist_users o WHERE o.author = u.id AND o.kind = 1),
        (SELECT count(*) FROM apptimist_devices d WHERE d.owner = u.id),
        (SELECT d.uid FROM apptimist_disabled d WHERE d.account = u.id)
      FROM apptimist_users u
      LEFT JOIN apptimist_users a ON a.id = u.author
      LEFT JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.id = ?
      """, number
    ) { try account($0) }
  }

  /// Finds an account by its key.
  func administeredAccount(_ key: EncryptionPublicKey) async throws -> AdministeredAccount? {
    try await store.read { snapshot in
      let number: AccountNumber? = try snapshot.value(
        "SELECT id FROM apptimist_users WHERE key = ? AND kind <> ?", key, StoredKind.deleted)
      return try number.flatMap { try account($0, snapshot) }
    }
  }

  /// Returns all that is stored of a user; nil if there is none.
  func export(_ key: EncryptionPublicKey) async throws -> StoredAccountExport? {
    try await flushAll()
    return try await store.read { snapshot in
      let number: AccountNumber? = try snapshot.value(
        "SELECT id FROM apptimist_users WHERE key = ? AND kind IN (?, ?)", key, StoredKind.user,
        StoredKind.disabled)
      guard let number, let account = try account(number, snapshot) else { return nil }
      let forums: [AccountNumber] = try snapshot.values(
        "SELECT id FROM apptimist_users WHERE author = ? AND kind = ? ORDER BY id", number,
        StoredKind.forum)
      return StoredAccountExport(
        account: account,
        contacts: try Self.keys(
          """
          SELECT u.key FROM apptimist_contacts c JOIN apptimist_users u ON u.id = c.contact
          WHERE c.owner = ? ORDER BY c.added_at
          """, number, snapshot),
        vouches: try Self.keys(
          """
          SELECT u.key FROM apptimist_vouchers v JOIN apptimist_users u ON u.id = v.subject
          WHERE v.voucher = ? ORDER BY v.id
          """, number, snapshot),
        vouchers: try Self.keys(
          """
          SELECT u.key FROM apptimist_vouchers v JOIN apptimist_users u ON u.id = v.voucher
          WHERE v.subject = ? ORDER BY v.id
          """, number, snapshot),
        files: try snapshot.all(
          "SELECT name, content FROM apptimist_files WHERE directory = ? ORDER BY name", number
        ) { StoredAccountExport.File(name: try $0[0], content: Data(try $0[1] as [UInt8])) },
        forums: try forums.compactMap { try self.account($0, snapshot) },
        mailbox: try snapshot.all(
          """
          SELECT e.message_id, c.header, c.data FROM apptimist_entries e
          JOIN apptimist_contents c ON c.id = e.content WHERE e.owner = ? ORDER BY e.position
          """, number
        ) { row in
          StoredAccountExport.Message(
            id: (try row[0] as MessageID).hex, header: Data(try row[1] as [UInt8]),
            data: Data(try row[2] as [UInt8]))
        })
    }
  }

  /// Lists keys, by a query for them with one parameter.
  private static func keys(
    _ sql: StaticString, _ number: AccountNumber, _ snapshot: borrowing Snapshot
  ) throws -> [String] {
    try snapshot.all(sql, number) { row in (try row[0] as EncryptionPublicKey).hex }
  }

  /// Disables a user, who then can't log in, isn't found and gets no messages, or enables the user again.
  ///
  /// - Returns: whether there is such a user in the other state.
  func setDisabled(
    _ isDisabled: Bool, _ key: EncryptionPublicKey, at now: Timestamp
  ) async throws -> Bool {
    try await store.write { transaction in
      isDisabled ? try disable(key, at: now, transaction) : try enable(key, transaction)
    }
  }

  private func disable(
    _ key: EncryptionPublicKey, at now: Timestamp, _ transaction: borrowing Transaction
  ) throws -> Bool {
    guard let number = try userNumber(of: key, transaction) else { return false }
    try transaction.execute(
      """
      INSERT INTO apptimist_disabled (account, search_name, uid, disabled_at)
      SELECT id, search_name, uid, ? FROM apptimist_users WHERE id = ?
      """, now.milliseconds, number)
    try transaction.execute(
      "UPDATE apptimist_users SET kind = ?, search_name = NULL, uid = NULL WHERE id = ?",
      StoredKind.disabled, number)
    return true
  }

  private func enable(
    _ key: EncryptionPublicKey, _ transaction: borrowing Transaction
  ) throws -> Bool {
    let number: AccountNumber? = try transaction.value(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.disabled)
    guard let number else { return false }
    try transaction.execute(
      """
      UPDATE apptimist_users SET kind = ?1,
        search_name = (SELECT search_name FROM apptimist_disabled WHERE account = ?2),
        uid = (SELECT uid FROM apptimist_disabled WHERE account = ?2)
      WHERE id = ?2
      """, StoredKind.user, number)
    try transaction.execute("DELETE FROM apptimist_disabled WHERE account = ?", number)
    return true
  }

  /// Returns whether an account with a uid is disabled.
  func isDisabled(uid: String) async throws -> Bool {
    guard !uid.isEmpty else { return false }
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists("SELECT 1 FROM apptimist_disabled WHERE uid = ?", StoredUID(uid))
    }
  }

  /// Deletes a user with all that the user has, forums included; only the key stays, taken.
  ///
  /// - Returns: whether there was such a user.
  func removeUser(_ key: EncryptionPublicKey) async throws -> Bool {
    try await deliveries.write(isolation: .serializable) { pending, transaction in
      // In the same transaction, so that a failure doesn't leave a disabled user enabled.
      _ = try enable(key, transaction)
      guard let number = try userNumber(of: key, transaction) else { return false }
      _ = try remove(key, number, &pending, transaction)
      return true
    }
  }

  /// Deletes a forum with its files; its key stays taken.
  ///
  /// - Returns: whether there was such a forum.
  func removeForum(_ key: EncryptionPublicKey) async throws -> Bool {
    try await store.write { transaction in
      let forum = try transaction.one(
        "SELECT id, author FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.forum
      ) { (number: try $0[0] as AccountNumber, author: try $0[1] as AccountNumber?) }
      guard let forum else { return false }
      let bytes: Int? = try transaction.value(
        "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM apptimist_files WHERE directory = ?",
        forum.number)
      try removeAccount(forum.number, transaction)
      if let author = forum.author { try charge(author, 0 &- (bytes ?? 0), transaction) }
      return true
    }
  }

  // MARK: - Commands beside a running server

  /// The number of the newest change that another program made of a store that is this process's own; nil of one that nodes
  /// share, where each of them looks at the accounts of its sessions anyway.
  func changesOfOthers() async throws -> Int64? {
    guard !store.isShared else { return nil }
    // On the writer's connection: only what others have committed counts there.
    return try await store.write { transaction in
      try transaction.value("SELECT data_version FROM pragma_data_version")
    }
  }

  /// Reads anew what is remembered of accounts and mailboxes, as another program may have changed them.
  func reloadAccounts() async throws {
    try await deliveries.write(isolation: .rowLocks) { [mailboxes] pending, transaction in
      pending = try mailboxes.pending(transaction)
    }
  }

  /// Finds those among some users who can't log in any more.
  func lacking(among users: Set<EncryptionPublicKey>) async throws -> [EncryptionPublicKey] {
    try await store.read { snapshot in
      try users.filter { try userNumber(of: $0, snapshot) == nil }
    }
  }

  // MARK: - Invitations

  /// Lists the invitations that are good, the next to expire first.
  func invitations(at now: Timestamp) async throws -> [InvitationSummary] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT hash, uses, expires_at, uid FROM apptimist_invitations
        WHERE uses > 0 AND expires_at > ? ORDER BY expires_at, hash
        """, now.milliseconds
      ) { row in
        InvitationSummary(
          hash: try row[0], uses: try row[1], expires: Timestamp(milliseconds: try row[2]),
          uid: (try row[3] as StoredUID?)?.text)
      }
    }
  }

  /// Revokes the invitations whose hash begins with some hexadecimal digits.
  ///
  /// - Returns: whether there was one.
  func revokeInvitation(_ id: String) async throws -> Bool {
    try await store.write { transaction in
      let found = InvitationHash.invitations(
        named: id, among: try transaction.values("SELECT hash FROM apptimist_invitations"))
      for hash in found {
        try transaction.execute("DELETE FROM apptimist_invitations WHERE hash = ?", hash)
      }
      return !found.isEmpty
    }
  }

  // MARK: - Persons

  /// Finds the users of a person: by key, by uid, or by an Ethereum address that is a uid.
  func users(of person: String) async throws -> [AdministeredAccount] {
    let key = EncryptionPublicKey(hex: person)
    let uids = Set([person, person.lowercased()]).map(StoredUID.init)
    return try await store.read { snapshot in
      var numbers: Set<AccountNumber> = []
      if let key {
        numbers.formUnion(
          try snapshot.values(
            "SELECT id FROM apptimist_users WHERE key = ? AND kind IN (?, ?)", key, StoredKind.user,
            StoredKind.disabled))
      }
      for uid in uids {
        numbers.formUnion(
          try snapshot.values("SELECT id FROM apptimist_users WHERE uid = ?", uid))
        numbers.formUnion(
          try snapshot.values("SELECT account FROM apptimist_disabled WHERE uid = ?", uid))
      }
      return try numbers.sorted().compactMap { try account($0, snapshot) }
    }
  }
}
