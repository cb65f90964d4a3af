internal import Cryptography
internal import Platform
internal import Storage

extension ApptimistStore {
  /// Notes that a user vouches for another account; doing so again changes nothing.
  ///
  /// - Parameters:
  ///   - login: the user's, whose signature has been checked.
  ///   - signature: the signature of version 2, which is kept for others to verify.
  /// - Returns: false if there is no such account, or the login holds no more.
  func vouch(
    for subject: EncryptionPublicKey, by login: AccountLogin, signature: Signature? = nil,
    at now: Timestamp = Timestamp.now()
  ) async throws -> Bool {
    let isDone = try await store.write { transaction in
      guard let subject = try directory(subject, transaction)?.number,
        let voucher = try account(of: login, transaction)
      else { return false }
      // Whoever lists the subject's by their numbers, page by page, misses none that comes later.
      try deliveries.lock(directoriesOf: subject, transaction)
      try transaction.execute(
        """
        INSERT INTO apptimist_vouchers (subject, voucher, signature) VALUES (?, ?, ?)
        ON CONFLICT (subject, voucher)
        DO UPDATE SET signature = coalesce(excluded.signature, apptimist_vouchers.signature)
        """, subject, voucher, signature)
      return true
    }
    if isDone { try await recordContact(subject, of: login, at: now) }
    return isDone
  }

  /// Notes that a user no longer vouches for another account.
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

  /// Lists the users who vouch for an account, the oldest first.
  func vouchers(of subject: EncryptionPublicKey) async throws -> [EncryptionPublicKey] {
    try await store.read { snapshot in
      try snapshot.values(
        """
        SELECT u.key FROM apptimist_vouchers v JOIN apptimist_users u ON u.id = v.voucher
        WHERE v.subject = (SELECT id FROM apptimist_users WHERE key = ?) ORDER BY v.id LIMIT ?
        """, subject, limits.vouchers)
    }
  }
}
