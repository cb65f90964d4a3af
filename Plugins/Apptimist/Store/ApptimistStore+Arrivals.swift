internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Wire

extension ApptimistStore {
  /// Changes queues, or what has arrived for them, in a transaction.
  func writeQueues<Value: Sendable>(
    _ body: @escaping @Sendable (inout Arrivals, borrowing Transaction) throws -> Value
  ) async throws -> Value {
    try await store.write(outcome: { [arrivalMemory] in arrivalMemory.end(isCommitted: $0) }) {
      transaction in
      try arrivalMemory.withArrivals {
        try loadArrivals(transaction)
      } _: { arrivals in
        try body(&arrivals, transaction)
      }
    }
  }

  /// Reads a queue that has all that has arrived for it.
  ///
  /// - Parameter body: reads the queue of the user, whose number it gets.
  /// - Returns: what `body` returns; nil if there is no such user.
  func readQueue<Value: Sendable>(
    of user: EncryptionPublicKey,
    _ body: @escaping @Sendable (Int64, borrowing Snapshot) throws -> Value
  ) async throws -> Value? {
    if !arrivalMemory.isSettled(user) {
      try await writeQueues { arrivals, transaction in try settle(user, &arrivals, transaction) }
    }
    // What arrives from now on is news.
    return try await store.read { snapshot in
      guard let user = try userNumber(of: user, snapshot) else { return nil }
      return try body(user, snapshot)
    }
  }

  /// What has arrived, as the file has it.
  private func loadArrivals(_ transaction: borrowing Transaction) throws -> Arrivals {
    let numbers: (newest: Int64, settled: Int64)? = try transaction.one(
      """
      SELECT before, (SELECT coalesce(max(id), 0) FROM apptimist_contents) FROM apptimist_settled
      """
    ) { row in (try row[1], try row[0]) }
    guard let numbers else { throw InconsistentQueue() }
    var arrivals = Arrivals(
      next: max(numbers.newest + 1, numbers.settled), recorded: numbers.settled)
    try transaction.forEach(
      """
      SELECT id, sender, recipients, header, data FROM apptimist_contents WHERE id >= ? ORDER BY id
      """, numbers.settled
    ) { row in
      let (content, sender): (Int64, Int64) = (try row[0], try row[1])
      let (header, data): ([UInt8], [UInt8]) = (try row[3], try row[4])
      var recipients: [Recipient] = []
      for (user, position) in try Self.recipients(in: row[2]) {
        guard let (key, last) = try end(of: user, transaction) else { throw InconsistentQueue() }
        // Otherwise it is in the queue already.
        guard position > last else { continue }
        let id = MessageID(header: PDU.Message.header(header, for: key), data: data[...])
        let queue = Arrivals.Queue(user: user, last: position.previous)
        recipients.append(
          Recipient(
            key: key, user: user, position: arrivals.take(queue, of: key, for: id), id: id))
      }
      arrivals.add(content, size: header.count + data.count, from: sender, for: recipients)
    }
    return arrivals
  }

  private func end(
    of user: Int64, _ transaction: borrowing Transaction
  ) throws -> (EncryptionPublicKey, StreamPosition)? {
    try transaction.one(
      """
      SELECT u.key, q.last_position FROM apptimist_users u JOIN apptimist_queues q ON q.user = u.id
      WHERE u.id = ?
      """, user
    ) { row in (try row[0], try row[1]) }
  }

  /// Writes a message down, once for all who get it.
  ///
  /// - Parameters:
  ///   - message: its header, as any of them gets it, and its data.
  ///   - recipients: who gets it, and where; the positions are taken.
  func writeDown(
    _ message: MessageCopy, from sender: Int64, for recipients: [Recipient],
    _ arrivals: inout Arrivals, _ transaction: borrowing Transaction
  ) throws {
    guard !recipients.isEmpty else { return }
    let content = arrivals.next
    try transaction.execute(
      """
      INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
      VALUES (?, ?, ?, ?, ?, ?)
      """, content, recipients.count, sender, Self.bytes(of: recipients), message.header,
      message.data)
    let size = message.header.count + message.data.count
    arrivals.add(content, size: size, from: sender, for: recipients)
  }

  private static func bytes(of recipients: [Recipient]) -> [UInt8] {
    var writer = ByteWriter(capacity: 16 * recipients.count)
    for recipient in recipients {
      writer.write(UInt64(bitPattern: recipient.user))
      writer.write(UInt64(bitPattern: recipient.position.rawValue))
    }
    return writer.bytes
  }

  private static func recipients(
    in bytes: [UInt8]
  ) throws -> [(user: Int64, position: StreamPosition)] {
    var reader = ByteReader(bytes)
    var recipients: [(user: Int64, position: StreamPosition)] = []
    while reader.remaining > 0 {
      let user = Int64(bitPattern: try reader.read(UInt64.self))
      let position = Int64(bitPattern: try reader.read(UInt64.self))
      recipients.append((user, StreamPosition(rawValue: position)))
    }
    return recipients
  }

  /// If much has arrived, puts it into the queues of those who have waited longest.
  func settle(_ arrivals: inout Arrivals, _ transaction: borrowing Transaction) throws {
    // Once: the average rises with each of them whose queue gets little.
    let most = min(limits.arrivals, limits.arrivalsEach * arrivals.recipients.count)
    while let recipient = arrivals.nextRecipient(),
      arrivals.count > most || arrivals.bytes > limits.arrivalBytes
    {
      try settle(recipient, &arrivals, transaction)
    }
    guard let oldest = arrivals.oldestToRecord() else { return }
    try transaction.execute("UPDATE apptimist_settled SET before = ?", oldest)
  }

  /// Puts into a user's queue what has arrived for it.
  func settle(
    _ recipient: EncryptionPublicKey, _ arrivals: inout Arrivals,
    _ transaction: borrowing Transaction
  ) throws {
    let copies = arrivals.takeCopies(for: recipient)
    guard let user = copies.first?.user else { return }
    var queue = try queue(of: user, transaction)
    for copy in copies {
      try transaction.execute(
        "INSERT INTO apptimist_message_ids (user, message_id, position) VALUES (?, ?, ?)", user,
        KnownID(copy.id), copy.position)
      try makeRoom(for: copy.size, in: &queue, transaction)
      try append(
        .message, copy.id, size: copy.size, from: copy.sender, content: copy.content, to: &queue,
        transaction)
    }
    try save(&queue, transaction)
  }
}
