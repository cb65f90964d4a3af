internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Storage

// Where several nodes share the store, no message waits outside of its mailboxes: none of them knows what another one has
// in memory.
extension ApptimistStore {
  /// Delivers messages to their recipients, piece by piece, in order.
  func deliverAtOnce(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin
  ) async -> [Result<[Delivered], any Error>] {
    var results: [Result<[Delivered], any Error>] = []
    for piece in pieces {
      do { results.append(.success(try await deliverAtOnce(piece, from: login))) } catch {
        results.append(.failure(error))
      }
    }
    return results
  }

  private func deliverAtOnce(
    _ piece: ArraySlice<MessageCopy>, from login: AccountLogin
  ) async throws -> [Delivered] {
    let input = PostDelivery.Input(store: self, copies: piece, login: login)
    let outcomes = try await store.perform(input, by: PostDelivery.self)
    guard outcomes.count == piece.count else { throw InconsistentMailbox() }
    let left = zip(piece, outcomes).filter { $0.1 == nil }.map(\.0)
    guard !left.isEmpty else { return outcomes.compactMap(\.self) }
    // Their mailboxes are full: room has to be made for each.
    var rest = try await store.write(isolation: .rowLocks) { transaction in
      try deliverAtOnce(left[...], from: login, transaction)
    }[...]
    return try outcomes.map { outcome in
      guard let delivered = outcome ?? rest.popFirst() else { throw InconsistentMailbox() }
      return delivered
    }
  }

  /// Puts messages into their recipients' mailboxes.
  func deliverAtOnce(
    _ copies: ArraySlice<MessageCopy>, from login: AccountLogin,
    _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    guard let sender = try account(of: login, transaction) else {
      return copies.map { _ in .unknownRecipient }
    }
    var mailboxes = try lockMailboxes(of: Set(copies.map(\.recipient)), transaction)
    var results: [Delivered] = []
    results.reserveCapacity(copies.count)
    var rest = copies
    while let first = rest.first {
      let alike = rest.prefix { $0.isSame(as: first) }
      rest = rest.dropFirst(alike.count)
      results += try deliverAtOnce(alike: alike, from: sender, to: &mailboxes, transaction)
    }
    for key in mailboxes.keys {
      guard var mailbox = mailboxes[key] else { continue }
      try save(&mailbox, transaction)
    }
    return results
  }

  /// Puts copies of one message into mailboxes.
  private func deliverAtOnce(
    alike copies: ArraySlice<MessageCopy>, from sender: AccountNumber,
    to mailboxes: inout [EncryptionPublicKey: StoredMailbox], _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    guard let message = copies.first else { return [] }
    // Each once: the same copy may come again.
    var results: [MessageCopy.Key: Delivered] = [:]
    var new: [MessageCopy] = []
    for copy in copies where results[copy.key] == nil {
      guard let mailbox = mailboxes[copy.recipient] else {
        results[copy.key] = .unknownRecipient
        continue
      }
      let position = try position(of: copy.id, in: mailbox.user, transaction)
      results[copy.key] = .known(position ?? .zero)
      if position == nil { new.append(copy) }
    }
    let number: LogNumber? =
      try new.isEmpty
      ? nil
      : transaction.one(
        """
        INSERT INTO apptimist_contents (holders, sender, recipients, header, data)
        VALUES (?, ?, '', ?, ?) RETURNING id
        """, new.count, sender, message.header, message.data
      ) { try $0[0] }
    let size = message.header.count + message.data.count
    for copy in new {
      guard var mailbox = mailboxes.removeValue(forKey: copy.recipient) else { continue }
      try makeRoom(for: size, in: &mailbox, transaction)
      try append(
        .message, copy.id, size: size, from: sender, message: number, to: &mailbox, transaction)
      try transaction.execute(
        "INSERT INTO apptimist_message_ids (owner, message_id, position) VALUES (?, ?, ?)",
        mailbox.user, KnownID(copy.id), mailbox.last)
      results[copy.key] = .delivered(mailbox.last)
      mailboxes[copy.recipient] = mailbox
    }
    return copies.map { copy in
      let result = results[copy.key] ?? .unknownRecipient
      if case .delivered(let position) = result { results[copy.key] = .known(position) }
      return result
    }
  }

  /// Locks mailboxes until the end of the transaction, all in the same order, so that positions become visible in theirs.
  ///
  /// - Returns: the mailboxes as they are now, by their users; a key that is no user's has none.
  private func lockMailboxes(
    of users: Set<EncryptionPublicKey>, _ transaction: borrowing Transaction
  ) throws -> [EncryptionPublicKey: StoredMailbox] {
    var mailboxes: [EncryptionPublicKey: StoredMailbox] = [:]
    try transaction.forEach(
      """
      SELECT u.key, q.owner, q.last_position, q.entries, q.bytes, q.dropped
      FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.key IN (SELECT substr(?1, 32 * i + 1, 32)
        FROM generate_series(0, length(?1) / 32 - 1) i)
      ORDER BY q.owner FOR NO KEY UPDATE OF q
      """, users.flatMap(\.bytes)
    ) { row in
      mailboxes[try row[0]] = StoredMailbox(
        user: try row[1], last: try row[2], entries: try row[3], bytes: try row[4],
        dropped: try row[5])
    }
    return mailboxes
  }

  /// Waits for those who change a mailbox or the directories of a user, where there are others, and keeps them waiting
  /// until the end of the transaction. It comes before what is to be changed is read.
  func lockQueue(of user: AccountNumber, _ transaction: borrowing Transaction) throws {
    guard isShared else { return }
    try transaction.forEach(
      "SELECT 1 FROM apptimist_queues WHERE owner = ? FOR NO KEY UPDATE", user
    ) { _ in }
  }
}

extension MessageCopy {
  fileprivate struct Key: Hashable {
    let recipient: EncryptionPublicKey
    let id: MessageID
  }

  fileprivate var key: Key { Key(recipient: recipient, id: id) }
}
