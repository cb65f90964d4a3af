internal import Observability
internal import Storage
internal import Time

extension MsgrStore {
  /// How many messages are read at a time.
  static let pageSize = 100

  /// Puts a message into a user's inbox, and for each of the user's devices into the outbox.
  ///
  /// - Parameters:
  ///   - text: the message.
  ///   - recipient: the user.
  ///   - sender: who sends it.
  ///   - isStreaming: whether a device gets it by its stream.
  ///   - maySend: takes the sender before anything is stored; throws to refuse it.
  /// - Returns: the message's identifier, and whether it was stored: not if the sender is blocked.
  /// - Throws: `.forbidden` if there is no such user, `.tooLong`, or what `maySend` throws.
  func send(
    _ text: MessageText, to recipient: UserName, by sender: Caller,
    isStreaming: @escaping @Sendable (DeviceID) -> Bool,
    maySend: @escaping @Sendable (UserName) throws -> Void
  ) async throws -> Outcome<(MessageID, isNew: Bool)> {
    try await write(as: sender) { transaction, identity in
      let name = identity.name
      guard text.fitsIntoPush(from: name) else { throw Refusal.tooLong }
      guard let place = try takePlace(in: recipient, for: name, transaction) else {
        guard try exists(recipient, transaction) else { throw Refusal.forbidden }
        try maySend(name)
        // The blocked one is given an identifier that no other message will have.
        return (try nextID(transaction), false)
      }
      try maySend(name)
      let id = try put(
        text, from: name, to: recipient, place, isAddRequest: false, isStreaming: isStreaming,
        transaction)
      return (id, true)
    }
  }

  /// Puts a message of an operator into a user's inbox and outbox.
  ///
  /// - Returns: to how many devices it is pushed.
  /// - Throws: `.forbidden` if there is no such user.
  func sendTest(_ text: MessageText, to name: UserName) async throws -> Int {
    try await store.write { transaction in
      guard let place = try takePlace(in: name, for: name, transaction) else {
        throw Refusal.forbidden
      }
      _ = try put(
        text, from: name, to: name, place, isAddRequest: false, isStreaming: { _ in false },
        transaction)
      return try devices(of: name, transaction).count { $0.isPushable }
    }
  }

  /// What an inbox holds, with the message that is being stored.
  struct InboxPlace {
    let messages: Int
    var unread: Int
  }

  /// Counts one more message into an inbox, within the transaction that stores it.
  ///
  /// - Returns: nil if there is no such user, or it blocks the sender.
  func takePlace(
    in recipient: UserName, for sender: UserName, _ transaction: borrowing Transaction
  ) throws -> InboxPlace? {
    try transaction.one(
      """
      UPDATE msgr_users SET messages = messages + 1, unread = unread + 1
      WHERE username = ?1
        AND NOT EXISTS (SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked = ?2)
      RETURNING messages, unread
      """, recipient, sender
    ) { InboxPlace(messages: try $0[0], unread: try $0[1]) }
  }

  /// Stores a message within a transaction.
  ///
  /// - Parameter place: what ``takePlace(in:for:_:)`` gave.
  func put(
    _ text: MessageText, from sender: UserName, to recipient: UserName, _ place: InboxPlace,
    isAddRequest: Bool, isStreaming: (DeviceID) -> Bool, _ transaction: borrowing Transaction
  ) throws -> MessageID {
    let message = Message(
      id: try nextID(transaction), sender: sender, text: text, time: clock(),
      isAddRequest: isAddRequest)
    let unread = try makeRoom(in: recipient, place, transaction)
    try transaction.execute(
      """
      INSERT INTO msgr_messages (id, recipient, sender, text, sent_at, is_add_request)
      VALUES (?, ?, ?, ?, ?, ?)
      """, message.id, recipient, sender, text, message.time.milliseconds, isAddRequest)
    for device in try devices(of: recipient, transaction) where device.isPushable {
      try enqueuePush(
        of: message, to: device, badge: unread, isHeld: isStreaming(device), transaction)
    }
    return message.id
  }

  /// The next identifier, above all before whatever the clock does.
  private func nextID(_ transaction: borrowing Transaction) throws -> MessageID {
    let id: MessageID? = try transaction.one(
      "UPDATE msgr_last_id SET id = max(id + 1, ?) RETURNING id", MessageID(earliestAt: now)
    ) { try $0[0] }
    guard let id else { throw MissingRow() }
    return id
  }

  /// The table of the last identifier has lost its row: somebody else has changed the file.
  private struct MissingRow: Error {}

