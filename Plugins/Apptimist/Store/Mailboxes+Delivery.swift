internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Formats

/// A user who gets a message, and its position in the user's mailbox.
struct Addressee {
  let key: EncryptionPublicKey
  let user: AccountNumber
  let position: MailboxPosition
  /// The identifier by which this user knows the message.
  let id: MessageID
}

extension Mailboxes {
  /// Delivers copies, which may stay pending.
  ///
  /// - Parameter login: of the sender; they go to nobody if it holds no more.
  func deliver(
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
    return results
  }

  /// Delivers copies of one message.
  private func deliver(
    alike copies: ArraySlice<MessageCopy>, from sender: AccountNumber,
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    var results: [Delivered] = []
    var addressees: [Addressee] = []
    var news: [Addressee] = []
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
      let position = deliveries.reservePosition(in: mailbox, of: copy.recipient, for: copy.id)
      let addressee = Addressee(
        key: copy.recipient, user: mailbox.user, position: position, id: copy.id)
      addressees.append(addressee)
      if mailbox.isBound, mailbox.user != sender { news.append(addressee) }
      results.append(.delivered(position))
    }
    if let message = copies.first {
      try log(message, from: sender, for: addressees, &deliveries, transaction)
      if let wakes, !news.isEmpty {
        deliveries.wakes += try wakes.note(news, of: message.header, transaction)
      }
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
    if let sender = deliveries.sender(login.user) { return sender.holds(login) ? sender.user : nil }
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
      SELECT q.owner, q.last_position,
        EXISTS (SELECT 1 FROM apptimist_addresses a WHERE a.owner = q.owner)
      FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id WHERE u.key = ?
      """, user
    ) { row in
      PendingDeliveries.Mailbox(user: try row[0], last: try row[1], isBound: try row[2])
    }
    if let mailbox { deliveries.note(mailbox, of: user) }
    return mailbox
  }

  /// Looks up the position that a message has or had in a user's mailbox.
  ///
  /// - Returns: nil if the message is not known.
  func position(
    of id: MessageID, in user: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> MailboxPosition? {
    try database.value(
      "SELECT position FROM apptimist_message_ids WHERE owner = ? AND message_id = ?", user,
      KnownID(id))
  }

  // MARK: - The log

  /// Reads the pending deliveries from the message log.
  func pending(_ transaction: borrowing Transaction) throws -> PendingDeliveries {
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
      let message: LogNumber = try row[0]
      let sender: AccountNumber = try row[1]
      let header: [UInt8] = try row[3]
      let data: [UInt8] = try row[4]
      var addressees: [Addressee] = []
      for (user, position) in try Self.recipients(in: row[2]) {
        guard let (key, last) = try end(of: user, transaction) else { throw InconsistentMailbox() }
        // Otherwise it is in the mailbox already.
        guard position > last else { continue }
        guard position.isCountable else { throw InconsistentMailbox() }
        let id = MessageID(header: PDU.Message.header(header, for: key), data: data[...])
        let mailbox = PendingDeliveries.Mailbox(user: user, last: position.previous, isBound: true)
        addressees.append(
          Addressee(
            key: key, user: user,
            position: deliveries.reservePosition(in: mailbox, of: key, for: id), id: id))
      }
      deliveries.add(message, size: header.count + data.count, from: sender, for: addressees)
    }
    return deliveries
  }

  private func end(
    of user: AccountNumber, _ transaction: borrowing Transaction
  ) throws -> (EncryptionPublicKey, MailboxPosition)? {
    try transaction.one(
      """
      SELECT u.key, q.last_position FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.id = ?
      """, user
    ) { row in (try row[0], try row[1]) }
  }

  /// Writes a message into the message log, once for all who get it.
  ///
  /// - Parameter addressees: the users who get it, with the positions that were taken.
  func log(
    _ message: MessageCopy, from sender: AccountNumber, for addressees: [Addressee],
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws {
    guard !addressees.isEmpty else { return }
    let number =
      try deliveries.next
      ?? transaction.one("SELECT nextval('apptimist_contents_id_seq')") { try $0[0] }
    guard let number else { throw InconsistentMailbox() }
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
  ) throws -> [(user: AccountNumber, position: MailboxPosition)] {
    var reader = ByteReader(bytes)
    var recipients: [(user: AccountNumber, position: MailboxPosition)] = []
    while reader.remaining > 0 {
      let user = Int64(bitPattern: try reader.read(UInt64.self))
      let position = Int64(bitPattern: try reader.read(UInt64.self))
      recipients.append((AccountNumber(rawValue: user), MailboxPosition(rawValue: position)))
    }
    return recipients
  }

  // MARK: - Flushing

  /// If much is pending, puts it into the mailboxes that have waited longest.
  func flush(_ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction) throws {
    // Once: the average rises with each mailbox that gets little.
    let most = min(limits.pendingDeliveries, limits.pendingPerMailbox * deliveries.recipients.count)
    while let recipient = deliveries.nextRecipient(),
      deliveries.count > most || deliveries.bytes > limits.pendingBytes
    {
      try flush(recipient, &deliveries, transaction)
    }
    guard let oldest = deliveries.oldestToRecord() else { return }
    try transaction.execute("UPDATE apptimist_settled SET before = ?", oldest)
  }

  /// Puts all that is pending for anybody into the mailboxes.
  func flushAll(
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws {
    for recipient in Array(deliveries.recipients) { try flush(recipient, &deliveries, transaction) }
  }

  /// Puts all that is pending for a user into the user's mailbox.
  func flush(
    _ recipient: EncryptionPublicKey, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws {
    let taken = deliveries.take(for: recipient)
    guard let user = taken.first?.user else { return }
    var mailbox = try state(of: user, transaction)
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

  // MARK: - Where others change mailboxes too

  /// Locks mailboxes until the end of the transaction, all in the same order, so that positions become visible in theirs.
  func lock(_ users: [EncryptionPublicKey], _ transaction: borrowing Transaction) throws {
    try transaction.forEach(
      """
      SELECT 1 FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.key IN (SELECT substr(?1, 32 * i + 1, 32)
        FROM generate_series(0, length(?1) / 32 - 1) i)
      ORDER BY q.owner FOR NO KEY UPDATE OF q
      """, users.flatMap(\.bytes)
    ) { _ in }
  }
}
