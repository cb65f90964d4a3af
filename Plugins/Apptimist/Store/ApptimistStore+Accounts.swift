internal import Cryptography
internal import Storage
internal import Time

/// The result of a request for an account.
enum NewUser: Hashable, Sendable {
  case created
  /// The account is there with the same keys and uid, and stays as it is.
  case sameAgain
  /// The key belongs to somebody else.
  case taken
  /// There is no such invitation, or it is used up, over, or for another uid.
  case notInvited
  /// Nobody may make an account at the moment.
  case notNow
}

extension ApptimistStore {
  /// Looks up the key of a user's signatures.
  ///
  /// - Returns: nil if there is no such user.
  func authenticationKey(of user: EncryptionPublicKey) async throws -> AuthenticationPublicKey? {
    try await store.read { snapshot in
      try snapshot.one(
        "SELECT authentication_key FROM apptimist_users WHERE key = ? AND kind = ?", user,
        StoredKind.user
      ) { try $0[0] }
    }
  }

  /// Makes a user's account.
  ///
  /// - Parameters:
  ///   - key: the user's identity.
  ///   - authenticationKey: the key of the user's signatures.
  ///   - name: 1 to 255 bytes.
  ///   - uid: the identity provider's name for the user, at most 255 bytes.
  ///   - invitation: an invitation that is used once to make the account, if one is needed. A retry
  ///     needs none.
  ///   - mayCreate: whether an account may be made that is not there.
  ///   - now: the time, for the invitation's end.
  func createUser(
    _ key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, name: String,
    uid: String, invitation: InvitationHash? = nil, mayCreate: Bool = true, at now: Timestamp
  ) async throws -> NewUser {
    let searchName = SearchText(name)?.bytes
    return try await store.write { transaction in
      // Compared by SQLite, byte by byte: Swift takes canonically equivalent texts for equal.
      let isSame: Bool? = try transaction.one(
        """
        SELECT kind = ? AND authentication_key = ? AND uid = ? FROM apptimist_users
        WHERE key = ?
        """, StoredKind.user, authenticationKey, uid, key
      ) { row in
        // NULL for a forum, which has no uid.
        let isSame: Bool? = try row[0]
        return isSame ?? false
      }
      if let isSame { return isSame ? .sameAgain : .taken }
      guard mayCreate else { return .notNow }
      if let invitation, try !use(invitation, uid: uid, at: now, transaction) { return .notInvited }
      try transaction.execute(
        """
        INSERT INTO apptimist_users (key, kind, authentication_key, search_name, uid, name)
        VALUES (?, ?, ?, ?, ?, ?)
        """, key, StoredKind.user, authenticationKey, searchName, uid, name)
      try transaction.execute(
        "INSERT INTO apptimist_queues (user) VALUES (?)", transaction.lastInsertRowID)
      return .created
    }
  }

  /// Looks up the number of a user.
  func userNumber(
    of key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> AccountNumber? {
    try database.one(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.user
    ) { try $0[0] }
  }
}
