internal import Cryptography
internal import Platform
internal import Storage

/// A token that can do nothing but publish, and read topics if its owner says so.
struct PublisherToken: Hashable, Sendable {
  /// The topics that a token is good for.
  enum Topics: Hashable, Sendable {
    /// Those that its owner may use.
    case all
    /// These.
    case only(Set<String>)

    /// Returns whether a topic is among them.
    func contains(_ topic: String) -> Bool {
      switch self {
      case .all: true
      case .only(let names): names.contains(topic)
      }
    }
  }

  let hash: TokenHash
  /// The user whose token it is.
  let owner: UserName
  /// The name that the owner gave it.
  let name: String
  var topics = Topics.all
  /// True if it may read these topics as well.
  var reads = false

  /// The sender of the publications. No new account has such a name.
  var sender: UserName { Self.sender(owner, name) }

  /// Returns the sender's name of a user's publisher.
  static func sender(_ owner: UserName, _ name: String) -> UserName {
    UserName(stored: "\(owner.text)/\(name)")
  }

  /// Returns the owner if a name is that of a publisher.
  static func owner(of sender: UserName) -> UserName? {
    // By bytes: with an accent behind it a slash is another character.
    sender.text.utf8.lastIndex(of: UInt8(ascii: "/")).map {
      UserName(stored: String(sender.text[..<$0]))
    }
  }
}

/// A publisher that is to be made.
struct NewPublisher: Sendable {
  /// A name that tells it from the owner's others.
  let name: String
  /// The users whom it may send to; none for the owner alone.
  var recipients: [UserName] = []
  /// The topics that it may write to; nil for what ``recipients`` imply: none with some, all of the owner's without.
  var topics: PublisherToken.Topics?
  var reads = false
  var lifetime: Duration?

  /// The topics as they are stored: nil for all of the owner's, else the names, separated by blanks.
  var storedTopics: String? {
    switch topics {
    case .all: return nil
    case .only(let names): return names.sorted().joined(separator: " ")
    case nil: return recipients.isEmpty ? nil : ""
    }
  }
}

extension PublisherToken.Topics {
  /// Reads stored topics.
  init(stored text: String?) {
    guard let text else {
      self = .all
      return
    }
    self = .only(Set(text.split(separator: " ").map(String.init)))
  }
}

extension MsgrStore {
  /// The most recipients of a publisher.
  static let publisherRecipients = 100
  /// The most topics that a publisher names.
  static let publisherTopics = 100
  /// The time for which a client's name for a publication is remembered.
  private static let publicationAge = Duration.seconds(86_400)

  /// Makes a publisher.
  ///
  /// - Throws: `.denied` if there is such a publisher or no such recipient, `.tooManyContacts`, or as
  ///   ``write(as:_:)``.
  func addPublisher(_ new: NewPublisher, of owner: Caller, _ hash: TokenHash) async throws {
    try await write(as: owner) { transaction in
      try addPublisher(new, of: owner.name, hash, transaction)
    }
  }

  /// Makes a publisher for the operator, or for who was confirmed otherwise.
  ///
  /// - Parameter confirm: refuses credentials that have ended.
  /// - Throws: `.denied` if there is such a publisher or no such recipient, `.forbidden` if there is no such owner;
  ///   `.tooManyContacts`.
  func addPublisher(
    _ new: NewPublisher, of owner: UserName, _ hash: TokenHash,
    confirm: @escaping @Sendable (borrowing Transaction) throws -> Void = { _ in }
  ) async throws {
    try await store.write { transaction in
      try confirm(transaction)
      guard try exists(owner, transaction) else { throw RequestRefusal.forbidden }
      try addPublisher(new, of: owner, hash, transaction)
    }
  }

  /// Returns those of some names that no account has.
  func namesWithoutAccount(among names: [UserName]) async throws -> [UserName] {
    try await store.read { snapshot in try names.filter { try !exists($0, snapshot) } }
  }

  /// Makes a publisher within a transaction.
  func addPublisher(
    _ new: NewPublisher, of owner: UserName, _ hash: TokenHash,
    _ transaction: borrowing Transaction
  ) throws {
    let count: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_publishers WHERE username = ?", owner)
    guard count ?? 0 < limits.devices else { throw RequestRefusal.tooManyContacts }
    guard try !exists(PublisherToken.sender(owner, new.name), transaction) else {
      throw RequestRefusal.denied(.tokenNameTaken)
    }
    try transaction.execute(
      """
      INSERT INTO msgr_publishers
        (hash, username, name, created_at, used_at, expires_at, topics, reads)
      VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING
      """, hash, owner, new.name, now, new.lifetime.map { now + $0 }, new.storedTopics, new.reads)
    guard transaction.changes == 1 else { throw RequestRefusal.denied(.tokenNameTaken) }
    for recipient in new.recipients.isEmpty ? [owner] : new.recipients {
      guard try exists(recipient, transaction) else {
        throw RequestRefusal.denied(.noSuchRecipient)
      }
      try transaction.execute(
        "INSERT INTO msgr_publisher_recipients VALUES (?, ?) ON CONFLICT DO NOTHING", hash,
        recipient)
    }
  }

  /// Returns the publisher of a token, and those whom it may send to; nil if there is none.
  func publisher(
    _ hash: TokenHash
  ) async throws -> (publisher: PublisherToken, recipients: [UserName])? {
    try await store.read { snapshot in
      guard let found = try publisher(hash, snapshot) else { return nil }
      let recipients: [UserName] = try snapshot.values(
        "SELECT recipient FROM msgr_publisher_recipients WHERE hash = ? ORDER BY recipient",
        found.hash)
      return (found, recipients)
    }
  }