  /// Drops messages until the inbox takes one more: each time the oldest of whichever sender has
  /// most, so that nobody can push out what others have sent.
  ///
  /// - Returns: how many are unread then, the new one among them.
  private func makeRoom(
    in recipient: UserName, _ place: InboxPlace, _ transaction: borrowing Transaction
  ) throws -> Int {
    guard place.messages > limits.inbox else { return place.unread }
    // More than one only where the limit was lowered.
    for _ in limits.inbox..<place.messages {
      try transaction.execute(
        """
        DELETE FROM msgr_messages WHERE id = (
          SELECT min(id) FROM msgr_messages WHERE recipient = ?1
          GROUP BY sender ORDER BY count(*) DESC, min(id) LIMIT 1)
        """, recipient)
    }
    return try transaction.one("SELECT unread FROM msgr_users WHERE username = ?", recipient) {
      try $0[0]
    } ?? place.unread
  }

  private func devices(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [DeviceID] {
    try database.all("SELECT device_id FROM msgr_devices WHERE username = ?", name) { try $0[0] }
  }

  /// The caller's messages behind a position, oldest first, at most ``pageSize``.
  func inbox(of caller: Caller, since position: MessageID) async throws -> Outcome<[Message]> {
    let outcome = try await read(as: caller) { snapshot, identity in
      (
        identity.name, try messages(of: identity.name, since: position, snapshot),
        try seen(by: identity.name, snapshot)
      )
    }
    guard case .done(let (name, messages, seen)) = outcome else {
      return outcome.map { $0.1 }
    }
    if seen < position { try await noteSeen(upTo: position, by: name) }
    return .done(messages)
  }

  /// A user's messages behind a position, oldest first, at most ``pageSize``.
  func messages(of name: UserName, since position: MessageID) async throws -> [Message] {
    try await store.read { snapshot in try messages(of: name, since: position, snapshot) }
  }

  private func messages(
    of name: UserName, since position: MessageID, _ snapshot: borrowing Snapshot
  ) throws -> [Message] {
    try snapshot.all(
      """
      SELECT id, sender, text, sent_at, is_add_request FROM msgr_messages
      WHERE recipient = ? AND id > ? AND sent_at > ? ORDER BY id LIMIT ?
      """, name, position, now - limits.messageAge, Self.pageSize
    ) { row in
      Message(
        id: try row[0], sender: try row[1], text: try row[2],
        time: Timestamp(milliseconds: try row[3]), isAddRequest: try row[4])
    }
  }

  private func seen(
    by name: UserName, _ snapshot: borrowing Snapshot
  ) throws -> MessageID {
    try snapshot.one("SELECT seen_id FROM msgr_users WHERE username = ?", name) { try $0[0] }
      ?? .zero
  }

  /// Notes how far a user has come; never back, and not beyond the last identifier.
  func noteSeen(upTo position: MessageID, by name: UserName) async throws {
    try await store.write { transaction in
      try transaction.execute(
        """
        UPDATE msgr_users SET seen_id = min(?1, (SELECT id FROM msgr_last_id)),
          unread = (SELECT count(*) FROM msgr_messages WHERE recipient = ?2 AND id > ?1)
        WHERE username = ?2 AND seen_id < ?1
        """, position, name)
    }
  }

  /// The caller, and the last identifier of all: where a stream begins that misses nothing from
  /// here on.
  func beginStream(of caller: Caller) async throws -> Outcome<(Identity, MessageID)> {
    try await read(as: caller) { snapshot, identity in
      (identity, try snapshot.one("SELECT id FROM msgr_last_id") { try $0[0] } ?? .zero)
    }
  }

  /// Deletes messages and tokens that are too old, some at a time.
  ///
  /// - Returns: whether there may be more.
  func expire() async throws -> Bool {
    let now = now
    return try await store.write { transaction in
      try transaction.execute(
        """
        DELETE FROM msgr_messages WHERE id IN
          (SELECT id FROM msgr_messages WHERE sent_at <= ? ORDER BY sent_at LIMIT 1000)
        """, now - limits.messageAge)
      let isFull = transaction.changes == 1000
      try transaction.execute(
        "DELETE FROM msgr_tokens WHERE used_at <= ?", now - limits.tokenAge)
      return isFull
    }
  }
}

extension Outcome {
  /// The same with another value.
  func map<Other: Sendable>(_ transform: (Value) -> Other) -> Outcome<Other> {
    switch self {
    case .done(let value): .done(transform(value))
    case .unproven(let hash): .unproven(hash)
    }
  }
}
