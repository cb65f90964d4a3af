internal import Cryptography
internal import Storage
internal import Platform

extension ApptimistStore {
  /// The most rows of each kind that ``expire(at:)`` deletes.
  private static let expired = 1_000

  /// Returns whether a connection may use an ephemeral key: it hasn't been used, and is no account's.
  func mayServe(ephemeral key: EncryptionPublicKey, hash: EphemeralKeyHash) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.one(
        """
        SELECT 1 WHERE EXISTS (SELECT 1 FROM apptimist_ephemeral_keys WHERE hash = ?)
          OR EXISTS (SELECT 1 FROM apptimist_users WHERE key = ?)
        """, hash, key
      ) { _ in false } ?? true
    }
  }

  /// Notes that a user has logged in with an ephemeral key, and forgets the user's oldest one if there
  /// are too many.
  ///
  /// - Parameters:
  ///   - hash: the hash of the key.
  ///   - user: the user.
  ///   - end: the time until which it is remembered.
  /// - Returns: false if it had been used before, or if there is no such user.
  func remember(
    _ hash: EphemeralKeyHash, of user: EncryptionPublicKey, until end: Timestamp
  ) async throws -> Bool {
    try await store.write { transaction in
      guard let number = try userNumber(of: user, transaction) else { return false }
      try transaction.execute(
        """
        INSERT INTO apptimist_ephemeral_keys (hash, expires_at, owner) VALUES (?, ?, ?)
        ON CONFLICT DO NOTHING
        """, hash, end.milliseconds, number)
      guard transaction.changes == 1 else { return false }
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
  ///   - hash: the hash of its token.
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
