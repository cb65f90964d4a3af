internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import ServiceKit
internal import Storage

/// The kinds of signatures for a uid that the service has seen.
enum UIDProof: Int64, Sendable {
  /// The account's own key has signed.
  case key = 1
  /// The account is a contract, by whose word a signature was good.
  case contract
}

/// The result of a request for an account.
enum NewUser: Hashable, Sendable {
  case created
  /// The account is there with the same keys and uid, and stays as it is.
  case sameAgain
  /// The account, made in version 1 by who has not proved to have its key, belongs to who has. These forums of the other
  /// are deleted, and all else that was the other's.
  case gaveWay(forums: [EncryptionPublicKey])
  /// The key belongs to somebody else.
  case taken
  /// There is no such invitation, or it is used up, over, or for another uid.
  case notInvited
  /// Nobody may make an account at the moment.
  case notNow
}

/// The account that has a key already, beside one that is asked for.
private struct PresentAccount {
  let number: AccountNumber
  /// True if it is a user's who has not proved to have its key.
  let isUnproven: Bool
  let hasSameKey: Bool
  /// True if it is the same user's account, with the same keys and uid.
  let isSame: Bool
}

extension ApptimistStore {
  /// Makes a user's account.
  ///
  /// - Parameters:
  ///   - invitation: an invitation that is used once to make the account, if one is needed. A retry
  ///     needs none.
  ///   - proof: the signature for the uid, if the service has seen one.
  ///   - site: the site of the client; empty for one without an address.
  ///   - mayCreate: whether an account may be made that is not there.
  func createUser(
    _ new: RequestedAccount, invitation: InvitationHash? = nil, proof: UIDProof? = nil,
    site: String = "", mayCreate: Bool = true, at now: Timestamp
  ) async throws -> NewUser {
    let uid = StoredUID(new.uid)
    let name = new.name.text
    let searchName = SearchText(name)?.bytes
    return try await deliveries.write(isolation: .serializable) { pending, transaction in
      // Compared by the store, byte by byte: Swift takes canonically equivalent texts for equal.
      let present = try transaction.one(
        """
        SELECT id, kind = ?1 AND is_proven = 0, authentication_key = ?2,
          CASE WHEN kind = ?1 AND authentication_key = ?2 AND uid = ?3 THEN 1 ELSE 0 END
        FROM apptimist_users WHERE key = ?4
        """, StoredKind.user, new.authenticationKey, uid, new.key
      ) { row in
        PresentAccount(
          number: try row[0], isUnproven: try row[1], hasSameKey: try row[2], isSame: try row[3])
      }
      if let present {
        let givesWay = new.isProven && present.isUnproven
        guard present.isSame || givesWay else {
          if let invitation, try !isGood(invitation, uid: new.uid, at: now, transaction) {
            return .notInvited
          }
          return .taken
        }
        if !present.isSame, let invitation, try !use(invitation, uid: new.uid, at: now, transaction)
        {
          return .notInvited
        }
        var forums: [EncryptionPublicKey] = []
        if !present.hasSameKey {
          forums = try vacate(new.key, present.number, &pending, transaction)
        }
        if givesWay {
          try transaction.execute(
            """
            UPDATE apptimist_users
            SET authentication_key = ?, search_name = ?, uid = ?, name = ?, site = ?
            WHERE id = ?
            """, new.authenticationKey, searchName, uid, name,
            try number(ofSite: site, transaction), present.number)
        }
        if givesWay || proof != nil {
          try transaction.execute(
            "UPDATE apptimist_users SET uid_proof = ? WHERE id = ?", proof?.rawValue ?? 0,
            present.number)
        }
        if new.isProven {
          try prove(present.number, isClosed: new.isClosed, transaction)
          pending.forgetSender(new.key)
        }
        return present.hasSameKey ? .sameAgain : .gaveWay(forums: forums)
      }
      guard mayCreate else { return .notNow }
      if let invitation, try !use(invitation, uid: new.uid, at: now, transaction) {
        return .notInvited
      }
      try lockNumbers(transaction)
      let siteNumber = try number(ofSite: site, transaction)
      let number: AccountNumber? = try transaction.value(
        """
        INSERT INTO apptimist_users
          (key, kind, authentication_key, search_name, uid, name, is_proven, is_closed, uid_proof,
           site, made_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """, new.key, StoredKind.user, new.authenticationKey, searchName, uid, name, new.isProven,
        new.isClosed, proof?.rawValue ?? 0, siteNumber, now)
      try transaction.execute("INSERT INTO apptimist_queues (owner) VALUES (?)", number)
      return .created
    }
  }

