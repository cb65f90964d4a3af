internal import Cryptography
internal import Observability
internal import Storage
internal import Time

/// A keyed hash of an ephemeral key.
struct EphemeralKeyHash: Hashable, Sendable {
  let bytes: [UInt8]

  /// Takes the 16 bytes of a hash; nil for any other number.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.bytes = bytes
  }
}

/// A hash of an invitation's token.
struct InvitationHash: Hashable, Sendable {
  let bytes: [UInt8]

  /// Takes the 32 bytes of a hash; nil for any other number.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }
}

extension ApptimistStore {
  /// How many rows ``expire(at:)`` deletes of each kind.
  private static let expired = 1_000

  /// Whether a connection may use an ephemeral key: it hasn't been used, and is no account's.
  func mayServe(
    ephemeral key: EncryptionPublicKey, hash: EphemeralKeyHash
  ) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.one(
        """
        SELECT 1 WHERE EXISTS (SELECT 1 FROM apptimist_ephemeral_keys WHERE hash = ?)
          OR EXISTS (SELECT 1 FROM apptimist_users WHERE key = ?)
        """, hash.bytes, key
      ) { _ in false } ?? true
    }
  }

  /// Notes that a connection has used an ephemeral key.
  ///
  /// - Parameters:
  ///   - hash: of the key.
  ///   - end: until when it is remembered.
  /// - Returns: false if it had been used before.
  func remember(_ hash: EphemeralKeyHash, until end: Timestamp) async throws -> Bool {
    try await store.write { transaction in
      try transaction.execute(
        "INSERT OR IGNORE INTO apptimist_ephemeral_keys (hash, expires_at) VALUES (?, ?)",
        hash.bytes, end.milliseconds)
      return transaction.changes == 1
    }
  }

  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - hash: of its token.
  ///   - uid: whom it is for; nil: anybody.
  ///   - uses: how many accounts can be made with it.
  ///   - end: from when on it isn't good any more.
  func addInvitation(
    _ hash: InvitationHash, uid: String?, uses: Int, expires end: Timestamp
  ) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO apptimist_invitations (hash, uid, uses, expires_at) VALUES (?, ?, ?, ?)",
        hash.bytes, uid, uses, end.milliseconds)
    }
  }

  /// Uses an invitation once; false if it isn't good.
  func use(
    _ invitation: InvitationHash, uid: String, at now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.execute(
      """
      UPDATE apptimist_invitations SET uses = uses - 1
      WHERE hash = ? AND uses > 0 AND expires_at > ? AND (uid IS NULL OR uid = ?)
      """, invitation.bytes, now.milliseconds, uid)
    return transaction.changes == 1
  }

  /// Deletes ephemeral keys and invitations whose time has come, some at a time.
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
      try transaction.execute(
        """
        DELETE FROM apptimist_invitations WHERE hash IN
          (SELECT hash FROM apptimist_invitations WHERE expires_at <= ?
           ORDER BY expires_at LIMIT ?)
        """, now.milliseconds, Self.expired)
      return isFull || transaction.changes == Self.expired
    }
  }
}
