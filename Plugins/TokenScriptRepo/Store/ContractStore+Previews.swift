internal import FoundationEssentials
internal import HTTPProtocol
internal import Storage
internal import Platform

extension ContractStore {
  /// The room of all previews in bytes.
  private static let previewRoom = 256 << 20
  /// The room that a preview takes at least: one in 1024.
  private static let leastPreview = 256 << 10

  /// Stores a preview. If those that aren't over leave no room, whichever network's previews take most loses its
  /// oldest ones, on all nodes alike.
  ///
  /// - Parameters:
  ///   - preview: the facts about the file.
  ///   - name: the name in its URL.
  ///   - bytes: the file.
  ///   - end: the time at which it is over.
  ///   - network: the client's network, or nil if it has none.
  ///   - now: the present time.
  /// - Throws: ``PublicationRefusal`` if the network has put up too many, or this one takes more than any other network's;
  ///   ``StoreError``.
  func add(
    _ preview: Preview, named name: String, _ bytes: [UInt8], until end: Timestamp,
    from network: String?, at now: Timestamp
  ) async throws {
    let facts = String(decoding: try JSONEncoder().encode(preview), as: UTF8.self)
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try Self.lock(transaction)
      if let wait = try Self.count(.preview, from: network, at: now, transaction) {
        throw PublicationRefusal(tooMany: "previews", retryAfter: wait)
      }
      try transaction.execute(
        """
        INSERT INTO tokenscript_previews (id, size, expires, facts, network, content)
        VALUES (?, ?, ?, ?, ?, ?)
        """, name, max(bytes.count, Self.leastPreview), end, facts, network ?? "", bytes)
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
          throw PublicationRefusal(.insufficientStorage, "there is no room for it today")
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