  /// Looks up the number of a site, which it gets if it has none.
  private func number(
    ofSite site: String, _ transaction: borrowing Transaction
  ) throws -> Int64 {
    try transaction.execute(
      "INSERT INTO apptimist_sites (site) VALUES (?) ON CONFLICT DO NOTHING", site)
    let number: Int64? = try transaction.value(
      "SELECT id FROM apptimist_sites WHERE site = ?", site)
    return number ?? 1
  }

  /// Waits for other transactions that make accounts, so that the accounts' numbers become visible in their order: a search
  /// by pages misses no later one.
  func lockNumbers(_ transaction: borrowing Transaction) throws {
    try transaction.forEach("SELECT 1 FROM apptimist_settled /*postgresql FOR UPDATE */") { _ in }
  }

  /// Looks up the number of the account for which a session has logged in.
  ///
  /// - Returns: nil if the login holds no more.
  func account(
    of login: AccountLogin, _ transaction: borrowing Transaction
  ) throws -> AccountNumber? {
    try transaction.value(
      """
      SELECT id FROM apptimist_users
      WHERE key = ? AND kind = ? AND authentication_key = ? AND (is_closed = 0 OR ? = 0)
      """, login.user, StoredKind.user, login.authenticationKey, login.isVersion1)
  }

  /// Returns whether there is a user with a uid for which the user's wallet has signed.
  func hasSigned(uid: String) async throws -> Bool {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM apptimist_users WHERE uid = ? AND kind = ? AND uid_proof <> 0 LIMIT 1",
        StoredUID(uid), StoredKind.user)
    }
  }

  /// Looks up the name of a user or forum; nil if there is none.
  func name(of key: EncryptionPublicKey) async throws -> String? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        "SELECT name FROM apptimist_users WHERE key = ? AND kind <> ?", key, StoredKind.deleted)
    }
  }

  /// Looks up the number of a user.
  func userNumber(
    of key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> AccountNumber? {
    try database.value(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.user)
  }
}

extension ApptimistStore {
  /// The most rows of each kind that ``expire(at:)`` deletes.
  private static let expired = 1_000

  /// Returns whether a connection may use an ephemeral key: it hasn't been used, and is no account's.
  func mayServe(ephemeral key: EncryptionPublicKey, hash: EphemeralKeyHash) async throws -> Bool {
    try await store.read { snapshot in
      try !snapshot.exists(
        """
        SELECT 1 WHERE EXISTS (SELECT 1 FROM apptimist_ephemeral_keys WHERE hash = ?)
          OR EXISTS (SELECT 1 FROM apptimist_users WHERE key = ?)
        """, hash, key)
    }
  }