  /// Returns the publisher of a token, or nil if there is none.
  private func publisher(
    _ hash: TokenHash, _ database: borrowing some Queryable & ~Copyable
  ) throws -> PublisherToken? {
    try database.one(
      """
      SELECT hash, username, name, topics, reads FROM msgr_publishers
      WHERE hash = coalesce((SELECT publisher FROM msgr_publisher_aliases WHERE hash = ?1), ?1)
        AND used_at > ?2 AND (expires_at IS NULL OR expires_at > ?3)
      """, hash, now - limits.tokenAge, now
    ) { row in
      let topics: String? = try row[3]
      return PublisherToken(
        hash: try row[0], owner: try row[1], name: try row[2],
        topics: PublisherToken.Topics(stored: topics), reads: try row[4])
    }
  }

  /// Records that a publisher is in use.
  ///
  /// - Throws: `.forbidden` if it was ended.
  func recordUse(of publisher: PublisherToken, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "UPDATE msgr_publishers SET used_at = ? WHERE hash = ?", now, publisher.hash)
    guard transaction.changes == 1 else { throw RequestRefusal.forbidden }
  }

  /// Puts a published message into the inboxes of some users.
  ///
  /// - Parameter clientID: the client's own name for it, by which a retry is known.
  /// - Returns: the receipts, one for each user who is still there, and the message's identifier in the first inbox, which is
  ///   the first attempt's at a retry.
  /// - Throws: `.forbidden` if the publisher was ended, `.otherMessage`, or ``StoreError``.
  func publish(
    _ publication: Publication, by publisher: PublisherToken, to recipients: [UserName],
    as clientID: ClientID? = nil
  ) async throws -> (receipts: [SendReceipt], first: PublishedID) {
    try await store.write(isolation: .rowLocks) { transaction in
      try recordUse(of: publisher, transaction)
      let digest = publication.digest(for: recipients)
      if let clientID,
        let earlier = try earlierPublication(clientID, of: publisher, digest, transaction)
      {
        return ([], earlier)
      }
      let posts = recipients.map { recipient in
        InboxPost(
          sender: publisher.sender, owner: publisher.owner, recipient: recipient,
          text: publication.text, parts: publication.parts, isNumbered: true)
      }
      let receipts = try deliver(posts, transaction).compactMap(\.self)
      let first = PublishedID(receipts, owner: publisher.owner)
      if let clientID {
        try transaction.execute(
          """
          INSERT INTO msgr_publications (publisher, client_id, content, answer, sent_at)
          VALUES (?, ?, ?, ?, ?)
          """, publisher.hash, clientID, digest, first.bytes, now)
      }
      return (receipts, first)
    }
  }

  private func earlierPublication(
    _ clientID: ClientID, of publisher: PublisherToken, _ digest: [UInt8],
    _ transaction: borrowing Transaction
  ) throws -> PublishedID? {
    let earlier: (content: [UInt8], answer: [UInt8])? = try transaction.one(
      """
      SELECT content, answer FROM msgr_publications
      WHERE publisher = ? AND client_id = ? AND sent_at > ?
      """, publisher.hash, clientID, now - Self.publicationAge
    ) { (try $0[0], try $0[1]) }
    guard let earlier else {
      try transaction.execute(
        "DELETE FROM msgr_publications WHERE publisher = ? AND client_id = ?", publisher.hash,
        clientID)
      return nil
    }
    guard earlier.content == digest else { throw RequestRefusal.otherMessage }
    return PublishedID(bytes: earlier.answer)
  }

  /// Forgets clients' names for publications that are too old.
  func forgetPublications() async throws {
    try await store.write { transaction in
      try transaction.execute(
        "DELETE FROM msgr_publications WHERE sent_at <= ?", now - Self.publicationAge)
    }
  }
}

/// The identifiers of a published message: in the first inbox, and for Gotify's clients there.
struct PublishedID: Hashable, Sendable {
  let id: MsgrMessageID
  let number: Int64
  /// The time of the message; nil at a retry, for which it isn't kept.
  let time: Timestamp?
  /// True if an earlier attempt has published the message.
  let isRetry: Bool

  /// Takes the first receipt's identifier, and the number of the owner's, whose clients look for it; zeros without any.
  init(_ receipts: [SendReceipt], owner: UserName) {
    let own = receipts.first { receipt in receipt.entries.contains { $0.user == owner } }
    id = receipts.first?.id ?? .zero
    let shown = own ?? receipts.first
    number = shown?.number ?? 0
    time = shown?.entries.first?.message.time
    isRetry = false
  }

  /// Reads stored bytes.
  init(bytes: [UInt8]) {
    let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ").map { Int64($0) }
    id = MsgrMessageID(rawValue: numbers.first.flatMap(\.self) ?? 0)
    number = numbers.last.flatMap(\.self) ?? 0
    time = nil
    isRetry = true
  }

  /// The bytes to store.
  var bytes: [UInt8] { Array("\(id.rawValue) \(number)".utf8) }
}

extension Publication {
  /// A digest that tells whether two publications are the same.
  fileprivate func digest(for recipients: [UserName]) -> [UInt8] {
    let names = recipients.map(\.text).joined(separator: "\0")
    return SHA256.hash(Array("\(names)\0\0\(text.text)\0\(parts.title ?? "")".utf8)).bytes
  }
}
