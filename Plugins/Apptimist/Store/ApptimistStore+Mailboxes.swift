internal import ApptimistProtocol
internal import Cryptography
internal import Storage

extension ApptimistStore {
  /// Delivers messages to their recipients, as ``DeliveryStrategy`` does.
  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin,
    if forums: [EncryptionPublicKey: Forum] = [:]
  ) async -> [Result<DeliveredPiece, any Error>] {
    await deliveries.deliver(pieces, from: login, if: forums)
  }

  /// Deletes a message's content from a user's mailbox; its place stays, and the stream reports it.
  ///
  /// - Parameter login: of the user who asks for it; nothing is changed if it holds no more.
  /// - Returns: the result, and the nodes to be notified of a new truncation.
  func truncate(
    _ id: MessageID, of login: AccountLogin
  ) async throws -> (truncation: Truncation, nodes: [NodeID]) {
    try await deliveries.write(isolation: .rowLocks) {
      pending, transaction -> (truncation: Truncation, nodes: [NodeID]) in
      guard let number = try account(of: login, transaction) else { return (.never, []) }
      try deliveries.lock(mailboxOf: number, transaction)
      try mailboxes.flush(login.user, &pending, transaction)
      pending.forget(login.user)
      let known = try transaction.one(
        """
        SELECT position, is_truncated FROM apptimist_message_ids WHERE owner = ? AND message_id = ?
        """, number, KnownID(id)
      ) { row in (position: try row[0] as MailboxPosition, isTruncated: try row[1] as Bool) }
      guard let known else { return (.never, []) }
      guard !known.isTruncated else { return (.again, []) }
      var mailbox = try mailboxes.state(of: number, transaction)
      try transaction.execute(
        """
        UPDATE apptimist_message_ids SET is_truncated = 1, truncated_at = ?
        WHERE owner = ? AND message_id = ?
        """, mailbox.last.next, number, KnownID(id))
      try mailboxes.clear(known.position, in: &mailbox, transaction)
      // It is the user's own doing, and counts as such.
      let holder = ShareHolder(contact: number)
      _ = try mailboxes.makeRoom(
        for: Mailboxes.truncationSize, from: holder, in: &mailbox, transaction)
      try mailboxes.append(
        .truncation, id, size: Mailboxes.truncationSize, from: holder, message: nil, to: &mailbox,
        transaction)
      try mailboxes.save(&mailbox, transaction)
      return (.first(mailbox.last), try deliveries.nodes(of: number, transaction))
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
    try await deliveries.flush(user)
    return try await store.read { snapshot in
      guard let user = try userNumber(of: user, snapshot) else { return nil }
      return try body(user, snapshot)
    }
  }

  /// Puts all that is pending for anybody into the mailboxes.
  func flushAll() async throws {
    try await deliveries.write(isolation: .serializable) { [mailboxes] pending, transaction in
      try mailboxes.flushAll(&pending, transaction)
    }
  }
}

extension ApptimistStore {
  /// Looks up where a stream starts (page "Messages").
  ///
  /// A message that has lost its content, or even its place, is still known.
  ///
  /// - Parameters:
  ///   - user: the user whose stream it is.
  ///   - head: the last message that the device has, or zero if it has none.
  ///   - max: the number of places to look back at most, or 0 for no limit.
  /// - Returns: the position behind which the stream starts.
  func start(
    of user: EncryptionPublicKey, head: MessageID, max: Int
  ) async throws -> MailboxPosition {
    try await readMailbox(of: user) { user, snapshot in
      let start = try head.isZero ? nil : mailboxes.position(of: head, in: user, snapshot)
      return try notBefore(max, start ?? .zero, in: user, snapshot)
    } ?? .zero
  }

  /// Moves a start up to the newest messages, if it lies further back than wanted.
  func notBefore(
    _ max: Int, _ start: MailboxPosition, in user: AccountNumber, _ snapshot: borrowing Snapshot
  ) throws -> MailboxPosition {
    guard max > 0 else { return start }
    let earliest: MailboxPosition? = try snapshot.value(
      """
      SELECT position FROM apptimist_entries WHERE owner = ? AND kind <> ?
      ORDER BY position DESC LIMIT 1 OFFSET ?
      """, user, EntryKind.truncation, max - 1)
    return earliest.map { Swift.max(start, $0.previous) } ?? start
  }