  /// Records that a user has logged in with an ephemeral key, and forgets the user's oldest one if there
  /// are too many.
  ///
  /// - Parameter end: the time until which it is remembered.
  /// - Returns: false if it had been used before, or if there is no such user.
  func remember(
    _ hash: EphemeralKeyHash, of user: EncryptionPublicKey, at now: Timestamp, until end: Timestamp
  ) async throws -> Bool {
    try await store.write { transaction in
      guard let number = try userNumber(of: user, transaction) else { return false }
      try transaction.execute(
        """
        INSERT INTO apptimist_ephemeral_keys (hash, expires_at, owner) VALUES (?, ?, ?)
        ON CONFLICT DO NOTHING
        """, hash, end.milliseconds, number)
      guard transaction.changes == 1 else { return false }
      try markReturned(number, at: now, transaction)
      try transaction.execute(
        """
        DELETE FROM apptimist_ephemeral_keys WHERE hash IN
          (SELECT hash FROM apptimist_ephemeral_keys
           WHERE owner = ? ORDER BY expires_at DESC LIMIT ? OFFSET ?)
        """, number, Self.expired, limits.rememberedConnections)
      return true
    }
  }

  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - uid: the uid that it is for, or nil for anybody's.
  ///   - uses: the number of accounts that can be made with it.
  ///   - end: the time from which it is not good any more.
  func addInvitation(
    _ hash: InvitationHash, uid: String?, uses: Int, expires end: Timestamp
  ) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO apptimist_invitations (hash, uid, uses, expires_at) VALUES (?, ?, ?, ?)",
        hash, uid.map(StoredUID.init), uses, end.milliseconds)
    }
  }

  /// Uses an invitation once.
  ///
  /// - Returns: false if it is not good.
  func use(
    _ invitation: InvitationHash, uid: String, at now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.execute(
      """
      UPDATE apptimist_invitations SET uses = uses - 1
      WHERE hash = ? AND uses > 0 AND expires_at > ? AND (uid IS NULL OR uid = ?)
      """, invitation, now.milliseconds, StoredUID(uid))
    return transaction.changes == 1
  }

  /// Returns whether an invitation could be used, which it is not.
  func isGood(
    _ invitation: InvitationHash, uid: String, at now: Timestamp,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.exists(
      """
      SELECT 1 FROM apptimist_invitations
      WHERE hash = ? AND uses > 0 AND expires_at > ? AND (uid IS NULL OR uid = ?)
      """, invitation, now.milliseconds, StoredUID(uid))
  }

  /// Deletes expired ephemeral keys, invitations, links and push addresses, some at a time.
  ///
  /// - Returns: whether there may be more.
  func expire(at now: Timestamp) async throws -> Bool {
    try await store.write { transaction in
      try transaction.execute(
        """
        DELETE FROM apptimist_ephemeral_keys WHERE hash IN
          (SELECT hash FROM apptimist_ephemeral_keys WHERE expires_at <= ?
           ORDER BY expires_at LIMIT ?)
        """, now.milliseconds, Self.expired)
      let isFull = transaction.changes == Self.expired
      try transaction.execute("DELETE FROM apptimist_links WHERE expires <= ?", now.milliseconds)
      try transaction.execute(
        """
        DELETE FROM apptimist_invitations WHERE hash IN
          (SELECT hash FROM apptimist_invitations WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
        """, now.milliseconds, Self.expired)
      let areFull = isFull || transaction.changes == Self.expired
      guard let wakes = mailboxes.wakes else { return areFull }
      try transaction.execute(
        """
        DELETE FROM apptimist_addresses WHERE (owner, device) IN
          (SELECT owner, device FROM apptimist_addresses WHERE noted_at <= ?
           ORDER BY noted_at LIMIT ?)
        """, now - wakes.limits.age - .milliseconds(wakes.step), Self.expired)
      return areFull || transaction.changes == Self.expired
    }
  }
}

// What only version 2 knows of accounts: that they are proven, and closed to version 1.
extension ApptimistStore {
  /// Looks up an account that wants to log in.
  func knownAccount(_ key: EncryptionPublicKey) async throws -> AccountCredentials? {
    try await store.read { snapshot in
      try snapshot.one(
        """
        SELECT kind = ?, authentication_key, is_closed FROM apptimist_users
        WHERE key = ? AND kind < ?
        """, StoredKind.forum, key, StoredKind.deleted
      ) {
        AccountCredentials(isForum: try $0[0], authenticationKey: try $0[1], isClosed: try $0[2])
      }
    }
  }

  /// Records that a device has proved to be an account's; in most cases that is known.
  ///
  /// - Parameters:
  ///   - authenticationKey: the key with which the device has signed.
  ///   - closes: whether the account is to have no version 1 from now on.
  /// - Returns: false if the account has another key by now.
  func prove(
    _ user: EncryptionPublicKey, _ authenticationKey: AuthenticationPublicKey, closes: Bool,
    at now: Timestamp
  ) async throws -> Bool {
    let isKnown: Bool? = try await store.read { snapshot in
      try snapshot.value(
        """
        SELECT is_proven = 1 AND is_closed >= ? AND (seen_at <> 0 OR made_at > ?)
        FROM apptimist_users WHERE key = ? AND kind = ? AND authentication_key = ?
        """, closes, now - Self.firstDay, user, StoredKind.user, authenticationKey)
    }
    guard let isKnown else { return false }
    if isKnown { return true }
    let login = AccountLogin(user: user, authenticationKey: authenticationKey, isVersion1: false)
    return try await deliveries.write(isolation: .serializable) { pending, transaction in
      guard let number = try account(of: login, transaction) else { return false }
      try prove(number, isClosed: closes, transaction)
      try markReturned(number, at: now, transaction)
      pending.forgetSender(user)
      return true
    }
  }

