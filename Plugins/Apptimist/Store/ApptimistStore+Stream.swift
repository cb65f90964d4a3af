internal import ApptimistProtocol
internal import Cryptography
internal import Storage

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
    try await readQueue(of: user) { user, snapshot in
      var start = StreamPosition.zero
      if !head.isZero {
        start = try position(of: head, in: user, snapshot) ?? .zero
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
    } ?? .zero
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
    try await readQueue(of: user) { number, snapshot in
      let queue = try queue(of: number, snapshot)
      let limit = Swift.max(1, maxEntries)
      let rows = try snapshot.all(
        """
        SELECT position, size, content, message_id FROM apptimist_entries
        WHERE user = ? AND position > ? AND kind <> ? ORDER BY position LIMIT ?
        """, number, position, EntryKind.place, limit
      ) { row in
        (
          position: try row[0] as StreamPosition, size: try row[1] as Int,
          content: try row[2] as Int64?, id: try row[3] as MessageID
        )
      }
      var entries: [StreamEntry] = []
      var bytes = 0
      for row in rows {
        bytes += row.size
        guard entries.isEmpty || bytes <= maxBytes else { break }
        guard let content = try content(row.content, for: user, snapshot) else { break }
        entries.append(StreamEntry(position: row.position, id: row.id, content: content))
      }
      guard entries.count == rows.count, rows.count < limit else {
        return StreamPage(
          entries: entries, end: entries.last?.position ?? position, isLast: false)
      }
      return StreamPage(entries: entries, end: Swift.max(position, queue.last), isLast: true)
    } ?? StreamPage(entries: [], end: position, isLast: true)
  }

  /// What an entry tells its user.
  private func content(
    _ content: Int64?, for user: EncryptionPublicKey, _ snapshot: borrowing Snapshot
  ) throws -> StreamEntry.Content? {
    guard let content else { return .truncation }
    return try snapshot.one("SELECT header, data FROM apptimist_contents WHERE id = ?", content) {
      row in .message(header: PDU.Message.header(try row[0], for: user), data: try row[1])
    }
  }
}
