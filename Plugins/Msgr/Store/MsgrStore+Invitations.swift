internal import Cryptography
internal import Storage
internal import Platform

/// The hash of an invitation's token, which has too many values to be guessed.
struct InvitationHash: Sendable {
  let digest: [UInt8]

  /// Hashes a token.
  init(ofToken token: String) { digest = SHA256.hash(Array(token.utf8)).bytes }
}

extension MsgrStore {
  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - invitation: the hash of its token.
  ///   - uses: the number of accounts that can be made with it.
  ///   - end: the moment at which it expires.
  func addInvitation(_ invitation: InvitationHash, uses: Int, expires end: Timestamp) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO msgr_invitations (hash, uses, expires_at) VALUES (?, ?, ?)",
        invitation.digest, uses, end)
    }
  }

  /// Returns whether an account can be made with an invitation.
  func isGood(_ invitation: InvitationHash) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM msgr_invitations WHERE hash = ? AND uses > 0 AND expires_at > ?",
        invitation.digest, now)
    }
  }

  /// Uses an invitation once, within the transaction that makes the account.
  ///
  /// - Throws: `.badInvitation`.
  func use(_ invitation: InvitationHash, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      """
      UPDATE msgr_invitations SET uses = uses - 1 WHERE hash = ? AND uses > 0 AND expires_at > ?
      """, invitation.digest, now)
    guard transaction.changes == 1 else { throw RequestRefusal.badInvitation }
  }
}
