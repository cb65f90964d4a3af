internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// A place in a user's queue. Those of a queue follow each other without a gap: 1, 2, 3.
struct StreamPosition: RawRepresentable, Hashable, Comparable, Sendable {
  let rawValue: Int64

  /// Before the first.
  static let zero = StreamPosition(rawValue: 0)

  /// The place right behind this one.
  var next: StreamPosition { StreamPosition(rawValue: rawValue + 1) }

  /// The place right before this one.
  var previous: StreamPosition { StreamPosition(rawValue: rawValue - 1) }

  static func < (left: StreamPosition, right: StreamPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension StreamPosition: DatabaseValueConvertible {}

/// A message for one recipient.
struct MessageCopy: Sendable {
  let recipient: EncryptionPublicKey
  let id: MessageID
  /// The header in clear.
  let header: [UInt8]
  /// The data as it is boxed.
  let data: [UInt8]
}

/// Where a message is to be in the queue of one who gets it.
struct Recipient {
  let key: EncryptionPublicKey
  let user: Int64
  let position: StreamPosition
  /// What the message is known by to this user.
  let id: MessageID
}

/// What became of a message for one recipient.
enum Enqueued: Hashable, Sendable {
  case queued(StreamPosition)
  /// The message is or was in the queue, and not queued again.
  case known(StreamPosition)
  /// There is no such user.
  case unknownRecipient
}

/// What became of a request for truncation.
enum Truncation: Hashable, Sendable {
  /// The message's content is gone, and the stream tells so at this place.
  case first(StreamPosition)
  case again
  /// The message was never in the queue.
  case never
}

extension ApptimistStore {
  /// Queues messages for their recipients, for all in one transaction.
  ///
  /// - Parameters:
  ///   - copies: one for each recipient. Neighbours that differ in the recipient only are stored once.
  ///   - sender: the user who has sent them.
  /// - Returns: what became of each copy, in the same order.
  func enqueue(
    _ copies: [MessageCopy], from sender: EncryptionPublicKey
  ) async throws -> [Enqueued] {
    try await writeQueues { arrivals, transaction in
      guard let sender = try queue(of: sender, &arrivals, transaction)?.user else {
        return copies.map { _ in .unknownRecipient }
      }
      var results: [Enqueued] = []
      results.reserveCapacity(copies.count)
      var rest = copies[...]
      while let first = rest.first {
        let alike = rest.prefix { $0.isSame(as: first) }
        rest = rest.dropFirst(alike.count)
        results += try enqueue(alike, from: sender, &arrivals, transaction)
      }
      try settle(&arrivals, transaction)
      return results
    }
  }

  /// Queues copies of one message.
  private func enqueue(
    _ copies: ArraySlice<MessageCopy>, from sender: Int64, _ arrivals: inout Arrivals,
    _ transaction: borrowing Transaction
  ) throws -> [Enqueued] {
    var results: [Enqueued] = []
    var recipients: [Recipient] = []
    recipients.reserveCapacity(copies.count)
    for copy in copies {
      guard let queue = try queue(of: copy.recipient, &arrivals, transaction) else {
        results.append(.unknownRecipient)
        continue
      }
      if try isKnown(copy.id, to: queue.user, arrivals, transaction) {
        // What has arrived may make the queue forget it.
        try writeDown(copy, from: sender, for: recipients, &arrivals, transaction)
        recipients = []
        try settle(copy.recipient, &arrivals, transaction)
        if let position = try position(of: copy.id, in: queue.user, transaction) {
          results.append(.known(position))
          continue
        }
      }
      let position = arrivals.take(queue, of: copy.recipient, for: copy.id)
      recipients.append(
        Recipient(key: copy.recipient, user: queue.user, position: position, id: copy.id))
      results.append(.queued(position))
    }
    if let message = copies.first {
      try writeDown(message, from: sender, for: recipients, &arrivals, transaction)
    }
    return results
  }

  private func queue(
    of user: EncryptionPublicKey, _ arrivals: inout Arrivals, _ transaction: borrowing Transaction
  ) throws -> Arrivals.Queue? {
    if let queue = arrivals.queue(of: user) { return queue }
    let queue = try transaction.one(
      """
      SELECT q.user, q.last_position
      FROM apptimist_users u JOIN apptimist_queues q ON q.user = u.id WHERE u.key = ?
      """, user
    ) { row in Arrivals.Queue(user: try row[0], last: try row[1]) }
    if let queue { arrivals.note(queue, of: user) }
    return queue
  }

  private func isKnown(
    _ id: MessageID, to user: Int64, _ arrivals: Arrivals, _ transaction: borrowing Transaction
  ) throws -> Bool {
    if arrivals.knows(id, for: user) { return true }
    return try position(of: id, in: user, transaction) != nil
  }

  /// Where in a user's queue a message is or was; nil: it isn't known.
  func position(
    of id: MessageID, in user: Int64, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StreamPosition? {
    try database.one(
      "SELECT position FROM apptimist_message_ids WHERE user = ? AND message_id = ?", user,
      KnownID(id)
    ) { try $0[0] }
  }

  /// Deletes a message's content from a user's queue; its place stays, and the stream tells it.
  func truncate(_ id: MessageID, of user: EncryptionPublicKey) async throws -> Truncation {
    try await writeQueues { arrivals, transaction in
      guard let number = try userNumber(of: user, transaction) else { return .never }
      try settle(user, &arrivals, transaction)
      arrivals.forget(user)
      let known = try transaction.one(
        """
        SELECT position, is_truncated FROM apptimist_message_ids WHERE user = ? AND message_id = ?
        """, number, KnownID(id)
      ) { row in (position: try row[0] as StreamPosition, isTruncated: try row[1] as Bool) }
      guard let known else { return .never }
      guard !known.isTruncated else { return .again }
      try transaction.execute(
        "UPDATE apptimist_message_ids SET is_truncated = 1 WHERE user = ? AND message_id = ?",
        number,
        KnownID(id))
      var queue = try queue(of: number, transaction)
      try clear(known.position, in: &queue, transaction)
      try makeRoom(for: Self.truncationSize, in: &queue, transaction)
      // It is the user's own doing, and counts as such.
      try append(
        .truncation, id, size: Self.truncationSize, from: number, content: nil, to: &queue,
        transaction)
      try save(&queue, transaction)
      return .first(queue.last)
    }
  }
}

extension MessageCopy {
  /// Whether only the recipient makes the difference between two.
  fileprivate func isSame(as other: MessageCopy) -> Bool {
    PDU.Message.isSame(header, other.header) && data == other.data
  }
}
