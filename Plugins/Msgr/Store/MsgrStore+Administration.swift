internal import Cryptography
internal import Formats
internal import Platform
internal import ServiceKit
internal import Storage

/// An operator's view of an account.
struct AccountDetails: Encodable {
  let name: String
  let created: String
  /// Whether there is a password; others log in by wallets only.
  let hasPassword: Bool
  /// Whether the operator has disabled the account.
  let isDisabled: Bool
  let devices: Int
  let messages: Int
  let unread: Int
  let contacts: Int
  /// The accounts of chains that log in, as `chain:address`.
  let wallets: [String]
  let tokens: [PublisherDetails]
}

/// An operator's view of a token that publishes.
struct PublisherDetails: Encodable {
  let owner: String
  let name: String
  let created: String
  /// The time of the last use, or that of the creation if there was none: programs have always got a time here.
  let used: String
  private let isUsed: Bool

  private enum CodingKeys: CodingKey {
    case owner, name, created, used
  }

  /// The time of the last use for people.
  var lastUse: String { isUsed ? used : "never" }

  /// Reads a row of these columns.
  fileprivate init(_ row: borrowing Row) throws {
    owner = try row[0]
    name = try row[1]
    let created: Timestamp = try row[2]
    let used: Timestamp = try row[3]
    self.created = created.description
    self.used = used.description
    // The store has the time of creation in both columns until the first use.
    isUsed = used != created
  }
}

extension MsgrStore {
  // MARK: - Accounts

  /// Returns what an operator sees of an account.
  ///
  /// - Throws: `.forbidden` if there is no such account.
  func details(of name: UserName) async throws -> AccountDetails {
    try await store.read { snapshot in
      let wallets = try snapshot.all(
        "SELECT chain, address FROM msgr_wallets WHERE username = ? ORDER BY chain, address", name
      ) { row in "\(try row[0] as Int):\(try row[1] as String)" }
      let tokens = try publishers(of: name, snapshot)
      let details = try snapshot.one(
        """
        SELECT username, created_at, coalesce(disabled_password, password) <> '', messages, unread,
          (SELECT count(*) FROM msgr_devices d WHERE d.username = u.username),
          (SELECT count(*) FROM msgr_contacts c WHERE c.username = u.username),
          disabled_password IS NOT NULL
        FROM msgr_users u WHERE username = ?
        """, name
      ) { row in
        AccountDetails(
          name: try row[0], created: (try row[1] as Timestamp).description,
          hasPassword: try row[2], isDisabled: try row[7], devices: try row[5],
          messages: try row[3], unread: try row[4],
          contacts: try row[6], wallets: wallets, tokens: tokens)
      }
      guard let details else { throw RequestRefusal.forbidden }
      return details
    }
  }

  /// The password of a disabled account. No hash is like it, and it isn't that of an account with wallets alone either.
  private static let disabledPassword = "disabled"

  /// Disables an account, which then can't log in and gets no messages, or enables it again.
  ///
  /// Its sessions, its tokens that publish and its messages to topics that wait for their time end.
  ///
  /// - Returns: whether there is such an account in the other state.
  func setDisabled(_ isDisabled: Bool, _ name: UserName) async throws -> Bool {
    try await store.write { transaction in
      try transaction.execute(
        isDisabled
          ? """
          UPDATE msgr_users SET disabled_password = password, password = ?1
          WHERE username = ?2 AND disabled_password IS NULL
          """
          : """
          UPDATE msgr_users SET password = disabled_password, disabled_password = NULL
          WHERE username = ?2 AND password = ?1 AND disabled_password IS NOT NULL
          """, Self.disabledPassword, name)
      guard transaction.changes == 1 else { return false }
      if isDisabled {
        _ = try endSessions(of: name, keeping: nil, transaction)
        try transaction.execute("DELETE FROM msgr_topic_waiting WHERE account = ?", name)
      }
      return true
    }
  }

  /// Returns whether the operator has disabled an account.
  func isDisabled(
    _ name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.exists(
      "SELECT 1 FROM msgr_users WHERE username = ? AND disabled_password IS NOT NULL", name)
  }

  // MARK: - Tokens that publish

  /// Returns the tokens of an account, or of all accounts.
  func publishers(of owner: UserName?) async throws -> [PublisherDetails] {
    try await store.read { try publishers(of: owner, $0) }
  }

  private func publishers(
    of owner: UserName?, _ snapshot: borrowing Snapshot
  ) throws -> [PublisherDetails] {
    try snapshot.all(
      """
      SELECT username, name, created_at, used_at FROM msgr_publishers
      WHERE username = ?1 OR ?1 IS NULL ORDER BY username, name
      """, owner?.text, transform: PublisherDetails.init)
  }

