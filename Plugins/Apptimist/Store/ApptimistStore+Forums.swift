internal import ApptimistProtocol
internal import Cryptography
internal import Ethereum
internal import Platform
internal import Storage

/// A forum or event, with the roles that users have in it.
struct Forum: Hashable, Sendable {
  /// The user who made it.
  let author: EncryptionPublicKey
  let editors: Set<EncryptionPublicKey>
  let moderators: Set<EncryptionPublicKey>
  /// The keys of the subscribers; some may belong to no account.
  let subscribers: Set<EncryptionPublicKey>
  /// The forum's secret key as it was given to ``ApptimistStore/escrow(_:of:by:)``.
  let boxedSecret: [UInt8]?
  /// True if posts of version 1 are ignored.
  let isClosed: Bool
}

extension Forum {
  /// Reads a forum from a row with its author's key, the contents of its files with editors, moderators and subscribers, its
  /// secret and whether it is closed.
  init(_ row: borrowing Row, by author: EncryptionPublicKey) throws {
    self.author = author
    editors = Set(ApptimistStore.keys(in: try row[1] ?? []))
    moderators = Set(ApptimistStore.keys(in: try row[2] ?? []))
    subscribers = Set(ApptimistStore.keys(in: try row[3] ?? []))
    boxedSecret = try row[4]
    isClosed = try row[5]
  }
}

/// A forum whose readers are to be checked by its gate.
struct DueGate: Hashable, Sendable {
  let forum: EncryptionPublicKey
  let author: EncryptionPublicKey
  /// The number of the site that made the author's account.
  let site: Int64
}

/// A user or forum to which a message is addressed.
enum MessageRecipient: Sendable {
  case user
  case forum(Forum)
}

extension ApptimistStore {
  /// Makes a forum.
  ///
  /// - Returns: done, also if the forum is there with the same keys and author, as a device of version 2 may ask.
  func createForum(_ new: RequestedAccount, author: AccountLogin) async throws -> ErrorCode {
    let searchName = SearchText(new.name.text)?.bytes
    return try await store.write { transaction in
      guard let author = try account(of: author, transaction) else { return .notPermitted }
      let present = try transaction.one(
        """
        SELECT id, kind = ? AND author = ? AND authentication_key = ? FROM apptimist_users
        WHERE key = ?
        """, StoredKind.forum, author, new.authenticationKey, new.key
      ) { row in (number: try row[0] as AccountNumber, isSame: try row[1] as Bool?) }
      if let present, new.isProven, present.isSame == true {
        try prove(present.number, isClosed: new.isClosed, transaction)
        return .done
      }
      let count: Int? = try transaction.value(
        "SELECT count(*) FROM apptimist_users WHERE author = ?", author)
      guard let count, count < limits.forums else { return .overQuota }
      guard present == nil else { return .keyTaken }
      try lockNumbers(transaction)
      try transaction.execute(
        """
        INSERT INTO apptimist_users
          (key, kind, author, authentication_key, search_name, name, is_proven, is_closed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """, new.key, StoredKind.forum, author, new.authenticationKey, searchName, new.name.text,
        new.isProven, new.isClosed)
      return .done
    }
  }

  /// Removes a forum with its files and its escrowed secret; its key stays taken, and the author's.
  ///
  /// - Returns: the error that applies; with any, nothing is changed.
  func removeForum(_ key: EncryptionPublicKey, by login: AccountLogin) async throws -> ErrorCode {
    try await change(key, by: login) { forum, transaction in
      guard forum.isForum else { return .notPermitted }
      let bytes: Int? = try transaction.value(
        """
        SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM apptimist_files WHERE directory = ?
        """, forum.number)
      try removeAccount(forum.number, transaction)
      try charge(forum.owner, 0 &- (bytes ?? 0), transaction)
      return .done
    }
  }

  /// Removes an account, but for its key, which stays taken, and a forum's author.
  func removeAccount(_ account: AccountNumber, _ transaction: borrowing Transaction) throws {
    try transaction.execute("DELETE FROM apptimist_files WHERE directory = ?", account)
    try transaction.execute("DELETE FROM apptimist_secrets WHERE forum = ?", account)
    try transaction.execute("DELETE FROM apptimist_gates WHERE forum = ?", account)
    try transaction.execute("DELETE FROM apptimist_vouchers WHERE subject = ?", account)
    try transaction.execute(
      """
      UPDATE apptimist_users
      SET kind = ?, authentication_key = ?, search_name = NULL, uid = NULL, name = '' WHERE id = ?
      """, StoredKind.deleted, AuthenticationPublicKey(), account)
  }