  /// Reads the entries behind a position: one, if there is any, and as many more as fit.
  ///
  /// - Parameters:
  ///   - user: the user whose mailbox it is.
  ///   - maxBytes: the most bytes of headers and data that are read, unless the first entry has more.
  ///   - maxEntries: the most entries that are read, at least 1.
  ///   - login: the login of the session that reads, or nil if none does.
  func page(
    of user: EncryptionPublicKey, after position: MailboxPosition, maxBytes: Int, maxEntries: Int,
    login: AccountLogin? = nil
  ) async throws -> MailboxPage {
    try await deliveries.flush(user)
    let limit = Swift.max(1, maxEntries)
    return try await store.read(isOneQuery: true) { snapshot in
      var page = PageInProgress(behind: position, of: user, login, maxBytes, limit)
      do {
        // The contents behind a page's end aren't read, and PostgreSQL, which sends all rows, sends one more at most.
        try snapshot.forEach(
          """
          SELECT q.last_position, e.position, e.message_id, e.content, e.size, c.header, c.data,
            u.authentication_key, u.is_closed
          FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
            LEFT JOIN (
              SELECT position, message_id, content, size, sum(size) OVER (ORDER BY position) AS bytes,
                row_number() OVER (ORDER BY position) AS place
              FROM (
                SELECT position, message_id, content, size FROM apptimist_entries
                WHERE owner = (SELECT id FROM apptimist_users WHERE key = ?1 AND kind = ?2)
                  AND position > ?3 AND kind <> ?4 ORDER BY position LIMIT ?5
              ) AS wanted
            ) AS e ON e.bytes - e.size <= ?6 OR e.place <= 2
            LEFT JOIN /*postgresql LATERAL (SELECT id, header, data FROM */ apptimist_contents
              /*postgresql x WHERE x.id = e.content OFFSET 0) */ c ON c.id = e.content
          WHERE u.key = ?1 AND u.kind = ?2 ORDER BY e.position
          """, user, StoredKind.user, position, EntryKind.place, limit, maxBytes
        ) { row in try page.append(row) }
      } catch is PageInProgress.Full {}
      return page.page
    }
  }
}

/// A page while its entries are read, in the order of their positions.
private struct PageInProgress {
  /// The error that ends a query whose further rows don't belong to the page.
  struct Full: Error {}

  /// The page so far.
  private(set) var page: MailboxPage
  private let user: EncryptionPublicKey
  private let login: AccountLogin?
  private let maxBytes: Int
  private let limit: Int
  private var bytes = 0

  init(
    behind position: MailboxPosition, of user: EncryptionPublicKey, _ login: AccountLogin?,
    _ maxBytes: Int, _ limit: Int
  ) {
    page = MailboxPage(entries: [], end: position, isLast: true)
    self.user = user
    self.login = login
    self.maxBytes = maxBytes
    self.limit = limit
  }

  /// Appends the entry of the next row.
  ///
  /// - Throws: ``Full`` if its entry doesn't belong to the page, or the error of a column.
  mutating func append(_ row: borrowing Row) throws {
    let last: MailboxPosition = try row[0]
    if let login, !login.holds(authenticationKey: try row[7], isClosed: try row[8]) {
      page.isForbidden = true
      throw Full()
    }
    guard let position: MailboxPosition = try row[1] else {
      page.end = max(page.end, last)
      return
    }
    let message: LogNumber? = try row[3]
    let header: [UInt8]? = try row[5]
    bytes &+= try row[4] as Int
    // A truncation has no content. A message without its content is never passed over.
    guard page.entries.isEmpty || bytes <= maxBytes, message == nil || header != nil else {
      page.isLast = false
      page.end = page.entries.last?.position ?? page.end
      throw Full()
    }
    let content: MailboxEntry.Content =
      if let header {
        .message(header: PDU.Message.header(header, for: user), data: try row[6])
      } else { .truncation }
    page.entries.append(MailboxEntry(position: position, id: try row[2], content: content))
    page.isLast = page.entries.count < limit
    page.end = page.isLast ? max(position, last) : position
  }
}

/// A position that a device has acknowledged.
struct Acknowledgement: Sendable {
  /// A user's device.
  struct Device: Hashable, Sendable {
    let user: EncryptionPublicKey
    let id: Version2.DeviceID
  }

