internal import Cryptography
internal import Platform
internal import Storage

/// A sender of published messages, as Gotify's clients know it: a publisher of the account's, another's, or a topic.
struct PublishingApplication: Sendable, Hashable {
  let id: Int64
  let sender: UserName
  /// The token's hash of a publisher that is the account's own; nil for others.
  let publisher: TokenHash?
  /// The name that clients have given it; empty for its own, which stays, as its number is made of it.
  var shownName = ""
  var description = ""
  var defaultPriority = 0
  let created: Timestamp
  let used: Timestamp?

  /// The name without its owner's.
  var name: String { shownName.isEmpty ? Self.name(of: sender) : shownName }

  static func name(of sender: UserName) -> String {
    if sender.text.hasPrefix(TopicName.senderPrefix) { return String(sender.text.dropFirst()) }
    return sender.text.split(separator: "/").last.map(String.init) ?? sender.text
  }

  /// Returns the number by which an account's clients know a sender: always the same, above 0 and below 2⁵³.
  static func id(of sender: UserName, for account: UserName) -> Int64 {
    number(of: "\(account.text)\0\(sender.text)")
  }

  /// Makes a number of 48 bits out of a text.
  static func number(of text: String) -> Int64 {
    let digest = SHA256.hash(Array(text.utf8)).bytes
    return max(1, digest.prefix(6).reduce(0) { $0 << 8 | Int64($1) })
  }
}

extension MsgrStore {
  /// Returns the senders whose published messages an account gets or has.
  func applications(of account: UserName) async throws -> [PublishingApplication] {
    try await store.read { snapshot in try applications(of: account, snapshot) }
  }

