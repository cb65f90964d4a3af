internal import Platform
internal import Storage

// Files beside messages, in pieces, so that none is ever whole in memory.

/// A file that is kept.
struct TopicFile: Sendable {
  /// The length of a name without its extension.
  static let nameLength = 32
  /// The bytes of a piece.
  static let pieceSize = 256 << 10

  let name: String
  let fileName: String
  let type: String
  let size: Int
  let expires: Timestamp
  /// The uploader, as limits count.
  let limitKey: String
}

/// The limits of files.
struct TopicFileLimits: Sendable {
  let perFile: Int
  let perAccount: Int
  let perAddress: Int
  let all: Int
  let age: Duration
  let openAge: Duration

  init(_ configuration: TopicConfiguration) {
    perFile = configuration.attachmentBytes
    perAccount = configuration.attachmentsPerAccount
    perAddress = configuration.attachmentsPerAddress
    all = configuration.attachments
    age = configuration.attachmentAge
    openAge = configuration.openAttachmentAge
  }
}

extension TopicStore {
  /// The time after which a file that was never received whole goes.
  private static let receiving = Duration.seconds(3600)

  /// Makes room for a file, which has no content yet.
  ///
  /// - Returns: whether its owner may keep so many bytes more.
  func begin(
    _ file: TopicFile, by requester: TopicRequester, upTo limits: TopicFileLimits
  ) async throws -> Bool {
    let account = requester.caller.account
    let site = account == nil ? requester.site ?? "" : nil
    return try await store.write { transaction in
      let own: Int? =
        if let account {
          try transaction.value(
            "SELECT coalesce(CAST(sum(size) AS BIGINT), 0) FROM msgr_topic_files WHERE account = ?",
            account)
        } else {
          try transaction.value(
            "SELECT coalesce(CAST(sum(size) AS BIGINT), 0) FROM msgr_topic_files WHERE site = ?",
            site)
        }
      let all: Int? = try transaction.value(
        "SELECT coalesce(CAST(sum(size) AS BIGINT), 0) FROM msgr_topic_files")
      let share = account == nil ? limits.perAddress : limits.perAccount
      guard (own ?? 0) + file.size <= share, (all ?? 0) + file.size <= limits.all else {
        return false
      }
      try transaction.execute(
        """
        INSERT INTO msgr_topic_files
          (name, account, site, file_name, type, size, created_at, expires_at, is_whole)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, file.name, account, site, file.fileName, file.type, file.size, now,
        now + Self.receiving, false)
      return true
    }
  }

  /// Stores a piece of a file.
  func append(_ piece: [UInt8], _ number: Int, to name: String) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "INSERT INTO msgr_topic_file_pieces (name, number, content) VALUES (?, ?, ?)", name, number,
        piece)
    }
  }

  /// Removes a file that isn't wanted after all.
  func discard(_ name: String) async throws {
    try await store.write { transaction in
      try transaction.execute("DELETE FROM msgr_topic_files WHERE name = ?", name)
    }
  }

  /// Gives a file that was received whole to the entry whose file it is.
  func attach(
    _ name: String, to entry: String, from moment: Timestamp, _ topic: LockedTopic,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE msgr_topic_files SET entry = ?, is_whole = ?, expires_at = ? WHERE name = ?
      """, entry, true, moment + fileAge(isOpen: topic.facts.owner == nil), name)
  }

  /// Keeps a file that was received whole, for a message to inboxes.
  func keep(_ name: String) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_topic_files SET is_whole = ?, expires_at = ? WHERE name = ?", true,
        now + fileAge(isOpen: false), name)
    }
  }

  /// The time for which a file is kept.
  func fileAge(isOpen: Bool) -> Duration { isOpen ? files.openAge : files.age }

  /// Returns a file that is there whole; nil if there is none.
  func file(_ name: String) async throws -> TopicFile? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        """
        SELECT name, file_name, type, size, expires_at, account, site FROM msgr_topic_files
        WHERE name = ? AND is_whole = 1 AND expires_at > ?
        """, name, now
      ) { row in
        let account: String? = try row[5]
        let site: String? = try row[6]
        return TopicFile(
          name: try row[0], fileName: try row[1], type: try row[2], size: try row[3],
          expires: try row[4], limitKey: account.map { "a\($0)" } ?? "n\(site ?? "")")
      }
    }
  }

  /// Returns a piece of a file; nil if it isn't there any more.
  func piece(_ number: Int, of name: String) async throws -> [UInt8]? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value(
        "SELECT content FROM msgr_topic_file_pieces WHERE name = ? AND number = ?", name, number)
    }
  }
}
