internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Storage
internal import Wire

extension ApptimistStore {
  /// A change of mailboxes, or of what is pending for them.
  typealias MailboxChange<Value> =
    @Sendable (inout PendingDeliveries, borrowing Transaction) throws -> Value

  /// Changes mailboxes, or what is pending for them, in a transaction.
  ///
  /// - Parameters:
  ///   - isolation: the way in which it is kept apart from those of other nodes.
  ///   - body: changes the mailboxes. Where nodes share the store, nothing is ever pending.
  func writeMailboxes<Value: Sendable>(
    isolation: Isolation = .serializable, _ body: @escaping MailboxChange<Value>
  ) async throws -> Value {
    guard !isShared else {
      return try await store.write(isolation: isolation) { transaction in
        var none = PendingDeliveries(next: LogNumber(rawValue: 0), recorded: LogNumber(rawValue: 0))
        return try body(&none, transaction)
      }
    }
    return try await store.write(outcome: { [pending] in pending.end(isCommitted: $0) }) {
      transaction in try change(transaction, body)
    }
  }

  /// Changes mailboxes in several steps, in order, each by itself; others get their turns in between.
  func writeMailboxes<Value: Sendable>(
    steps: [MailboxChange<Value>]
  ) async -> [Result<Value, any Error>] {
    let changes: [@Sendable (borrowing Transaction) throws -> Value] = steps.map { step in
      { transaction in try change(transaction, step) }
    }
    return await store.write(
      steps: changes, outcome: { [pending] in pending.end(isCommitted: $0) })
  }

  private func change<Value: Sendable>(
    _ transaction: borrowing Transaction, _ body: MailboxChange<Value>
  ) throws -> Value {
    try pending.withDeliveries {
      try loadDeliveries(transaction)
    } _: { deliveries in
      try body(&deliveries, transaction)
    }
  }

  /// Writes what has been delivered to a user and isn't in the mailbox yet. Whatever is delivered from then on is news.
  func flush(_ user: EncryptionPublicKey) async throws {
    guard !isShared, !pending.isFlushed(user) else { return }
    try await writeMailboxes { deliveries, transaction in
      try flush(user, &deliveries, transaction)
    }
  }

  /// Reads a mailbox that has all that has been delivered to it.
  ///
  /// - Parameters:
  ///   - user: the user whose mailbox it is.
  ///   - body: reads the mailbox of the user, whose number it gets.
  /// - Returns: the closure's result, or nil if there is no such user.
  func readMailbox<Value: Sendable>(
    of user: EncryptionPublicKey,
    _ body: @escaping @Sendable (AccountNumber, borrowing Snapshot) throws -> Value
  ) async throws -> Value? {
    try await flush(user)
    return try await store.read { snapshot in
      guard let user = try userNumber(of: user, snapshot) else { return nil }
      return try body(user, snapshot)
    }
  }

  // MARK: - The log

  /// Reads the pending deliveries from the message log.
  private func loadDeliveries(_ transaction: borrowing Transaction) throws -> PendingDeliveries {
    let numbers: (newest: LogNumber, flushed: LogNumber)? = try transaction.one(
      """
      SELECT before, (SELECT coalesce(max(id), 0) FROM apptimist_contents) FROM apptimist_settled
      """
    ) { row in (try row[1], try row[0]) }
    guard let numbers else { throw InconsistentMailbox() }
    var deliveries = PendingDeliveries(
      next: max(numbers.newest.next, numbers.flushed), recorded: numbers.flushed)
    try transaction.forEach(
      """
      SELECT id, sender, recipients, header, data FROM apptimist_contents
      WHERE id >= ? AND length(recipients) > 0 ORDER BY id
      """, numbers.flushed
    ) { row in
      let (message, sender): (LogNumber, AccountNumber) = (try row[0], try row[1])
      let (header, data): ([UInt8], [UInt8]) = (try row[3], try row[4])
      var addressees: [Addressee] = []
      for (user, position) in try Self.recipients(in: row[2]) {
        guard let (key, last) = try end(of: user, transaction) else { throw InconsistentMailbox() }
        // Otherwise it is in the mailbox already.
        guard position > last else { continue }
        guard position.isCountable else { throw InconsistentMailbox() }
        let id = MessageID(header: PDU.Message.header(header, for: key), data: data[...])
        let mailbox = PendingDeliveries.Mailbox(user: user, last: position.previous)
        addressees.append(
          Addressee(
            key: key, user: user,
            position: deliveries.takePosition(in: mailbox, of: key, for: id), id: id))
      }
      deliveries.add(message, size: header.count + data.count, from: sender, for: addressees)
    }
    return deliveries
  }

