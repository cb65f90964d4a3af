internal import FoundationEssentials
internal import HTTPProtocol
internal import Storage
internal import Time

extension ContractStore {
  /// The largest number of previews.
  private static let previewLimit = 1000
  /// The largest number of bytes of all previews.
  private static let previewBytes = 256 << 20

  /// Stores a preview, and deletes those that are over.
  ///
  /// - Parameters:
  ///   - preview: the facts about the file.
  ///   - name: the name in its URL.
  ///   - bytes: the file.
  ///   - end: the time at which it is over.
  ///   - network: the client's network, or nil if it has none.
  ///   - now: the present time.
  /// - Throws: ``PublicationRefusal`` if the network has put up too many, or all take too much room; ``StoreError``.
  func add(
    _ preview: Preview, named name: String, _ bytes: [UInt8], until end: Timestamp,
    from network: String?, at now: Timestamp
  ) async throws {
    let facts = String(decoding: try JSONEncoder().encode(preview), as: UTF8.self)
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try Self.lock(transaction)
      try transaction.execute("DELETE FROM tokenscript_previews WHERE expires <= ?", now)
      if let wait = try Self.count(.preview, from: network, at: now, transaction) {
        throw PublicationRefusal(tooMany: "previews", retryAfter: wait)
      }
      let used: (count: Int, bytes: Int)? = try transaction.one(
        "SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM tokenscript_previews"
      ) { (try $0[0], try $0[1]) }
      if let used, used.count >= Self.previewLimit || used.bytes + bytes.count > Self.previewBytes {
        throw PublicationRefusal(.insufficientStorage, "there is no room for more previews today")
      }
      try transaction.execute(
        "INSERT INTO tokenscript_previews (id, size, expires, facts, content) VALUES (?, ?, ?, ?, ?)",
        name, bytes.count, end, facts, bytes)
    }
  }

  /// Returns the facts about a preview, or nil if there is none that isn't over.
  ///
  /// - Throws: ``StoreError``.
  func preview(named name: String, at now: Timestamp) async throws -> Preview? {
    let facts: String? = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        "SELECT facts FROM tokenscript_previews WHERE id = ? AND expires > ?", name, now
      ) { try $0[0] }
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