  private func applications(
    of account: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [PublishingApplication] {
    var applications: [PublishingApplication] = try database.all(
      """
      SELECT p.hash, p.name, p.created_at, p.used_at, coalesce(a.description, ''),
        coalesce(a.default_priority, 0), coalesce(a.name, '')
      FROM msgr_publishers p
      JOIN msgr_publisher_recipients r ON r.hash = p.hash AND r.recipient = p.username
      LEFT JOIN msgr_applications a
        ON a.username = p.username AND a.sender = p.username || '/' || p.name
      WHERE p.username = ?1 AND p.used_at > ?2 AND (p.expires_at IS NULL OR p.expires_at > ?3)
      ORDER BY p.created_at
      """, account, now - limits.tokenAge, now
    ) { row in
      let name: String = try row[1]
      let sender = PublisherToken.sender(account, name)
      return PublishingApplication(
        id: PublishingApplication.id(of: sender, for: account), sender: sender,
        publisher: try row[0], shownName: try row[6], description: try row[4],
        defaultPriority: try row[5],
        created: try row[2], used: try row[3])
    }
    let own = Set(applications.map(\.sender))
    let others: [(UserName, Timestamp, Timestamp)] = try database.all(
      """
      SELECT sender, min(sent_at), max(sent_at) FROM msgr_messages
      WHERE recipient = ? AND number IS NOT NULL GROUP BY sender ORDER BY sender LIMIT 1000
      """, account
    ) { (try $0[0], try $0[1], try $0[2]) }
    for (sender, first, last) in others where !own.contains(sender) {
      applications.append(
        PublishingApplication(
          id: PublishingApplication.id(of: sender, for: account), sender: sender, publisher: nil,
          created: first, used: last))
    }
    return applications
  }

  /// Makes a publisher of an account's, under a name that isn't taken yet.
  func addApplication(
    named name: String, description: String, defaultPriority: Int, of account: UserName,
    _ hash: TokenHash, confirm: @escaping @Sendable (borrowing Transaction) throws -> Void
  ) async throws -> PublishingApplication {
    try await store.write { transaction in
      try confirm(transaction)
      let name = try freeName(name, of: account, transaction)
      try addPublisher(NewPublisher(name: name), of: account, hash, transaction)
      let sender = PublisherToken.sender(account, name)
      try describe(sender, "", description, defaultPriority, of: account, transaction)
      return PublishingApplication(
        id: PublishingApplication.id(of: sender, for: account), sender: sender, publisher: hash,
        description: description, defaultPriority: defaultPriority, created: now, used: nil)
    }
  }

  private func freeName(
    _ name: String, of account: UserName, _ transaction: borrowing Transaction
  ) throws -> String {
    var candidate = name
    var number = 1
    while try transaction.exists(
      "SELECT 1 FROM msgr_publishers WHERE username = ? AND name = ?", account, candidate)
    {
      number += 1
      guard number < 1000 else { throw RequestRefusal.forbidden }
      candidate = "\(name) \(number)"
    }
    return candidate
  }

  private func describe(
    _ sender: UserName, _ name: String, _ description: String, _ priority: Int,
    of account: UserName, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO msgr_applications (username, sender, name, description, default_priority)
      VALUES (?, ?, ?, ?, ?) ON CONFLICT (username, sender)
      DO UPDATE SET name = excluded.name, description = excluded.description,
        default_priority = excluded.default_priority
      """, account, sender, name, description, priority)
  }

  /// Changes a publisher of an account's.
  ///
  /// - Returns: nil if there is none with that number.
  func changeApplication(
    _ id: Int64, named name: String, description: String, defaultPriority: Int,
    of account: UserName
  ) async throws -> PublishingApplication? {
    try await store.write { transaction in
      let all = try applications(of: account, transaction)
      guard let old = all.first(where: { $0.id == id }), let publisher = old.publisher else {
        return nil
      }
      try describe(old.sender, name, description, defaultPriority, of: account, transaction)
      return PublishingApplication(
        id: id, sender: old.sender, publisher: publisher, shownName: name,
        description: description, defaultPriority: defaultPriority,
        created: old.created, used: old.used)
    }
  }

  /// Ends a publisher of an account's.
  ///
  /// - Returns: whether there was one with that number.
  func endApplication(_ id: Int64, of account: UserName) async throws -> Bool {
    try await store.write { transaction in
      let all = try applications(of: account, transaction)
      guard let publisher = all.first(where: { $0.id == id })?.publisher else { return false }
      try transaction.execute("DELETE FROM msgr_publishers WHERE hash = ?", publisher)
      return true
    }
  }

  /// Returns the name that clients have given a publisher, if any, and the priority of its messages that have none.
  func described(_ publisher: PublisherToken) async throws -> (name: String, priority: Int) {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        "SELECT name, default_priority FROM msgr_applications WHERE username = ? AND sender = ?",
        publisher.owner, publisher.sender
      ) { (try $0[0], try $0[1]) } ?? ("", 0)
    }
  }

  /// Returns the names that an account's clients have given senders.
  func shownNames(of account: UserName) async throws -> [UserName: String] {
    try await store.read(isOneQuery: true) { snapshot in
      let names: [(UserName, String)] = try snapshot.all(
        "SELECT sender, name FROM msgr_applications WHERE username = ? AND name <> ''", account
      ) { (try $0[0], try $0[1]) }
      return Dictionary(names, uniquingKeysWith: { $1 })
    }
  }

  /// Keeps the tokens that were made for a client, which shows them beside its list of applications.
  func keep(
    _ aliases: [(alias: TokenHash, publisher: TokenHash)], for client: TokenHash
  ) async throws {
    let missing = try await store.read { snapshot in
      try aliases.filter { item in
        try !snapshot.exists("SELECT 1 FROM msgr_publisher_aliases WHERE hash = ?", item.alias)
      }
    }
    guard !missing.isEmpty else { return }
    try await store.write { transaction in
      for item in missing {
        try transaction.execute(
          """
          INSERT INTO msgr_publisher_aliases (hash, publisher, client) VALUES (?, ?, ?)
          ON CONFLICT DO NOTHING
          """, item.alias, item.publisher, client)
      }
    }
  }

  // MARK: - Messages

  /// Returns the published messages of an account below a number, newest first.
  ///
  /// - Parameter sender: the only sender; nil for all.
  func publishedMessages(
    of account: UserName, below number: Int64, from sender: UserName?, atMost count: Int
  ) async throws -> BoundedPage<Message> {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.page(
        """
        SELECT id, sender, NULL, text, sent_at, is_add_request, parts, number, topic, NULL, NULL
        FROM msgr_inboxes
        WHERE recipient = ?1 AND number IS NOT NULL AND number < ?2
          AND (CAST(?3 AS TEXT) IS NULL OR sender = ?3) AND sent_at > ?4
        ORDER BY number DESC LIMIT ?5
        """, account, number, sender, now - limits.messageAge, count, measuring: Self.longColumns,
        transform: Self.message)
    }
  }

  /// Deletes published messages of an account.
  ///
  /// - Returns: whether there were any.
  func deletePublished(
    of account: UserName, number: Int64? = nil, from sender: UserName? = nil
  ) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try strategy.lock([account], transaction)
      try transaction.execute(
        """
        DELETE FROM msgr_messages WHERE recipient = ?1 AND number IS NOT NULL
          AND (CAST(?2 AS BIGINT) IS NULL OR number = ?2) AND (CAST(?3 AS TEXT) IS NULL OR sender = ?3)
        """, account, number, sender)
      return transaction.changes > 0
    }
  }

  // MARK: - Clients

  /// Returns when an account was made.
  func created(_ account: UserName) async throws -> Timestamp? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value("SELECT created_at FROM msgr_users WHERE username = ?", account)
    }
  }

  /// Binds a client of Gotify's kind to an account.
  func addGotifyClient(
    named name: String, of account: UserName, device: DeviceID, _ hash: TokenHash,
    confirm: @escaping @Sendable (borrowing Transaction) throws -> Void
  ) async throws -> [BoundToken] {
    try await store.write { transaction in
      try confirm(transaction)
      guard try exists(account, transaction) else { throw RequestRefusal.forbidden }
      return try bind(DeviceLogin(device: device, name: name), hash, to: account, transaction)
    }
  }

  /// Returns the clients of Gotify's kind of an account.
  func gotifyClients(of account: UserName) async throws -> [Session] {
    try await store.read { snapshot in
      try sessions(of: account, snapshot).filter { $0.kind == .gotify }
    }
  }

  /// Renames a client of Gotify's kind.
  func rename(_ session: Session, to name: String) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_tokens SET device_name = ? WHERE hash = ?", name, session.token)
    }
  }

  /// Ends a client of Gotify's kind.
  func end(_ session: Session) async throws -> [BoundToken] {
    guard let device = session.device else { return [] }
    return try await store.write { transaction in try unbind(device, transaction) }
  }
}
