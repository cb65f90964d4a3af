internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Formats

extension Mailboxes {
  /// Delivers copies, which may stay pending.
  ///
  /// - Parameter login: of the sender; they go to nobody if it holds no more.
  func deliver(
    _ copies: ArraySlice<MessageCopy>, from login: AccountLogin,
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    let request = DeliveryRequest(copies: copies, login: login)
    let facts = try facts(about: request, &deliveries, transaction)
    let plan = DeliveryPlan([request], facts, limits)
    try write(plan, &deliveries, transaction)
    let decisions = plan.decisions.joined()
    var results: [Delivered] = decisions.map { Delivered($0) ?? .refused }
    let full = zip(copies.indices, decisions).filter { $1 == .needsRoom }.map(\.0)
    guard !full.isEmpty else { return results }
    let others = try deliver(
      full.map { copies[$0] }, intoFull: request, &deliveries, transaction)
    for (index, result) in zip(full, others) { results[index - copies.startIndex] = result }
    return results
  }

  /// Delivers copies to full mailboxes, in which it makes room.
  private func deliver(
    _ copies: [MessageCopy], intoFull request: DeliveryRequest,
    _ deliveries: inout PendingDeliveries, _ transaction: borrowing Transaction
  ) throws -> [Delivered] {
    var results: [Delivered] = []
    var rest = copies[...]
    while let first = rest.first {
      // Copies that are stored once, each for another mailbox.
      var recipients: Set<EncryptionPublicKey> = []
      let alike = rest.prefix { copy in
        copy.isSame(as: first) && recipients.insert(copy.recipient).inserted
      }
      rest = rest.dropFirst(alike.count)
      var fitting: [MessageCopy] = []
      var isFitting: [Bool] = []
      for copy in alike {
        let hasRoom = try makeRoom(for: copy, from: request.login, &deliveries, transaction)
        isFitting.append(hasRoom)
        if hasRoom { fitting.append(copy) }
      }
      let part = DeliveryRequest(copies: fitting[...], login: request.login)
      let plan = DeliveryPlan(
        [part], try facts(about: part, &deliveries, transaction), limits, hasMadeRoom: true)
      try write(plan, &deliveries, transaction)
      var decisions = plan.decisions.joined().makeIterator()
      for hasRoom in isFitting {
        results.append(hasRoom ? decisions.next().flatMap { Delivered($0) } ?? .refused : .refused)
      }
    }
    return results
  }