  /// Revokes a token that publishes.
  ///
  /// - Returns: the token that there was; nil for none.
  func removePublisher(_ name: String, of owner: UserName) async throws -> PublisherDetails? {
    try await store.write { transaction in
      try transaction.one(
        """
        DELETE FROM msgr_publishers WHERE username = ? AND name = ?
        RETURNING username, name, created_at, used_at
        """, owner, name, transform: PublisherDetails.init)
    }
  }

  // MARK: - Invitations

  /// Lists the invitations that are good, the next to expire first.
  func invitations() async throws -> [InvitationSummary] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT hash, uses, expires_at FROM msgr_invitations
        WHERE uses > 0 AND expires_at > ? ORDER BY expires_at, hash
        """, now
      ) { row in
        InvitationSummary(hash: try row[0], uses: try row[1], expires: try row[2])
      }
    }
  }

  /// Revokes the invitations whose hash begins with some hexadecimal digits.
  ///
  /// - Returns: whether there was one.
  func revokeInvitation(_ id: String) async throws -> Bool {
    try await store.write { transaction in
      let found = InvitationHash.invitations(
        named: id, among: try transaction.values("SELECT hash FROM msgr_invitations"))
      for hash in found {
        try transaction.execute("DELETE FROM msgr_invitations WHERE hash = ?", hash)
      }
      return !found.isEmpty
    }
  }

  // MARK: - Persons

  /// Deletes an account, and what others have of it: its messages in their inboxes, and that they know or block it.
  ///
  /// - Parameters:
  ///   - person: the account's name, or an Ethereum address that logs in to it.
  ///   - isTrial: whether nothing is deleted.
  func erase(_ person: String, isTrial: Bool) async throws -> [ErasedPart] {
    let name = UnicodeText.normalized(person) ?? person
    return try await store.write { transaction in
      let names: [String] = try transaction.values(
        """
        SELECT username FROM msgr_users WHERE username = ?1
          OR username IN (SELECT username FROM msgr_wallets WHERE address = ?2)
        """, name, person.lowercased())
      var parts: [ErasedPart] = []
      for name in names {
        parts.append(ErasedPart("account \(name.printable)", 1))
        for traces in Traces.all {
          let count: Int = try transaction.value(traces.count, name) ?? 0
          if count > 0 { parts.append(ErasedPart(traces.kind, count)) }
          if !isTrial, let deletion = traces.deletion { try transaction.execute(deletion, name) }
        }
      }
      return parts
    }
  }
}

/// A kind of rows that belong to an account, be they its own or in the hands of others.
private struct Traces {
  let kind: String
  let count: StaticString
  /// The statement that deletes them; nil for what goes with the account.
  let deletion: StaticString?

  /// All kinds. The account itself is last: what refers to it goes with it.
  static let all = [
    Traces(
      kind: "messages in inboxes of others",
      count: """
        SELECT count(*) FROM msgr_messages WHERE recipient <> ?1
          AND (sender = ?1 OR substr(sender, 1, length(?1) + 1) = ?1 || '/')
        """,
      deletion: """
        DELETE FROM msgr_messages WHERE recipient <> ?1
          AND (sender = ?1 OR substr(sender, 1, length(?1) + 1) = ?1 || '/')
        """),
    Traces(
      kind: "copies of what others sent to it",
      count: "SELECT count(*) FROM msgr_sent WHERE recipient = ?",
      deletion: "DELETE FROM msgr_sent WHERE recipient = ?"),
    Traces(
      kind: "blocks by others", count: "SELECT count(*) FROM msgr_blocks WHERE blocked = ?",
      deletion: "DELETE FROM msgr_blocks WHERE blocked = ?"),
    Traces(
      kind: "acquaintances of others",
      count: "SELECT count(*) FROM msgr_acquaintances WHERE other = ?",
      deletion: "DELETE FROM msgr_acquaintances WHERE other = ?"),
    Traces(
      kind: "topics", count: "SELECT count(*) FROM msgr_topics WHERE owner = ?", deletion: nil),
    Traces(
      kind: "messages of its topics",
      count: """
        SELECT count(*) FROM msgr_topics t JOIN msgr_topic_entries e ON e.topic = t.topic
        WHERE t.owner = ?
        """, deletion: nil),
    Traces(
      kind: "files", count: "SELECT count(*) FROM msgr_topic_files WHERE account = ?",
      deletion: nil),
    Traces(
      kind: "tokens of programs",
      count: "SELECT count(*) FROM msgr_publishers WHERE username = ?", deletion: nil),
    Traces(
      kind: "messages of its inbox",
      count: "SELECT count(*) FROM msgr_messages WHERE recipient = ?",
      deletion: "DELETE FROM msgr_users WHERE username = ?"),
  ]
}