  /// Returns whether there was an account with a key, and is none any more.
  func isDeleted(_ key: EncryptionPublicKey) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.deleted)
    }
  }

  /// Looks up the user or forum with a key, by one query, as posts wait for it.
  ///
  /// - Returns: nil if there is none.
  func recipient(_ key: EncryptionPublicKey) async throws -> MessageRecipient? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        """
        SELECT a.key, e.content, m.content, s.content, k.boxed, u.is_closed
        FROM apptimist_users u LEFT JOIN apptimist_users a ON a.id = u.author
          LEFT JOIN apptimist_files e ON e.directory = u.id AND e.name = 'editors'
          LEFT JOIN apptimist_files m ON m.directory = u.id AND m.name = 'moderators'
          LEFT JOIN apptimist_files s ON s.directory = u.id AND s.name = 'subscribers'
          LEFT JOIN apptimist_secrets k ON k.forum = u.id
        WHERE u.key = ? AND u.kind < ?
        """, key, StoredKind.deleted
      ) { row in
        guard let author: EncryptionPublicKey = try row[0] else { return .user }
        return .forum(try Forum(row, by: author))
      }
    }
  }

  /// Reads the keys in a reserved file.
  func keys(
    in name: Filename.Reserved, of directory: AccountNumber,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Set<EncryptionPublicKey> {
    Set(Self.keys(in: try content(of: name.rawValue, in: directory, database) ?? []))
  }

  /// Reads the keys in the content of a reserved file, in their order.
  static func keys(in content: [UInt8]) -> [EncryptionPublicKey] {
    stride(from: 0, through: content.count - 32, by: 32).compactMap {
      EncryptionPublicKey(content[$0..<$0 + 32])
    }
  }

  /// Keeps a forum's secret key.
  ///
  /// - Parameters:
  ///   - boxed: the secret, boxed with a key that is not in the database, or nil to end the escrow.
  ///   - holder: the session, if the store has the locks.
  /// - Returns: `.notPermitted` also for a user's directory.
  func escrow(
    _ boxed: [UInt8]?, of forum: EncryptionPublicKey, by login: AccountLogin,
    holder: NodeSession? = nil
  ) async throws -> ErrorCode {
    try await change(forum, Filename(.secret), by: login, holder: holder) { forum, transaction in
      guard forum.isForum else { return .notPermitted }
      if let boxed {
        try transaction.execute(
          """
          INSERT INTO apptimist_secrets VALUES (?, ?)
          ON CONFLICT (forum) DO UPDATE SET boxed = excluded.boxed
          """, forum.number, boxed)
      } else {
        try transaction.execute("DELETE FROM apptimist_secrets WHERE forum = ?", forum.number)
      }
      return .done
    }
  }
}

// The readers of forums that ask for a token.
extension ApptimistStore {
  /// Looks up the addresses that some users have proved to have on a chain: those of keys, and of that chain's contracts, as one of
  /// another chain may be somebody else's.
  func addresses(
    of users: some Sequence<EncryptionPublicKey> & Sendable, on chain: ChainID
  ) async throws -> [EncryptionPublicKey: EthereumAddress] {
    let start = StoredUID("eip155:\(chain):")
    return try await store.read { snapshot in
      var addresses: [EncryptionPublicKey: EthereumAddress] = [:]
      for user in users {
        let uid: StoredUID? = try snapshot.value(
          """
          SELECT uid FROM apptimist_users
          WHERE key = ? AND kind = ? AND (uid_proof = ? OR uid_proof = ? AND instr(uid, ?) = 1)
          """, user, StoredKind.user, UIDProof.key.rawValue, UIDProof.contract.rawValue, start)
        addresses[user] = uid.flatMap { EthereumAddress(String($0.text.suffix(42))) }
      }
      return addresses
    }
  }

