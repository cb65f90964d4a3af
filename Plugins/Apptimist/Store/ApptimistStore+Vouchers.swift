internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import Storage

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
      // Whoever lists the subject's by their numbers, page by page, misses none that comes later.
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
