internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// The directory of a user or a forum.
struct StoredDirectory {
  let number: AccountNumber
  let isForum: Bool
  /// The number of the user whose files they count among: the forum's author, or the user.
  let owner: AccountNumber
  /// The forum's author; of a user's directory, that user.
  let author: EncryptionPublicKey
}

/// The contents of a directory, in numbers.
private struct DirectoryUse {
  let files: Int
  let bytes: Int
  /// The bytes of all files that count as its owner's.
  let bytesOfOwner: Int
}

extension ApptimistStore {
  /// Looks up the rights of a user in a directory.
  ///
  /// - Returns: nil if there is no such directory.
  func access(
    of user: EncryptionPublicKey, to directory: EncryptionPublicKey
  ) async throws -> DirectoryAccess? {
    try await store.read { snapshot in
      guard let directory = try self.directory(directory, snapshot) else { return nil }
      let mayWrite = try mayWrite(user, in: directory, snapshot)
      let isMember =
        try mayWrite || isListed(user, in: .moderators, of: directory, snapshot)
        || isListed(user, in: .subscribers, of: directory, snapshot)
      return DirectoryAccess(isForum: directory.isForum, mayWrite: mayWrite, isMember: isMember)
    }
  }

  /// Reads a file.
  ///
  /// - Parameter name: the file's name. The content of `author` is the author's key; there never is a
  ///   `secret`.
  /// - Returns: the content, or nil if there is no such file.
  func file(_ name: Filename, in directory: EncryptionPublicKey) async throws -> [UInt8]? {
    try await store.read { snapshot in
      guard let directory = try self.directory(directory, snapshot) else { return nil }
      if name.reserved == .author { return directory.author.bytes }
      return try content(of: name.text, in: directory.number, snapshot)
    }
  }

  /// Writes a new file, or one in the place of the old one.
  ///
  /// - Parameters:
  ///   - name: any name but `author` and `secret`, for which there is ``escrow(_:of:by:)``.
  ///   - holder: the session, if the store has the locks.
  func write(
    _ content: [UInt8], to name: Filename, in directory: EncryptionPublicKey,
    by login: AccountLogin, holder: NodeSession? = nil
  ) async throws -> ErrorCode {
    try await change(directory, name, by: login, holder: holder) { directory, transaction in
      guard !name.isKeptByService else { return .notPermitted }
      return try put(content, into: name, of: directory, transaction)
    }
  }

  /// Puts a content into a file, if there is room for it and it is one of a list where the name is a list's.
  func put(
    _ content: [UInt8], into name: Filename, of directory: StoredDirectory,
    _ transaction: borrowing Transaction
  ) throws -> ErrorCode {
    let isList = name.reserved != nil
    guard !isList || content.count <= limits.reservedKeys * 32 else { return .overQuota }
    let old = try self.size(of: name, in: directory, transaction)
    let present = try transaction.one(
      """
      SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT),
        coalesce((SELECT file_bytes FROM apptimist_users WHERE id = ?2), 0)
      FROM apptimist_files WHERE directory = ?1
      """, directory.number, directory.owner
    ) { row in
      DirectoryUse(files: try row[0], bytes: try row[1], bytesOfOwner: try row[2])
    }
    guard let present, present.files < limits.files || old != nil,
      present.bytes &- (old ?? 0) <= limits.directoryBytes - content.count,
      present.bytesOfOwner &- (old ?? 0) <= limits.accountBytes - content.count
    else { return .overQuota }
    guard !isList || content.count.isMultiple(of: 32) else { return .badContent }
    if name == .gate {
      let outcome = try setGate(of: directory, isThere: !content.isEmpty, transaction)
      guard outcome == .done else { return outcome }
    }
    try transaction.execute(
      """
      INSERT INTO apptimist_files (directory, name, size, content) VALUES (?, ?, ?, ?)
      ON CONFLICT (directory, name) DO UPDATE SET size = excluded.size, content = excluded.content
      """, directory.number, name.text, content.count, content)
    try charge(directory.owner, content.count &- (old ?? 0), transaction)
    return .done
  }

  private func size(
    of name: Filename, in directory: StoredDirectory, _ transaction: borrowing Transaction
  ) throws -> Int? {
    try transaction.value(
      "SELECT size FROM apptimist_files WHERE directory = ? AND name = ?", directory.number,
      name.text)
  }