  /// Records that an account is proven, and whether it is closed to version 1.
  func prove(
    _ account: AccountNumber, isClosed: Bool, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE apptimist_users
      SET is_proven = 1, is_closed = CASE WHEN ? = 1 THEN 1 ELSE is_closed END WHERE id = ?
      """, isClosed, account)
  }

  /// Returns whether an account is closed to version 1.
  static func isClosed(
    _ account: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.one("SELECT is_closed FROM apptimist_users WHERE id = ?", account) {
      try $0[0] as Bool
    } ?? false
  }

  /// Finds the keys whose users are closed to version 1.
  func closed(among keys: [EncryptionPublicKey]) async throws -> Set<EncryptionPublicKey> {
    try await store.read { snapshot in
      Set(
        try keys.filter { key in
          try snapshot.one(
            "SELECT is_closed FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.user
          ) { try $0[0] as Bool } ?? false
        })
    }
  }

  /// Deletes a user's account with all that it has; only its key stays, taken.
  ///
  /// - Returns: the user's forums, and the nodes that have sessions of the user; nil if the login holds no more.
  func leave(
    _ login: AccountLogin
  ) async throws -> (forums: [EncryptionPublicKey], nodes: [NodeID])? {
    typealias Left = (forums: [EncryptionPublicKey], nodes: [NodeID])?
    return try await deliveries.write(isolation: .serializable) { pending, transaction -> Left in
      guard let number = try account(of: login, transaction) else { return nil }
      let forums = try remove(login.user, number, &pending, transaction)
      return (forums, try deliveries.nodes(of: number, transaction))
    }
  }

  /// Deletes a user's account with all that it has; only its key stays, taken.
  ///
  /// - Returns: the user's forums.
  func remove(
    _ user: EncryptionPublicKey, _ number: AccountNumber, _ pending: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> [EncryptionPublicKey] {
    let forums = try vacate(user, number, &pending, transaction)
    pending.forgetSender(user)
    try transaction.execute("DELETE FROM apptimist_devices WHERE owner = ?", number)
    try transaction.execute("DELETE FROM apptimist_queues WHERE owner = ?", number)
    try transaction.execute("DELETE FROM apptimist_ephemeral_keys WHERE owner = ?", number)
    try removeAccount(number, transaction)
    return forums
  }

  /// Deletes all that an account has: its files, its queue, its push addresses, the vouchers that it gave and the forums that it made, which
  /// count for nobody. Positions go on.
  ///
  /// - Returns: the forums.
  func vacate(
    _ key: EncryptionPublicKey, _ account: AccountNumber, _ pending: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> [EncryptionPublicKey] {
    try mailboxes.flush(key, &pending, transaction)
    pending.forget(key)
    let forums = try transaction.all(
      "SELECT id, key FROM apptimist_users WHERE author = ?", account
    ) { row in (number: try row[0] as AccountNumber, key: try row[1] as EncryptionPublicKey) }
    for forum in forums {
      try removeAccount(forum.number, transaction)
      try transaction.execute("UPDATE apptimist_users SET author = NULL WHERE id = ?", forum.number)
    }
    try transaction.execute("DELETE FROM apptimist_files WHERE directory = ?", account)
    try transaction.execute("DELETE FROM apptimist_vouchers WHERE voucher = ?", account)
    try transaction.execute("DELETE FROM apptimist_addresses WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_contacts WHERE owner = ?", account)
    try emptyMailbox(of: account, transaction)
    try transaction.execute("UPDATE apptimist_users SET file_bytes = 0 WHERE id = ?", account)
    return forums.map(\.key)
  }

  /// Deletes all entries of a mailbox and all that it knows of messages. Positions go on.
  func emptyMailbox(of account: AccountNumber, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      """
      DELETE FROM apptimist_contents WHERE holders = 1 AND id IN
        (SELECT content FROM apptimist_entries WHERE owner = ?)
      """, account)
    try transaction.execute(
      """
      UPDATE apptimist_contents SET holders = holders - 1 WHERE id IN
        (SELECT content FROM apptimist_entries WHERE owner = ?)
      """, account)
    // Others may have released them between the two statements.
    try transaction.execute(
      """
      DELETE FROM apptimist_contents WHERE holders <= 0 AND id IN
        (SELECT content FROM apptimist_entries WHERE owner = ?)
      """, account)
    try transaction.execute("DELETE FROM apptimist_entries WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_shares WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_message_ids WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_dropped WHERE owner = ?", account)
    try transaction.execute(
      "UPDATE apptimist_queues SET entries = 0, bytes = 0, dropped = 0 WHERE owner = ?", account)
  }
}