  let device: Device
  let position: MailboxPosition
}

extension ApptimistStore {
  /// Keeps what devices have acknowledged; a lower position than before changes nothing.
  func acknowledge(_ acknowledgements: [Acknowledgement]) async throws {
    let cancelled = try await store.write { transaction in
      var cancelled = 0
      for acknowledgement in acknowledgements {
        guard let user = try userNumber(of: acknowledgement.device.user, transaction) else {
          continue
        }
        try transaction.execute(
          """
          INSERT INTO apptimist_devices (owner, device, position, used) VALUES (?1, ?2, ?3,
            1 + coalesce((SELECT max(used) FROM apptimist_devices WHERE owner = ?1), 0))
          ON CONFLICT (owner, device)
          DO UPDATE SET used = excluded.used, position = CASE
            WHEN apptimist_devices.position < excluded.position THEN excluded.position
            ELSE apptimist_devices.position END
          """, user, acknowledgement.device.id, acknowledgement.position)
        try transaction.execute(
          """
          DELETE FROM apptimist_devices WHERE owner = ?1 AND used <=
            (SELECT used FROM apptimist_devices WHERE owner = ?1 ORDER BY used DESC LIMIT 1 OFFSET ?2)
          """, user, limits.devices)
        cancelled +=
          try mailboxes.wakes?.show(
            upTo: acknowledgement.position, acknowledgement.device.id, of: user, transaction) ?? 0
      }
      return cancelled
    }
    mailboxes.wakes?.report(0, cancelled, false)
  }

  /// Looks up the place at which a device's stream begins (page "The stream").
  ///
  /// - Returns: nil if there is no such user.
  func beginning(_ request: StreamRequest) async throws -> StreamStart? {
    try await readMailbox(of: request.user) { user, snapshot in
      let epoch = try Self.epoch(snapshot)
      let last = try mailboxes.state(of: user, snapshot).last
      let first: MailboxPosition? = try snapshot.value(
        "SELECT position FROM apptimist_entries WHERE owner = ? ORDER BY position LIMIT 1", user)
      let start: MailboxPosition
      if let after = request.after {
        // A place that nobody was given is of another history, too.
        let has = MailboxPosition(rawValue: Int64(clamping: after))
        start = request.epoch == epoch && has <= last ? has : .zero
      } else {
        let acknowledged: MailboxPosition? = try snapshot.value(
          "SELECT position FROM apptimist_devices WHERE owner = ? AND device = ?", user,
          request.device)
        let head =
          try acknowledged == nil && !request.head.isZero
          ? mailboxes.position(of: request.head, in: user, snapshot) : nil
        start = acknowledged ?? head ?? .zero
      }
      return StreamStart(
        epoch: epoch, first: first ?? last.next, last: last,
        start: try notBefore(request.max, min(start, last), in: user, snapshot),
        isClosed: try Self.isClosed(user, snapshot))
    }
  }

  /// Records that a device was used, so that others are forgotten before it.
  func use(_ device: Acknowledgement.Device) async throws {
    let isLatest: Bool? = try await store.read { snapshot in
      guard let user = try userNumber(of: device.user, snapshot) else { return nil }
      return try snapshot.value(
        """
        SELECT used = (SELECT max(used) FROM apptimist_devices WHERE owner = ?1)
        FROM apptimist_devices WHERE owner = ?1 AND device = ?2
        """, user, device.id)
    }
    guard isLatest == false else { return }
    try await acknowledge([Acknowledgement(device: device, position: .zero)])
  }

  /// Returns the epoch of the positions, which is the history of the store.
  func epoch() async throws -> UInt64 { try await store.read { try Self.epoch($0) } }

  private static func epoch(_ snapshot: borrowing Snapshot) throws -> UInt64 {
    UInt64(bitPattern: try snapshot.history())
  }

  /// Looks up the position at which a user's stream reports a truncation; zero if it is not known.
  func truncation(of id: MessageID, user: EncryptionPublicKey) async throws -> MailboxPosition {
    try await store.read { snapshot in
      guard let number = try userNumber(of: user, snapshot) else { return .zero }
      let position: MailboxPosition?? = try snapshot.value(
        "SELECT truncated_at FROM apptimist_message_ids WHERE owner = ? AND message_id = ?", number,
        KnownID(id))
      return (position ?? nil) ?? .zero
    }
  }
}