  /// Changes the bytes of files that count as a user's.
  func charge(_ owner: AccountNumber, _ bytes: Int, _ transaction: borrowing Transaction) throws {
    guard bytes != 0 else { return }
    try transaction.execute(
      """
      UPDATE apptimist_users
      SET file_bytes = CASE WHEN file_bytes + ?1 > 0 THEN file_bytes + ?1 ELSE 0 END WHERE id = ?2
      """, bytes, owner)
  }

  /// Removes a file.
  ///
  /// - Parameters:
  ///   - name: any name but `author` and `secret`.
  ///   - holder: the session, if the store has the locks.
  func remove(
    _ name: Filename, in directory: EncryptionPublicKey, by login: AccountLogin,
    holder: NodeSession? = nil
  ) async throws -> ErrorCode {
    try await change(directory, name, by: login, holder: holder) { directory, transaction in
      guard !name.isKeptByService else { return .notPermitted }
      guard let size = try self.size(of: name, in: directory, transaction) else { return .notFound }
      try transaction.execute(
        "DELETE FROM apptimist_files WHERE directory = ? AND name = ?", directory.number, name.text)
      try charge(directory.owner, 0 &- size, transaction)
      return name == .gate ? try setGate(of: directory, isThere: false, transaction) : .done
    }
  }

  /// Changes something in a directory, if there is one and the user may.
  ///
  /// - Parameters:
  ///   - name: the file that is changed, or nil if it is all of the directory.
  ///   - holder: the session, if the store has the locks: one of another session is in its way, and its own one ends.
  func change(
    _ directory: EncryptionPublicKey, _ name: Filename? = nil, by login: AccountLogin,
    holder: NodeSession? = nil,
    _ body: @escaping @Sendable (StoredDirectory, borrowing Transaction) throws -> ErrorCode
  ) async throws -> ErrorCode {
    try await store.write(isolation: .rowLocks) { transaction in
      guard let directory = try lockedDirectory(directory, transaction) else { return .notFound }
      guard try account(of: login, transaction) != nil,
        try mayWrite(login.user, in: directory, transaction)
      else { return .notPermitted }
      guard let name, let holder else { return try body(directory, transaction) }
      guard try isFree(name, in: directory.number, for: holder, transaction) else { return .locked }
      let outcome = try body(directory, transaction)
      if outcome == .done { try release(name, in: directory.number, by: holder, transaction) }
      return outcome
    }
  }

  /// Looks up the directory of a user or forum.
  func directory(
    _ key: EncryptionPublicKey, _ database: borrowing some Queryable & ~Copyable
  ) throws -> StoredDirectory? {
    try database.one(
      """
      SELECT u.id, a.key, coalesce(u.author, u.id) FROM apptimist_users u LEFT JOIN apptimist_users a ON a.id = u.author
      WHERE u.key = ? AND u.kind <> ?
      """, key, StoredKind.deleted
    ) { row in
      let author: EncryptionPublicKey? = try row[1]
      return StoredDirectory(
        number: try row[0], isForum: author != nil, owner: try row[2], author: author ?? key)
    }
  }

  /// Returns whether a user is the author or an editor.
  private func mayWrite(
    _ user: EncryptionPublicKey, in directory: StoredDirectory,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try directory.author == user || isListed(user, in: .editors, of: directory, database)
  }

  private func isListed(
    _ user: EncryptionPublicKey, in name: Filename.Reserved, of directory: StoredDirectory,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    let key = user.bytes
    return try database.one(
      "SELECT content FROM apptimist_files WHERE directory = ? AND name = ?", directory.number,
      name.rawValue
    ) { row in
      try row.withBytes(0) { content in
        stride(from: 0, through: content.count - key.count, by: key.count).contains { start in
          key.indices.allSatisfy { content[start + $0] == key[$0] }
        }
      }
    } ?? false
  }

  /// Reads a file's content.
  func content(
    of name: String, in directory: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [UInt8]? {
    try database.value(
      "SELECT content FROM apptimist_files WHERE directory = ? AND name = ?", directory, name)
  }
}

extension Filename {
  /// True if the file is no row of its table, because the service knows it by itself or keeps it
  /// apart.
  fileprivate var isKeptByService: Bool { reserved == .author || reserved == .secret }
}
