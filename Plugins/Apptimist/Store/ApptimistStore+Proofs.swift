internal import ApptimistProtocol
internal import Cryptography
internal import Storage

// What only version 2 knows of accounts: that they are proven, and closed to version 1.
extension ApptimistStore {
  /// Looks up an account that wants to log in.
  func knownAccount(_ key: EncryptionPublicKey) async throws -> KnownAccount? {
    try await store.read { snapshot in
      try snapshot.one(
        """
        SELECT kind = ?, authentication_key, is_closed FROM apptimist_users
        WHERE key = ? AND kind <> ?
        """, StoredKind.forum, key, StoredKind.deleted
      ) { KnownAccount(isForum: try $0[0], authenticationKey: try $0[1], isClosed: try $0[2]) }
    }
  }

  /// Notes that a device has proved to be an account's; in most cases that is known.
  ///
  /// - Parameters:
  ///   - user: the account.
  ///   - authenticationKey: the key with which the device has signed.
  ///   - closes: whether the account is to have no version 1 from now on.
  /// - Returns: false if the account has another key by now.
  func prove(
    _ user: EncryptionPublicKey, _ authenticationKey: AuthenticationPublicKey, closes: Bool
  ) async throws -> Bool {
    let isKnown: Bool? = try await store.read { snapshot in
      try snapshot.value(
        """
        SELECT is_proven = 1 AND is_closed >= ? FROM apptimist_users
        WHERE key = ? AND kind = ? AND authentication_key = ?
        """, closes, user, StoredKind.user, authenticationKey)
    }
    guard let isKnown else { return false }
    if isKnown { return true }
    let login = AccountLogin(user: user, authenticationKey: authenticationKey, isVersion1: false)
    return try await deliveries.write(isolation: .serializable) { pending, transaction in
      guard let number = try account(of: login, transaction) else { return false }
      try prove(number, isClosed: closes, transaction)
      pending.forgetSender(user)
      return true
    }
  }

  /// Notes that an account is proven, and whether it is closed to version 1.
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
      let forums = try vacate(login.user, number, &pending, transaction)
      pending.forgetSender(login.user)
      try transaction.execute("DELETE FROM apptimist_devices WHERE owner = ?", number)
      try transaction.execute("DELETE FROM apptimist_queues WHERE owner = ?", number)
      try transaction.execute("DELETE FROM apptimist_ephemeral_keys WHERE owner = ?", number)
      try removeAccount(number, transaction)
      return (forums, try deliveries.nodes(of: number, transaction))
    }
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
    try transaction.execute("DELETE FROM apptimist_entries WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_shares WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_message_ids WHERE owner = ?", account)
    try transaction.execute("DELETE FROM apptimist_dropped WHERE owner = ?", account)
    try transaction.execute(
      "UPDATE apptimist_queues SET entries = 0, bytes = 0, dropped = 0 WHERE owner = ?", account)
    try transaction.execute("UPDATE apptimist_users SET file_bytes = 0 WHERE id = ?", account)
    return forums.map(\.key)
  }
}
