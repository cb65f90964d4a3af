import ApptimistProtocol
import Cryptography
import Storage

/// What a stream tells: a message or a truncation.
struct StreamEntry: Hashable, Sendable {
  enum Content: Hashable, Sendable {
    /// The header in clear, and the data as it is boxed.
    case message(header: [UInt8], data: [UInt8])
    case truncation
  }

  let position: StreamPosition
  let id: MessageID
  let content: Content
}

/// Some of a queue's entries, in order.
struct StreamPage: Hashable, Sendable {
  let entries: [StreamEntry]
  /// Behind which to go on.
  let end: StreamPosition
  /// Whether the queue had nothing more.
  let isLast: Bool
}

extension ApptimistStore {
  /// Behind which position a stream starts (page "Messages").
  ///
  /// A message that has lost its content, or even its place, is known still.
  ///
  /// - Parameters:
  ///   - user: whose stream it is.
  ///   - head: the last message that the device has; zero: none.
  ///   - max: not to look back further than so many places; 0: no limit.
  func start(
    of user: EncryptionPublicKey, head: MessageID, max: Int
  ) async throws -> StreamPosition {
    try await store.read { snapshot in
      guard let user = try userNumber(of: user, snapshot) else { return .zero }
      var start = StreamPosition.zero
      if !head.isZero {
        start =
          try snapshot.one(
            "SELECT position FROM apptimist_message_ids WHERE user = ? AND message_id = ?", user,
            head
          ) { try $0[0] } ?? .zero
      }
      if max > 0 {
        let earliest: StreamPosition? = try snapshot.one(
          """
          SELECT position FROM apptimist_entries WHERE user = ? AND kind <> ?
          ORDER BY position DESC LIMIT 1 OFFSET ?
          """, user, EntryKind.truncation, max - 1
        ) { try $0[0] }
        if let earliest { start = Swift.max(start, earliest.previous) }
      }
      return start
    }
  }

  /// Reads the entries behind a position: one, if there is any, and as many more as fit.
  ///
  /// - Parameters:
  ///   - user: whose queue it is.
  ///   - position: the start or another page's end.
  ///   - maxBytes: how many bytes of headers and data are read, unless the first entry has more.
  ///   - maxEntries: how many entries are read, at least 1.
  func page(
    of user: EncryptionPublicKey, after position: StreamPosition, maxBytes: Int, maxEntries: Int
  ) async throws -> StreamPage {
    try await store.read { snapshot in
      guard let queue = try queue(of: user, snapshot) else {
        return StreamPage(entries: [], end: position, isLast: true)
      }
      let limit = Swift.max(1, maxEntries)
      let rows = try snapshot.all(
        """
        SELECT position, size, message FROM apptimist_entries
        WHERE user = ? AND position > ? AND kind <> ? ORDER BY position LIMIT ?
        """, queue.user, position, EntryKind.place, limit
      ) { row in
        (
          position: try row[0] as StreamPosition, size: try row[1] as Int,
          message: try row[2] as Int64
        )
      }
      var entries: [StreamEntry] = []
      var bytes = 0
      for row in rows {
        bytes += row.size
        guard entries.isEmpty || bytes <= maxBytes else { break }
        guard let entry = try self.entry(row.message, at: row.position, snapshot) else { break }
        entries.append(entry)
      }
      guard entries.count == rows.count, rows.count < limit else {
        return StreamPage(
          entries: entries, end: entries.last?.position ?? position, isLast: false)
      }
      return StreamPage(entries: entries, end: Swift.max(position, queue.last), isLast: true)
    }
  }

  private func entry(
    _ message: Int64, at position: StreamPosition, _ snapshot: borrowing Snapshot
  ) throws -> StreamEntry? {
    try snapshot.one(
      """
      SELECT m.message_id, m.header, coalesce(m.data, b.data)
      FROM apptimist_messages m LEFT JOIN apptimist_bodies b ON b.id = m.body WHERE m.id = ?
      """, message
    ) { row in
      let header: [UInt8]? = try row[1]
      let data: [UInt8]? = try row[2]
      let content = header.map { StreamEntry.Content.message(header: $0, data: data ?? []) }
      return StreamEntry(position: position, id: try row[0], content: content ?? .truncation)
    }
  }

  /// The last position that a user's queue has given away.
  func lastPosition(of user: EncryptionPublicKey) async throws -> StreamPosition {
    try await store.read { snapshot in try queue(of: user, snapshot)?.last ?? .zero }
  }
}
