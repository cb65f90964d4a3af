internal import Formats
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
  let perSite: Int
  let all: Int
  let age: Duration
  let openAge: Duration

  init(_ configuration: TopicConfiguration) {
    perFile = configuration.attachmentBytes
    perAccount = configuration.attachmentsPerAccount
    perAddress = configuration.attachmentsPerAddress
    perSite = configuration.attachmentsPerSite
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
  func begin(_ file: TopicFile, by requester: TopicRequester) async throws -> Bool {
    let account = requester.caller.account
    let network = account == nil ? requester.site ?? "" : nil
    let site = network.flatMap { ClientNetwork(words: $0)?.site }
    return try await store.write { transaction in
      guard try hasRoom(for: file.size, of: requester, transaction) else { return false }
      try transaction.execute(
        """
        INSERT INTO msgr_topic_files
          (name, account, network, site, file_name, type, size, created_at, expires_at, is_whole)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, file.name, account, network, site, file.fileName, file.type, file.size, now,
        now + Self.receiving, false)
      return true
    }
  }

  /// Returns the length of a file that has come whole.
  ///
  /// - Returns: whether its owner may keep so much.
  func resize(_ name: String, to size: Int, by requester: TopicRequester) async throws -> Bool {
    try await store.write { transaction in
      try transaction.execute("UPDATE msgr_topic_files SET size = ? WHERE name = ?", size, name)
      return try hasRoom(for: 0, of: requester, transaction)
    }
  }

  /// Returns whether a requester may keep some bytes more: by the own limit, by that of the site, and as there is room.
  private func hasRoom(
    for bytes: Int, of requester: TopicRequester, _ transaction: borrowing Transaction
  ) throws -> Bool {
    let limit = requester.caller.account == nil ? files.perAddress : files.perAccount
    guard try fileBytes(of: requester, transaction) + bytes <= limit else { return false }
    let all: Int? = try transaction.value(
      "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM msgr_topic_files_sums")
    guard (all ?? 0) + bytes <= files.all else { return false }
    let site =
      if let account = requester.caller.account {
        try msgr.site(of: account, transaction)
      } else {
        requester.site.flatMap { ClientNetwork(words: $0)?.site }
      }
    guard let site else { return true }
    let ofAccounts: Int? = try transaction.value(
      """
      SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT)
      FROM msgr_users u JOIN msgr_topic_files_sums s ON s.account = u.username WHERE u.site = ?
      """, site)
    let ofNobody: Int? = try transaction.value(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM msgr_topic_files_sums WHERE site = ?
      """, site)
    return (ofAccounts ?? 0) + (ofNobody ?? 0) + bytes <= files.perSite
  }

  /// Returns the bytes of files that are kept for an account, or for an address without one.
  func fileBytes(
    of requester: TopicRequester, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Int {
    try database.value(
      "SELECT bytes FROM msgr_topic_files_sums WHERE owner = ?", requester.limitKey) ?? 0
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
        SELECT name, file_name, type, size, expires_at, account, network FROM msgr_topic_files
        WHERE name = ? AND is_whole = 1 AND expires_at > ?
        """, name, now
      ) { row in
        let account: String? = try row[5]
        let network: String? = try row[6]
        return TopicFile(
          name: try row[0], fileName: try row[1], type: try row[2], size: try row[3],
          expires: try row[4], limitKey: account.map { "a\($0)" } ?? "n\(network ?? "")")
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

/// The media type of a file: by its first bytes, then its name. Whatever a browser might run is a stream of bytes.
enum TopicFileTypes {
  static let unknown = "application/octet-stream"

  private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
    (0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    (0, [0xff, 0xd8, 0xff], "image/jpeg"),
    (0, Array("GIF87a".utf8), "image/gif"),
    (0, Array("GIF89a".utf8), "image/gif"),
    (8, Array("WEBP".utf8), "image/webp"),
    (8, Array("WAVE".utf8), "audio/wav"),
    (8, Array("AVI ".utf8), "video/x-msvideo"),
    (4, Array("ftypavif".utf8), "image/avif"),
    (4, Array("ftypheic".utf8), "image/heic"),
    (4, Array("ftypM4A".utf8), "audio/mp4"),
    (4, Array("ftyp".utf8), "video/mp4"),
    (0, Array("%PDF-".utf8), "application/pdf"),
    (0, Array("OggS".utf8), "audio/ogg"),
    (0, Array("fLaC".utf8), "audio/flac"),
    (0, Array("ID3".utf8), "audio/mpeg"),
    (0, [0xff, 0xfb], "audio/mpeg"),
    (0, [0x1a, 0x45, 0xdf, 0xa3], "video/webm"),
    (0, [0x50, 0x4b, 0x03, 0x04], "application/zip"),
    (0, [0x1f, 0x8b], "application/gzip"),
    (0, [0x28, 0xb5, 0x2f, 0xfd], "application/zstd"),
    (0, [0xfd, 0x37, 0x7a, 0x58, 0x5a], "application/x-xz"),
    (0, Array("BZh".utf8), "application/x-bzip2"),
    (0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], "application/x-7z-compressed"),

  ]

  /// The types of names that have no signature.
  private static let extensions = [
    "txt": "text/plain", "log": "text/plain", "md": "text/plain", "csv": "text/plain",
    "json": "text/plain", "yaml": "text/plain", "yml": "text/plain", "conf": "text/plain",
    "ini": "text/plain", "diff": "text/plain", "patch": "text/plain", "mp3": "audio/mpeg",
    "tar": "application/x-tar", "apk": "application/vnd.android.package-archive",
  ]

  /// Returns the type of a file.
  ///
  /// - Parameters:
  ///   - head: its first bytes.
  ///   - name: its name.
  static func type(of head: some Collection<UInt8>, named name: String) -> String {
    let head = Array(head.prefix(512))
    for signature in signatures
    where head.dropFirst(signature.offset).starts(with: signature.bytes) {
      return signature.type
    }
    // The four bytes behind the length are reserved; without them many a text would be a picture.
    if head.starts(with: "BM".utf8), head.dropFirst(6).prefix(4).elementsEqual([0, 0, 0, 0]) {
      return "image/bmp"
    }
    let isText = !head.contains(0) && isUTF8Start(head)
    guard let dot = name.lastIndex(of: ".") else { return isText ? "text/plain" : unknown }
    let type = extensions[name[name.index(after: dot)...].lowercased()] ?? unknown
    return type == "text/plain" && !isText ? unknown : type
  }

  /// Returns whether bytes are the start of a text, whose last character may be cut.
  private static func isUTF8Start(_ bytes: [UInt8]) -> Bool {
    (0..<4).contains { cut in String(validating: bytes.dropLast(cut), as: UTF8.self) != nil }
  }

  /// Returns the extension that a file's address has: letters and digits of the name's, else one of the type's.
  static func pathExtension(of name: String, type: String) -> String {
    if let dot = name.lastIndex(of: ".") {
      let ending = name[name.index(after: dot)...].lowercased()
      if (1...10).contains(ending.utf8.count), ending.utf8.allSatisfy(\.isLetterOrDigit) {
        return ending
      }
    }
    return type.hasPrefix("text/") ? "txt" : "bin"
  }
}
