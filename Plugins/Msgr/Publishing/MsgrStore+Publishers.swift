internal import Platform
internal import Storage

extension MsgrStore {
  /// The most recipients of a publisher.
  static let publisherRecipients = 100

  /// Makes a publisher.
  ///
  /// - Parameters:
  ///   - name: a name that tells it from the owner's others.
  ///   - recipients: the users whom it may send to; none for the owner alone.
  ///   - owner: the owner.
  ///   - hash: the hash of its token.
  /// - Throws: `.forbidden` if there is such a publisher or no such recipient, `.tooManyContacts`, or as
  ///   ``write(as:_:)``.
  func addPublisher(
    _ name: String, to recipients: [UserName], of owner: Caller, _ hash: TokenHash
  ) async throws {
    try await write(as: owner) { transaction in
      try addPublisher(name, to: recipients, of: owner.name, hash, transaction)
    }
  }

  /// Makes a publisher for the operator.
  ///
  /// - Throws: `.forbidden` if there is such a publisher, or no such owner or recipient; `.tooManyContacts`.
  func addPublisher(
    _ name: String, to recipients: [UserName], of owner: UserName, _ hash: TokenHash
  ) async throws {
    try await store.write { transaction in
      guard try exists(owner, transaction) else { throw RequestRefusal.forbidden }
      try addPublisher(name, to: recipients, of: owner, hash, transaction)
    }
  }

  private func addPublisher(
    _ name: String, to recipients: [UserName], of owner: UserName, _ hash: TokenHash,
    _ transaction: borrowing Transaction
  ) throws {
    let count: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_publishers WHERE username = ?", owner)
    guard count ?? 0 < limits.devices else { throw RequestRefusal.tooManyContacts }
    guard try !exists(Publisher.sender(owner, name), transaction) else {
      throw RequestRefusal.forbidden
    }
    try transaction.execute(
      """
      INSERT INTO msgr_publishers (hash, username, name, created_at, used_at)
      VALUES (?1, ?2, ?3, ?4, ?4) ON CONFLICT DO NOTHING
      """, hash, owner, name, now)
    guard transaction.changes == 1 else { throw RequestRefusal.forbidden }
    for recipient in recipients.isEmpty ? [owner] : recipients {
      guard try exists(recipient, transaction) else { throw RequestRefusal.forbidden }
      try transaction.execute(
        "INSERT INTO msgr_publisher_recipients VALUES (?, ?) ON CONFLICT DO NOTHING", hash,
        recipient)
    }
  }

  /// Returns the publisher of a token, and those whom it may send to; nil if there is none.
  func publisher(
    _ hash: TokenHash
  ) async throws -> (publisher: Publisher, recipients: [UserName])? {
    try await store.read { snapshot in
      let found = try snapshot.one(
        "SELECT username, name FROM msgr_publishers WHERE hash = ? AND used_at > ?", hash,
        now - limits.tokenAge
      ) { Publisher(hash: hash, owner: try $0[0], name: try $0[1]) }
      guard let found else { return nil }
      let recipients: [UserName] = try snapshot.values(
        "SELECT recipient FROM msgr_publisher_recipients WHERE hash = ? ORDER BY recipient", hash)
      return (found, recipients)
    }
  }

  /// Puts a published message into the inboxes of some users.
  ///
  /// - Parameters:
  ///   - publication: the message.
  ///   - publisher: the publisher.
  ///   - recipients: the users.
  /// - Returns: the deliveries, one for each user who is still there.
  /// - Throws: `.forbidden` if the publisher was ended, or ``StoreError``.
  func publish(
    _ publication: Publication, by publisher: Publisher, to recipients: [UserName]
  ) async throws -> [Delivery] {
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.lock(recipients, transaction)
      try transaction.execute(
        "UPDATE msgr_publishers SET used_at = ? WHERE hash = ?", now, publisher.hash)
      guard transaction.changes == 1 else { throw RequestRefusal.forbidden }
      var delivered: [Delivery] = []
      for recipient in recipients {
        let place = try takePlace(
          in: recipient, for: publisher.sender, of: publisher.owner, transaction)
        guard let place else { continue }
        let message = NewMessage(
          text: publication.text, sender: publisher.sender, recipient: recipient,
          extras: publication.extras)
        delivered.append(try put(message, place, transaction))
      }
      return delivered
    }
  }
}

/// A token that can do nothing but publish.
struct Publisher: Hashable, Sendable {
  let hash: TokenHash
  /// The user whose token it is.
  let owner: UserName
  /// The name that the owner gave it.
  let name: String

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