  private func end(
    of user: AccountNumber, _ transaction: borrowing Transaction
  ) throws -> (EncryptionPublicKey, StreamPosition)? {
    try transaction.one(
      """
      SELECT u.key, q.last_position FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.id = ?
      """, user
    ) { row in (try row[0], try row[1]) }
  }

  /// Writes a message into the message log, once for all who get it.
  ///
  /// - Parameters:
  ///   - message: its header, as any of them gets it, and its data.
  ///   - sender: the user who sent it.
  ///   - addressees: the users who get it, with the positions that were taken.
  func log(
    _ message: MessageCopy, from sender: AccountNumber, for addressees: [Addressee],
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws {
    guard !addressees.isEmpty else { return }
    let number = deliveries.next
    try transaction.execute(
      """
      INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
      VALUES (?, ?, ?, ?, ?, ?)
      """, number, addressees.count, sender, Self.bytes(of: addressees), message.header,
      message.data)
    let size = message.header.count + message.data.count
    deliveries.add(number, size: size, from: sender, for: addressees)
  }

  private static func bytes(of addressees: [Addressee]) -> [UInt8] {
    var writer = ByteWriter(capacity: 16 * addressees.count)
    for addressee in addressees {
      writer.write(UInt64(bitPattern: addressee.user.rawValue))
      writer.write(UInt64(bitPattern: addressee.position.rawValue))
    }
    return writer.bytes
  }

  private static func recipients(
    in bytes: [UInt8]
  ) throws -> [(user: AccountNumber, position: StreamPosition)] {
    var reader = ByteReader(bytes)
    var recipients: [(user: AccountNumber, position: StreamPosition)] = []
    while reader.remaining > 0 {
      let user = Int64(bitPattern: try reader.read(UInt64.self))
      let position = Int64(bitPattern: try reader.read(UInt64.self))
      recipients.append((AccountNumber(rawValue: user), StreamPosition(rawValue: position)))
    }
    return recipients
  }

  // MARK: - Flushing

  /// If much is pending, puts it into the mailboxes that have waited longest.
  func flush(_ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction) throws {
    // Once: the average rises with each mailbox that gets little.
    let most = min(
      limits.pendingDeliveries, limits.pendingPerMailbox * deliveries.recipients.count)
    while let recipient = deliveries.nextRecipient(),
      deliveries.count > most || deliveries.bytes > limits.pendingBytes
    {
      try flush(recipient, &deliveries, transaction)
    }
    guard let oldest = deliveries.oldestToRecord() else { return }
    try transaction.execute("UPDATE apptimist_settled SET before = ?", oldest)
  }

  /// Puts all that is pending for anybody into the mailboxes.
  func flushAll() async throws {
    try await writeMailboxes { deliveries, transaction in
      for recipient in Array(deliveries.recipients) {
        try flush(recipient, &deliveries, transaction)
      }
    }
  }

  /// Puts all that is pending for a user into the user's mailbox.
  func flush(
    _ recipient: EncryptionPublicKey, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws {
    let taken = deliveries.take(for: recipient)
    guard let user = taken.first?.user else { return }
    var mailbox = try mailbox(of: user, transaction)
    for delivery in taken {
      try transaction.execute(
        "INSERT INTO apptimist_message_ids (owner, message_id, position) VALUES (?, ?, ?)", user,
        KnownID(delivery.id), delivery.position)
      try makeRoom(for: delivery.size, in: &mailbox, transaction)
      try append(
        .message, delivery.id, size: delivery.size, from: delivery.sender,
        message: delivery.message, to: &mailbox, transaction)
    }
    try save(&mailbox, transaction)
  }
}
