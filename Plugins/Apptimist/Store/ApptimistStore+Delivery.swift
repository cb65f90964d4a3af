internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Storage

/// A message for one recipient.
struct MessageCopy: Sendable {
  let recipient: EncryptionPublicKey
  let id: MessageID
  /// The header in clear.
  let header: [UInt8]
  /// The data as it is boxed.
  let data: [UInt8]
}

/// A user who gets a message, and its position in the user's mailbox.
struct Addressee {
  let key: EncryptionPublicKey
  let user: AccountNumber
  let position: StreamPosition
  /// The identifier by which this user knows the message.
  let id: MessageID
}

/// The result of a delivery to one recipient.
enum Delivered: Hashable, Sendable {
  case delivered(StreamPosition)
  /// The message is or was in the mailbox, and is not delivered again.
  case known(StreamPosition)
  /// There is no such user.
  case unknownRecipient
}

extension ApptimistStore {
  /// Delivers messages to their recipients, piece by piece, in order. Each piece is delivered or not as a
  /// whole, and others get their turns between two.
  ///
  /// - Parameters:
  ///   - pieces: copies, one for each recipient. Neighbours in a piece that differ in the recipient only
  ///     are stored once.
  ///   - login: of the user who has sent them; they go to nobody if it holds no more.
  /// - Returns: of each piece, the result for each copy, in the same order.
  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin
  ) async -> [Result<[Delivered], any Error>] {
    if isShared { return await deliverAtOnce(pieces, from: login) }
    guard pieces.count == 1 else {
      let steps: [MailboxChange<[Delivered]>] = pieces.map { piece in
        { deliveries, transaction in
          try deliver(piece, from: login, &deliveries, transaction)
        }
      }
      return await writeMailboxes(steps: steps)
    }
    do {
      return [
        .success(
          try await writeMailboxes { deliveries, transaction in
            try deliver(pieces[0], from: login, &deliveries, transaction)
          })
      ]
    } catch {
      return [.failure(error)]
    }
  }

  private func deliver(
    _ copies: ArraySlice<MessageCopy>, from login: AccountLogin,
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    guard let sender = try sender(login, &deliveries, transaction) else {
      return copies.map { _ in .unknownRecipient }
    }
    var results: [Delivered] = []
    results.reserveCapacity(copies.count)
    var rest = copies
    while let first = rest.first {
      let alike = rest.prefix { $0.isSame(as: first) }
      rest = rest.dropFirst(alike.count)
      results += try deliver(alike: alike, from: sender, &deliveries, transaction)
    }
    try flush(&deliveries, transaction)
    return results
  }

  /// Delivers copies of one message.
  private func deliver(
    alike copies: ArraySlice<MessageCopy>, from sender: AccountNumber,
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    var results: [Delivered] = []
    var addressees: [Addressee] = []
    addressees.reserveCapacity(copies.count)
    for copy in copies {
      guard let mailbox = try mailbox(of: copy.recipient, &deliveries, transaction) else {
        results.append(.unknownRecipient)
        continue
      }
      let isKnown =
        try deliveries.knows(copy.id, for: mailbox.user)
        || position(of: copy.id, in: mailbox.user, transaction) != nil
      if isKnown {
        // A pending delivery may make the mailbox forget it.
        try log(copy, from: sender, for: addressees, &deliveries, transaction)
        addressees = []
        try flush(copy.recipient, &deliveries, transaction)
        if let position = try position(of: copy.id, in: mailbox.user, transaction) {
          results.append(.known(position))
          continue
        }
      }
      let position = deliveries.takePosition(in: mailbox, of: copy.recipient, for: copy.id)
      addressees.append(
        Addressee(key: copy.recipient, user: mailbox.user, position: position, id: copy.id))
      results.append(.delivered(position))
    }
    if let message = copies.first {
      try log(message, from: sender, for: addressees, &deliveries, transaction)
    }
    return results
  }

  /// Looks up a user who sends messages.
  ///
  /// - Returns: nil if the login holds no more.
  private func sender(
    _ login: AccountLogin, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> AccountNumber? {
    if let sender = deliveries.sender(login.user) {
      return sender.holds(login) ? sender.user : nil
    }
    let sender = try transaction.one(
      "SELECT id, authentication_key, is_closed FROM apptimist_users WHERE key = ? AND kind = ?",
      login.user, StoredKind.user
    ) { row in
      PendingDeliveries.Sender(
        user: try row[0], authenticationKey: try row[1], isClosed: try row[2])
    }
    guard let sender else { return nil }
    deliveries.note(sender, as: login.user)
    return sender.holds(login) ? sender.user : nil
  }

  private func mailbox(
    of user: EncryptionPublicKey, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> PendingDeliveries.Mailbox? {
    if let mailbox = deliveries.mailbox(of: user) { return mailbox }
    let mailbox = try transaction.one(
      """
      SELECT q.owner, q.last_position
      FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id WHERE u.key = ?
      """, user
    ) { row in PendingDeliveries.Mailbox(user: try row[0], last: try row[1]) }
    if let mailbox { deliveries.note(mailbox, of: user) }
    return mailbox
  }

  /// Looks up the position that a message has or had in a user's mailbox.
  ///
  /// - Returns: nil if the message is not known.
  func position(
    of id: MessageID, in user: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StreamPosition? {
    try database.one(
      "SELECT position FROM apptimist_message_ids WHERE owner = ? AND message_id = ?", user,
      KnownID(id)
    ) { try $0[0] }
  }

  /// Deletes a message's content from a user's mailbox; its place stays, and the stream tells it.
  ///
  /// - Parameters:
  ///   - id: the message.
  ///   - login: of the user who asks for it; nothing is changed if it holds no more.
  func truncate(_ id: MessageID, of login: AccountLogin) async throws -> Truncation {
    try await writeMailboxes(isolation: .rowLocks) { deliveries, transaction in
      guard let number = try account(of: login, transaction) else { return .never }
      try lockQueue(of: number, transaction)
      try flush(login.user, &deliveries, transaction)
      deliveries.forget(login.user)
      let known = try transaction.one(
        """
        SELECT position, is_truncated FROM apptimist_message_ids WHERE owner = ? AND message_id = ?
        """, number, KnownID(id)
      ) { row in (position: try row[0] as StreamPosition, isTruncated: try row[1] as Bool) }
      guard let known else { return .never }
      guard !known.isTruncated else { return .again }
      var mailbox = try mailbox(of: number, transaction)
      try transaction.execute(
        """
        UPDATE apptimist_message_ids SET is_truncated = 1, truncated_at = ?
        WHERE owner = ? AND message_id = ?
        """, mailbox.last.next, number, KnownID(id))
      try clear(known.position, in: &mailbox, transaction)
      try makeRoom(for: Self.truncationSize, in: &mailbox, transaction)
      // It is the user's own doing, and counts as such.
      try append(
        .truncation, id, size: Self.truncationSize, from: number, message: nil, to: &mailbox,
        transaction)
      try save(&mailbox, transaction)
      return .first(mailbox.last)
    }
  }
}

extension MessageCopy {
  /// Whether two copies differ in the recipient only.
  func isSame(as other: MessageCopy) -> Bool {
    PDU.Message.isSame(header, other.header) && data == other.data
  }
}
