import ApptimistProtocol
import Cryptography
import Storage

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
  /// Queues a message for its recipients, for all in one transaction.
  ///
  /// - Parameters:
  ///   - copies: one for each recipient. Data that neighbours share is stored once: it should be the
  ///     same array.
  ///   - sender: the user who has sent it.
  /// - Returns: what became of each copy, in the same order.
  func enqueue(
    _ copies: [MessageCopy], from sender: EncryptionPublicKey
  ) async throws -> [Enqueued] {
    try await store.write { transaction in
      guard let sender = try userNumber(of: sender, transaction) else {
        return copies.map { _ in .unknownRecipient }
      }
      var body: Int64?
      return try copies.indices.map { index in
        let copy = copies[index]
        let isFirst = index == 0 || copies[index - 1].data != copy.data
        let isLast = index == copies.count - 1 || copies[index + 1].data != copy.data
        if isFirst { body = nil }
        return try put(
          copy, from: sender, isShared: !(isFirst && isLast), body: &body, transaction)
      }
    }
  }

  private func put(
    _ copy: MessageCopy, from sender: Int64, isShared: Bool, body: inout Int64?,
    _ transaction: borrowing Transaction
  ) throws -> Enqueued {
    guard var queue = try queue(of: copy.recipient, transaction) else { return .unknownRecipient }
    try transaction.execute(
      """
      INSERT OR IGNORE INTO apptimist_message_ids (user, message_id, position) VALUES (?, ?, ?)
      """, queue.user, copy.id, queue.last.next)
    if transaction.changes == 0 {
      let position: StreamPosition? = try transaction.one(
        "SELECT position FROM apptimist_message_ids WHERE user = ? AND message_id = ?", queue.user,
        copy.id
      ) { try $0[0] }
      return .known(position ?? queue.last)
    }
    if isShared, body == nil {
      try transaction.execute("INSERT INTO apptimist_bodies (data) VALUES (?)", copy.data)
      body = transaction.lastInsertRowID
    }
    try transaction.execute(
      "INSERT INTO apptimist_messages (message_id, header, body, data) VALUES (?, ?, ?, ?)",
      copy.id, copy.header, body, isShared ? nil : copy.data)
    let message = transaction.lastInsertRowID
    let size = copy.header.count + copy.data.count
    // Only now: what is dropped may have shared the body, which goes with the last that refers to it.
    try makeRoom(for: size, in: &queue, transaction)
    let position = try append(
      .message, size: size, from: sender, message: message, to: &queue, transaction)
    return .queued(position)
  }

  /// Deletes a message's content from a user's queue; its place stays, and the stream tells it.
  func truncate(_ id: MessageID, of user: EncryptionPublicKey) async throws -> Truncation {
    try await store.write { transaction in
      guard var queue = try queue(of: user, transaction) else { return .never }
      let known = try transaction.one(
        """
        SELECT position, is_truncated FROM apptimist_message_ids WHERE user = ? AND message_id = ?
        """, queue.user, id
      ) { row in (position: try row[0] as StreamPosition, isTruncated: try row[1] as Bool) }
      guard let known else { return .never }
      guard !known.isTruncated else { return .again }
      try transaction.execute(
        """
        UPDATE apptimist_message_ids SET is_truncated = 1 WHERE user = ? AND message_id = ?
        """, queue.user, id)
      try clear(known.position, in: &queue, transaction)
      try makeRoom(for: Self.truncationSize, in: &queue, transaction)
      try transaction.execute("INSERT INTO apptimist_messages (message_id) VALUES (?)", id)
      // It is the user's own doing, and counts as such.
      let position = try append(
        .truncation, size: Self.truncationSize, from: queue.user,
        message: transaction.lastInsertRowID, to: &queue, transaction)
      return .first(position)
    }
  }
}
