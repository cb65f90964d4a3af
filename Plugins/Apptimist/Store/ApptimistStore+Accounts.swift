internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Platform

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

extension ApptimistStore {
  /// Makes a user's account.
  ///
  /// - Parameters:
  ///   - new: the account.
  ///   - invitation: an invitation that is used once to make the account, if one is needed. A retry
  ///     needs none.
  ///   - proof: the signature for the uid, if the service has seen one.
  ///   - mayCreate: whether an account may be made that is not there.
  ///   - now: the time, for the invitation's end.
  func createUser(
    _ new: NewAccount, invitation: InvitationHash? = nil, proof: UIDProof? = nil,
    mayCreate: Bool = true, at now: Timestamp
  ) async throws -> NewUser {
    let (uid, name) = (StoredUID(new.uid), new.name.text)
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
        (
          number: try row[0] as AccountNumber, isUnproven: try row[1] as Bool,
          hasSameKey: try row[2] as Bool, isSame: try row[3] as Bool
        )
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
            UPDATE apptimist_users SET authentication_key = ?, search_name = ?, uid = ?, name = ?
            WHERE id = ?
            """, new.authenticationKey, searchName, uid, name, present.number)
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
      let number: AccountNumber? = try transaction.value(
        """
        INSERT INTO apptimist_users
          (key, kind, authentication_key, search_name, uid, name, is_proven, is_closed, uid_proof)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
        """, new.key, StoredKind.user, new.authenticationKey, searchName, uid, name, new.isProven,
        new.isClosed, proof?.rawValue ?? 0)
      try transaction.execute("INSERT INTO apptimist_queues (owner) VALUES (?)", number)
      return .created
    }
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

  /// Looks up the number of a user.
  func userNumber(
    of key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> AccountNumber? {
    try database.value(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.user)
  }
}
