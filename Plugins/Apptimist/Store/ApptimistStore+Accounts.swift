internal import Cryptography
internal import Observability
internal import Storage
internal import Time

/// A user or a forum.
struct Account: Sendable {
  /// What an account is.
  enum Kind: Hashable, Sendable {
    case user
    case forum(author: EncryptionPublicKey)
  }

  let key: EncryptionPublicKey
  let authenticationKey: AuthenticationPublicKey
  let name: String
  /// Empty for a forum.
  let uid: String
  let kind: Kind

  /// Whether it is a user's.
  var isUser: Bool {
    if case .user = kind { true } else { false }
  }
}

/// What became of a request for an account.
enum NewUser: Hashable, Sendable {
  case created
  /// The account is there with the same keys and uid, and stays as it is.
  case sameAgain
  /// The key belongs to somebody else.
  case taken
  /// There is no such invitation, or it is used up, over, or for another uid.
  case notInvited
}

extension ApptimistStore {
  /// The user or forum with a key; nil if there is none (any more).
  func account(_ key: EncryptionPublicKey) async throws -> Account? {
    try await store.read { snapshot in
      try snapshot.one(
        """
        SELECT u.authentication_key, u.name, u.uid, a.key FROM apptimist_users u
        LEFT JOIN apptimist_users a ON a.id = u.author WHERE u.key = ? AND u.kind <> ?
        """, key, StoredKind.deletedForum
      ) { row in
        let uid: String? = try row[2]
        let author: EncryptionPublicKey? = try row[3]
        return Account(
          key: key, authenticationKey: try row[0], name: try row[1], uid: uid ?? "",
          kind: author.map(Account.Kind.forum) ?? .user)
      }
    }
  }

  /// Makes a user's account.
  ///
  /// - Parameters:
  ///   - key: the user's identity.
  ///   - authenticationKey: what the user's signatures are checked with.
  ///   - name: 1 to 255 bytes.
  ///   - uid: the identity provider's name for the user, at most 255 bytes.
  ///   - invitation: used once with the account's making, if one is needed. A retry needs none.
  ///   - now: the time, for the invitation's end.
  func createUser(
    _ key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, name: String,
    uid: String, invitation: InvitationHash? = nil, at now: Timestamp
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

  /// The number of a user or forum.
  func number(
    of key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Int64? {
    try database.one(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind <> ?", key, StoredKind.deletedForum
    ) { try $0[0] }
  }

  /// The number of a user.
  func userNumber(
    of key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Int64? {
    try database.one(
      "SELECT id FROM apptimist_users WHERE key = ? AND kind = ?", key, StoredKind.user
    ) { try $0[0] }
  }
}
