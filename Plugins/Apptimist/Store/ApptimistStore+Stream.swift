internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Storage

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
  ) async throws -> StreamPosition {
    try await readMailbox(of: user) { user, snapshot in
      let start = try head.isZero ? nil : position(of: head, in: user, snapshot)
      return try notBefore(max, start ?? .zero, in: user, snapshot)
    } ?? .zero
  }

  /// Moves a start up to the newest messages, if it lies further back than wanted.
  func notBefore(
    _ max: Int, _ start: StreamPosition, in user: AccountNumber, _ snapshot: borrowing Snapshot
  ) throws -> StreamPosition {
    guard max > 0 else { return start }
    let earliest: StreamPosition? = try snapshot.one(
      """
      SELECT position FROM apptimist_entries WHERE owner = ? AND kind <> ?
      ORDER BY position DESC LIMIT 1 OFFSET ?
      """, user, EntryKind.truncation, max - 1
    ) { try $0[0] }
    return earliest.map { Swift.max(start, $0.previous) } ?? start
  }

  /// Reads the entries behind a position: one, if there is any, and as many more as fit.
  ///
  /// - Parameters:
  ///   - user: the user whose mailbox it is.
  ///   - position: the start or another page's end.
  ///   - maxBytes: the most bytes of headers and data that are read, unless the first entry has more.
  ///   - maxEntries: the most entries that are read, at least 1.
  func page(
    of user: EncryptionPublicKey, after position: StreamPosition, maxBytes: Int, maxEntries: Int
  ) async throws -> StreamPage {
    try await readMailbox(of: user) { number, snapshot in
      let mailbox = try mailbox(of: number, snapshot)
      let limit = Swift.max(1, maxEntries)
      let rows = try snapshot.all(
        """
        SELECT position, size, content, message_id FROM apptimist_entries
        WHERE owner = ? AND position > ? AND kind <> ? ORDER BY position LIMIT ?
        """, number, position, EntryKind.place, limit
      ) { row in
        (
          position: try row[0] as StreamPosition, size: try row[1] as Int,
          message: try row[2] as LogNumber?, id: try row[3] as MessageID
        )
      }
      var entries: [StreamEntry] = []
      var bytes = 0
      for row in rows {
        bytes &+= row.size
        guard entries.isEmpty || bytes <= maxBytes else { break }
        guard let content = try content(row.message, for: user, snapshot) else { break }
        entries.append(StreamEntry(position: row.position, id: row.id, content: content))
      }
      guard entries.count == rows.count, rows.count < limit else {
        return StreamPage(
          entries: entries, end: entries.last?.position ?? position, isLast: false)
      }
      return StreamPage(entries: entries, end: Swift.max(position, mailbox.last), isLast: true)
    } ?? StreamPage(entries: [], end: position, isLast: true)
  }

  /// Reads the content of an entry, as its user gets it.
  private func content(
    _ message: LogNumber?, for user: EncryptionPublicKey, _ snapshot: borrowing Snapshot
  ) throws -> StreamEntry.Content? {
    guard let message else { return .truncation }
    return try snapshot.one("SELECT header, data FROM apptimist_contents WHERE id = ?", message) {
      row in .message(header: PDU.Message.header(try row[0], for: user), data: try row[1])
    }
  }
}