  /// Makes room for a copy, unless the mailbox knows it.
  ///
  /// - Returns: false if it doesn't fit.
  private func makeRoom(
    for copy: MessageCopy, from login: AccountLogin, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> Bool {
    guard let mailbox = try mailbox(of: copy.recipient, &deliveries, transaction),
      let sender = try sender(login, &deliveries, transaction)
    else { return true }
    try flush(copy.recipient, &deliveries, transaction)
    guard try position(of: copy.id, in: mailbox.user, transaction) == nil else { return true }
    var stored = try state(of: mailbox.user, transaction)
    let holder = try holder(for: sender.user, in: mailbox.user, transaction)
    let hasRoom = try makeRoom(for: copy.size, from: holder, in: &stored, transaction)
    try save(&stored, transaction)
    var changed = mailbox
    changed.entries = stored.entries
    changed.bytes = stored.bytes
    deliveries.remember(changed, of: copy.recipient)
    return hasRoom
  }

  /// Reads what the plan for a user's messages needs to know.
  private func facts(
    about request: DeliveryRequest, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> DeliveryFacts {
    var facts = DeliveryFacts()
    guard let sender = try sender(request.login, &deliveries, transaction) else { return facts }
    facts.senders[request.login.user] = sender
    for copy in request.copies {
      guard let mailbox = try mailbox(of: copy.recipient, &deliveries, transaction) else {
        continue
      }
      facts.mailboxes[copy.recipient] = mailbox
      let message = DeliveryFacts.KnownMessage(copy.id, of: mailbox.user)
      let position =
        try deliveries.position(of: message)
        ?? position(of: copy.id, in: mailbox.user, transaction)
      facts.known[message] = position
    }
    return facts
  }

  /// Writes the messages of a plan into the message log, and queues the wakes for them.
  private func write(
    _ plan: DeliveryPlan, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws {
    for (recipient, mailbox) in plan.mailboxes { deliveries.remember(mailbox, of: recipient) }
    for message in plan.messages { try log(message, &deliveries, transaction) }
    guard let wakes, !plan.news.isEmpty else { return }
    deliveries.wakes += try wakes.queue(plan.news, transaction)
  }

  /// Looks up a user who sends messages.
  ///
  /// - Returns: nil if there is none, or the login holds no more.
  private func sender(
    _ login: AccountLogin, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> DeliveryFacts.Sender? {
    if let sender = deliveries.sender(login.user) { return sender.holds(login) ? sender : nil }
    let sender = try transaction.one(
      "SELECT id, authentication_key, is_closed FROM apptimist_users WHERE key = ? AND kind = ?",
      login.user, StoredKind.user
    ) { row in
      PendingDeliveries.Sender(
        user: try row[0], authenticationKey: try row[1], isClosed: try row[2])
    }
    guard let sender else { return nil }
    deliveries.remember(sender, as: login.user)
    return sender.holds(login) ? sender : nil
  }

  private func mailbox(
    of user: EncryptionPublicKey, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws -> PendingDeliveries.Mailbox? {
    if let mailbox = deliveries.mailbox(of: user) { return mailbox }
    let mailbox = try transaction.one(
      """
      SELECT q.owner, q.last_position, q.entries, q.bytes,
        EXISTS (SELECT 1 FROM apptimist_addresses a WHERE a.owner = q.owner)
      FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.key = ? AND u.kind = ?
      """, user, StoredKind.user
    ) { row in
      PendingDeliveries.Mailbox(
        user: try row[0], last: try row[1], entries: try row[2], bytes: try row[3],
        isBound: try row[4])
    }
    if let mailbox { deliveries.remember(mailbox, of: user) }
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

  /// Looks up to whose share a sender's messages to a user belong.
  func holder(
    for sender: AccountNumber, in user: AccountNumber,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> ShareHolder {
    let holder: ShareHolder? = try database.value(
      """
      SELECT CASE WHEN id = ?1
          OR EXISTS (SELECT 1 FROM apptimist_contacts WHERE owner = ?1 AND contact = ?2)
        THEN id ELSE -site END
      FROM apptimist_users WHERE id = ?2
      """, user, sender)
    guard let holder else { throw InconsistentMailbox() }
    return holder
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
        // Who has left since has given back what the mailbox held.
        guard let (key, mailbox) = try end(of: user, transaction) else { continue }
        // Otherwise it is in the mailbox already.
        guard position > mailbox.last else { continue }
        guard position.isCountable else { throw InconsistentMailbox() }
        let id = MessageID(header: PDU.Message.header(header, for: key), data: data[...])
        var present = deliveries.mailbox(of: key) ?? mailbox
        present.last = position
        present.entries &+= 1
        present.bytes &+= header.count + data.count
        deliveries.remember(present, of: key)
        addressees.append(Addressee(key: key, user: user, position: position, id: id))
      }
      deliveries.add(message, size: header.count + data.count, from: sender, for: addressees)
    }
    return deliveries
  }

  private func end(
    of user: AccountNumber, _ transaction: borrowing Transaction
  ) throws -> (EncryptionPublicKey, DeliveryFacts.Mailbox)? {
    try transaction.one(
      """
      SELECT u.key, q.last_position, q.entries, q.bytes
      FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
      WHERE u.id = ?
      """, user
    ) { row in
      let mailbox = DeliveryFacts.Mailbox(
        user: user, last: try row[1], entries: try row[2], bytes: try row[3], isBound: true)
      return (try row[0], mailbox)
    }
  }

  /// Writes a message into the message log, once for all who get it.
  private func log(
    _ message: DeliveryPlan.Message, _ deliveries: inout PendingDeliveries,
    _ transaction: borrowing Transaction
  ) throws {
    let number =
      try deliveries.next
      ?? transaction.one("SELECT nextval('apptimist_contents_id_seq')") { try $0[0] }
    guard let number else { throw InconsistentMailbox() }
    try transaction.execute(
      """
      INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
      VALUES (?, ?, ?, ?, ?, ?)
      """, number, message.addressees.count, message.sender, Self.bytes(of: message.addressees),
      message.copy.header, message.copy.data)
    deliveries.add(
      number, size: message.size, from: message.sender, for: message.addressees)
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
    let removed = deliveries.remove(for: recipient)
    guard let user = removed.first?.user else { return }
    guard try transaction.exists("SELECT 1 FROM apptimist_queues WHERE owner = ?", user) else {
      // The account was deleted by another program.
      for delivery in removed { try release(delivery.message, transaction) }
      return deliveries.forget(recipient)
    }
    var mailbox = try state(of: user, transaction)
    var holders: [AccountNumber: ShareHolder] = [:]
    for delivery in removed {
      let holder =
        try holders[delivery.sender] ?? holder(for: delivery.sender, in: user, transaction)
      holders[delivery.sender] = holder
      try transaction.execute(
        "INSERT INTO apptimist_message_ids (owner, message_id, position) VALUES (?, ?, ?)", user,
        KnownID(delivery.id), delivery.position)
      try append(
        .message, delivery.id, size: delivery.size, from: holder,
        message: delivery.message, to: &mailbox, transaction)
    }
    try save(&mailbox, transaction)
  }

  // MARK: - Where others change mailboxes too

  /// Locks mailboxes until the end of the transaction, all in the same order, so that positions become visible in theirs.
  func lock(_ users: [EncryptionPublicKey], _ transaction: borrowing Transaction) throws {
    try transaction.forEach(
      """
      SELECT 1
      FROM (
        SELECT u.id FROM generate_series(0, length(?1) / 32 - 1) AS k (i) CROSS JOIN LATERAL (
          SELECT id FROM apptimist_users WHERE key = substr(?1, 32 * k.i + 1, 32) OFFSET 0) u
        ORDER BY u.id) o
      CROSS JOIN LATERAL (
        SELECT 1 FROM apptimist_queues WHERE owner = o.id FOR NO KEY UPDATE) q
      """, users.flatMap(\.bytes)
    ) { _ in }
  }
}

extension Delivered {
  /// Makes the result of a decision; nil for one that has to be planned again.
  init?(_ decision: DeliveryPlan.Decision) {
    switch decision {
    case .delivered(let position): self = .delivered(position)
    case .known(let position): self = .known(position)
    case .unknownRecipient: self = .unknownRecipient
    case .needsRoom: return nil
    }
  }
}