  /// Chooses the forum with a gate whose readers are to be checked now, which no other node gets, and makes it due again after
  /// an interval.
  func nextGate(at now: Timestamp, every interval: Duration) async throws -> DueGate? {
    try await store.write(isolation: .rowLocks) { transaction in
      // A clock that was set back keeps no forum from being checked.
      let next =
        try dueGate(from: Timestamp(milliseconds: .min), upTo: now, transaction)
        ?? dueGate(
          from: now + interval + .milliseconds(1), upTo: Timestamp(milliseconds: .max), transaction)
      guard let next else { return nil }
      try transaction.execute(
        "UPDATE apptimist_gates SET due_at = ? WHERE forum = ?", now + interval, next.number)
      return next.gate
    }
  }

  private func dueGate(
    from first: Timestamp, upTo last: Timestamp, _ transaction: borrowing Transaction
  ) throws -> (number: AccountNumber, gate: DueGate)? {
    try transaction.one(
      """
      SELECT g.forum, u.key, a.key, a.site
      FROM (
        SELECT forum, author FROM apptimist_gates WHERE due_at >= ? AND due_at <= ?
        ORDER BY due_at LIMIT 1 /*postgresql FOR UPDATE SKIP LOCKED */
      ) AS g JOIN apptimist_users u ON u.id = g.forum JOIN apptimist_users a ON a.id = g.author
      """, first, last
    ) { row in
      (
        number: try row[0],
        gate: DueGate(forum: try row[1], author: try row[2], site: try row[3])
      )
    }
  }

  /// Makes a forum's check due at another moment.
  func postponeGate(of forum: EncryptionPublicKey, until due: Timestamp) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        UPDATE apptimist_gates SET due_at = ?
        WHERE forum = (SELECT id FROM apptimist_users WHERE key = ?)
        """, due, forum)
    }
  }

  /// Records that a forum has a gate, whose readers are to be checked soon, or has none any more.
  ///
  /// - Returns: the error that applies if the author has too many.
  func setGate(
    of directory: StoredDirectory, isThere: Bool, _ transaction: borrowing Transaction
  ) throws -> ErrorCode {
    guard directory.isForum else { return .done }
    guard isThere else {
      try transaction.execute("DELETE FROM apptimist_gates WHERE forum = ?", directory.number)
      return .done
    }
    let others: Int? = try transaction.value(
      "SELECT count(*) FROM apptimist_gates WHERE author = ? AND forum <> ?", directory.owner,
      directory.number)
    guard others ?? 0 < limits.gates else { return .overQuota }
    try transaction.execute(
      """
      INSERT INTO apptimist_gates (forum, author, due_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING
      """, directory.number, directory.owner)
    return .done
  }

  /// Changes the readers of a forum by its gate, if that is still the one that was asked about.
  ///
  /// - Parameters:
  ///   - lacking: users who are none any more, unless they have another role.
  ///   - holder: the session, if the store has the locks.
  /// - Returns: the error that applies; with any, nothing is changed.
  func changeReaders(
    of forum: EncryptionPublicKey, by gate: [UInt8], adding new: AccountLogin? = nil,
    removing lacking: Set<EncryptionPublicKey> = [], holder: NodeSession?
  ) async throws -> ErrorCode {
    let name = Filename(.subscribers)
    return try await store.write(isolation: .rowLocks) { transaction in
      guard let directory = try lockedDirectory(forum, transaction) else { return .notFound }
      if let new, try account(of: new, transaction) == nil { return .notPermitted }
      if let holder, try !isFree(name, in: directory.number, for: holder, transaction) {
        return .locked
      }
      guard try content(of: Filename.gate.text, in: directory.number, transaction) == gate else {
        return .internalError
      }
      let removed = try lacking.subtracting([directory.author])
        .subtracting(keys(in: .editors, of: directory.number, transaction))
        .subtracting(keys(in: .moderators, of: directory.number, transaction))
      let old = try content(of: name.text, in: directory.number, transaction) ?? []
      var readers = Self.keys(in: old)
      if let new, !readers.contains(new.user) { readers.append(new.user) }
      let changed = readers.filter { !removed.contains($0) }.flatMap(\.bytes)
      return changed == old ? .done : try put(changed, into: name, of: directory, transaction)
    }
  }
}
