internal import FoundationEssentials
internal import Platform
internal import Storage

extension ContractStore {
  /// The room of all previews in bytes.
  private static let previewRoom = 256 << 20
  /// The room that a preview takes at least: one in 1024.
  private static let leastPreview = 256 << 10

  /// Stores a preview. If those that aren't over leave no room, whichever client's previews take most loses its
  /// oldest ones, on all nodes alike.
  ///
  /// - Parameters:
  ///   - client: the client's ``ClientNetwork/subscriber``, or nil if it has none.
  /// - Throws: ``PublicationRefusal`` if this one takes more than any other client's;
  ///   ``StoreError``.
  func add(
    _ preview: Preview, named name: String, _ bytes: [UInt8], until end: Timestamp,
    from client: String?, at now: Timestamp
  ) async throws {
    let facts = String(decoding: try JSONEncoder().encode(preview), as: UTF8.self)
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try Self.lock(transaction)
      try transaction.execute(
        """
        INSERT INTO tokenscript_previews (id, size, expires, facts, network, content)
        VALUES (?, ?, ?, ?, ?, ?)
        """, name, max(bytes.count, Self.leastPreview), end, facts, client ?? "", bytes)
      while try Self.previewRoomUsed(at: now, transaction) > Self.previewRoom {
        // The index has the networks: where they are looked for, no content is read.
        let lost: String? = try transaction.value(
          """
          DELETE FROM tokenscript_previews WHERE id = (
            SELECT id FROM tokenscript_previews WHERE network = (
              SELECT network FROM tokenscript_previews WHERE expires > ?2
              GROUP BY network ORDER BY sum(size) DESC, min(expires) LIMIT 1) AND expires > ?2
            ORDER BY id = ?1, expires LIMIT 1) RETURNING id
          """, name, now)
        guard lost != name else {
          throw PublicationRefusal(.noRoom, "there is no room for it today")
        }
      }
    }
  }

  private static func previewRoomUsed(
    at now: Timestamp, _ transaction: borrowing Transaction
  ) throws -> Int {
    try transaction.value(
      "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM tokenscript_previews WHERE expires > ?",
      now) ?? 0
  }

  /// Returns the facts about a preview, or nil if there is none that isn't over.
  ///
  /// - Throws: ``StoreError``.
  func preview(named name: String, at now: Timestamp) async throws -> Preview? {
    let facts: String? = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        "SELECT facts FROM tokenscript_previews WHERE id = ? AND expires > ?", name, now)
    }
    return try facts.map { try JSONDecoder().decode(Preview.self, from: Data($0.utf8)) }
  }

  /// Returns the bytes of a preview, or nil if there is none.
  ///
  /// - Throws: ``StoreError``.
  func bytes(ofPreview name: String) async throws -> [UInt8]? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one("SELECT content FROM tokenscript_previews WHERE id = ?", name) { try $0[0] }
    }
  }

  /// Deletes the previews that are over.
  ///
  /// - Throws: ``StoreError``.
  func deletePreviews(over now: Timestamp) async throws {
    try await store.write { transaction in
      try transaction.execute("DELETE FROM tokenscript_previews WHERE expires <= ?", now)
    }
  }
}

extension ContractStore {
  /// The requests of a client that are counted on all nodes together, and the verifications of a reported file.
  enum CountedRequest: String, DatabaseValueConvertible, Sendable {
    case publication, preview, report, verification

    /// The most requests of an hour, where one address stands for some users.
    func limit(ofUsers users: Int) -> Int {
      switch self {
      case .publication: 30 * users
      case .preview, .report: 10 * users
      // It counts by file.
      case .verification: 1
      }
    }
  }

  /// The time for which a request counts, in milliseconds.
  private static let span: Int64 = 3_600_000

  /// Counts a request in a transaction that holds the lock.
  ///
  /// - Parameters:
  ///   - client: the client's ``ClientNetwork/subscriber``, or a file's digest; requests without one are not counted.
  /// - Returns: nil, or the seconds to wait if the client has had too many, at least one.
  func count(
    _ request: CountedRequest, from client: String?, at now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Int? {
    guard let client else { return nil }
    let limit = request.limit(ofUsers: usersPerAddress)
    let start = now.milliseconds - Self.span
    try transaction.execute("DELETE FROM tokenscript_requests WHERE time <= ?", start)
    let times: [Int64] = try transaction.values(
      "SELECT time FROM tokenscript_requests WHERE kind = ? AND network = ? ORDER BY time",
      request, client)
    if times.count >= limit {
      return max(1, Int((times[times.count - limit] - start + 999) / 1000))
    }
    try transaction.execute(
      "INSERT INTO tokenscript_requests VALUES (?, ?, ?)", request, client, now.milliseconds)
    return nil
  }

  /// Counts a request, on all nodes together.
  ///
  /// - Returns: nil, or the seconds to wait if the client has had too many, at least one.
  /// - Throws: ``StoreError``.
  func count(
    _ request: CountedRequest, from client: String?, at now: Timestamp
  ) async throws -> Int? {
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try Self.lock(transaction)
      return try count(request, from: client, at: now, transaction)
    }
  }
}
