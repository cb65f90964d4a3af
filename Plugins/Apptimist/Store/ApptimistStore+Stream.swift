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
    try await flush(user)
    let limit = Swift.max(1, maxEntries)
    return try await store.read(isOneQuery: true) { snapshot in
      var page = StreamPage(entries: [], end: position, isLast: true)
      // Of the entries that there are, those that fit; a truncation has no content.
      try snapshot.forEach(
        """
        SELECT q.last_position, e.position, e.message_id, e.content, e.found, c.header, c.data
        FROM apptimist_users u JOIN apptimist_queues q ON q.owner = u.id
          LEFT JOIN (
            SELECT position, message_id, content, size, count(*) OVER () AS found,
              sum(size) OVER (ORDER BY position) AS bytes
            FROM (
              SELECT position, message_id, content, size FROM apptimist_entries
              WHERE owner = (SELECT id FROM apptimist_users WHERE key = ?1 AND kind = ?2)
                AND position > ?3 AND kind <> ?4 ORDER BY position LIMIT ?5
            ) AS wanted
          ) AS e ON e.bytes <= ?6 OR e.bytes = e.size
          LEFT JOIN apptimist_contents c ON c.id = e.content
        WHERE u.key = ?1 AND u.kind = ?2 ORDER BY e.position
        """, user, StoredKind.user, position, EntryKind.place, limit, maxBytes
      ) { row in
        guard let place: StreamPosition = try row[1] else {
          page.end = Swift.max(position, try row[0])
          return
        }
        let message: LogNumber? = try row[3]
        let header: [UInt8]? = try row[5]
        guard message == nil || header != nil else { return }
        let content: StreamEntry.Content =
          if let header {
            .message(header: PDU.Message.header(header, for: user), data: try row[6])
          } else { .truncation }
        page.entries.append(StreamEntry(position: place, id: try row[2], content: content))
        let found: Int = try row[4]
        page.isLast = page.entries.count == found && found < limit
        page.end = page.isLast ? Swift.max(position, try row[0]) : place
      }
      return page
    }
  }
}
