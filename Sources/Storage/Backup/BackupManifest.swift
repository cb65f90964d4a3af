internal import Cryptography
internal import FoundationEssentials
internal import Glibc
package import Platform

/// The list of everything in a backup, with sizes and digests. It stands at the backup's end, behind the database:
///
///     the database, the manifest as JSON, `awd-backup-2 `, the manifest's length, its SHA-256
///
/// So each byte of the file is covered by a digest, or is compared as it is.
package struct BackupManifest: Sendable, Codable, Equatable {
  /// A part of a backup.
  package struct Entry: Sendable, Codable, Equatable {
    /// The name: that of a ``Backup/File``, or ``BackupManifest/database``.
    package let name: String
    /// The number of bytes.
    package let size: Int
    /// The SHA-256 of the bytes, in hexadecimal digits.
    package let sha256: String

    init(name: String, content: [UInt8]) {
      self.init(name: name, size: content.count, digest: SHA256.hash(content))
    }

    init(name: String, size: Int, digest: SHA256.Digest) {
      self.name = name
      self.size = size
      sha256 = digest.hex
    }
  }

  /// The name of the database, with the content of the files in it. No file has it, as it is no path.
  package static let database = "/"
  private static let format = 2
  private static let mark = "awd-backup-\(format) "
  private static let longest = 1 << 20
  private static let footerLength = mark.utf8.count + 10 + 1 + 64 + 1
  /// The last second of the year 9999.
  private static let latest: Int64 = 253_402_300_799

  /// The version of the program that made the backup.
  package let version: String
  /// The time, in seconds since 1970.
  private let madeAtSeconds: Int64
  /// The database first, then the files.
  package let entries: [Entry]

  /// The time when the backup was made, within the years 1970 to 9999.
  package var madeAt: Timestamp { Timestamp(seconds: min(max(madeAtSeconds, 0), Self.latest)) }

  init(version: String, madeAt: Timestamp, entries: [Entry]) {
    self.version = version
    madeAtSeconds = madeAt.seconds
    self.entries = entries
  }

  // MARK: - Writing

  /// Adds the manifest to a database, which nobody has open, and waits for the disk.
  ///
  /// - Parameter files: the files that are in the database.
  static func append(
    to path: String, files: [Backup.File], version: String, madeAt: Timestamp
  ) throws {
    let file = try OpenFile(path, O_RDWR | O_APPEND)
    let size = try file.size
    let database = Entry(name: database, size: size, digest: try file.digest(ofFirst: size))
    let manifest = BackupManifest(
      version: version, madeAt: madeAt,
      entries: [database] + files.map { Entry(name: $0.path, content: $0.content) })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = [UInt8](try encoder.encode(manifest))
    guard bytes.count <= longest else {
      throw StoreError(.constraint(.other), "the data folder has too many files for a backup")
    }
    try file.append(bytes + footer(of: bytes))
  }

  private static func footer(of manifest: [UInt8]) -> [UInt8] {
    let length = String(manifest.count)
    let padding = String(repeating: "0", count: max(0, 10 - length.utf8.count))
    return Array("\(mark)\(padding)\(length) \(SHA256.hash(manifest).hex)\n".utf8)
  }

  // MARK: - Reading

  /// Reads the manifest of a backup, and compares the database with it.
  ///
  /// - Throws: ``StoreError`` `.corrupt` if a byte isn't as it was written.
  static func read(from path: String) throws -> BackupManifest {
    let file = try OpenFile(path, O_RDONLY)
    let size = try file.size
    let footer = try file.read(max(0, size - footerLength)..<size)
    guard footer.count == footerLength, footer.starts(with: mark.utf8),
      let length = Int(
        String(decoding: footer.dropFirst(mark.utf8.count).prefix(10), as: UTF8.self)),
      (1...longest).contains(length), length <= size - footerLength
    else {
      throw StoreError(
        .corrupt,
        "\(path) has no manifest at its end: it is damaged, cut off or no backup; or it is of a version "
          + "that wrote none, and only that version can restore it")
    }
    let end = size - footerLength
    let bytes = try file.read(end - length..<end)
    guard self.footer(of: bytes) == footer else { throw damaged(path, "the manifest") }
    let manifest: BackupManifest
    do {
      manifest = try JSONDecoder().decode(BackupManifest.self, from: Data(bytes))
    } catch { throw damaged(path, "the manifest") }
    let database = Entry(
      name: Self.database, size: end - length, digest: try file.digest(ofFirst: end - length))
    guard manifest.entries.first == database else { throw damaged(path, "the database") }
    return manifest
  }

  /// Compares the files of a backup with the manifest.
  ///
  /// - Throws: ``StoreError`` `.corrupt` unless they are those that the manifest lists, byte for byte.
  func check(_ files: [Backup.File], in path: String) throws {
    let found = files.map { Entry(name: $0.path, content: $0.content) }
    let order = { (left: Entry, right: Entry) in left.name < right.name }
    guard found.sorted(by: order) == entries.dropFirst().sorted(by: order) else {
      throw Self.damaged(path, "the list of files")
    }
  }

  private static func damaged(_ path: String, _ part: String) -> StoreError {
    StoreError(.corrupt, "\(path) is damaged: \(part) isn't as it was written")
  }
}

/// A file that is read and written at once, and closed at the end.
private struct OpenFile: ~Copyable {
  private let descriptor: Int32

  init(_ path: String, _ flags: Int32) throws(StoreError) {
    let descriptor = unsafe open(path, flags | O_CLOEXEC)
    guard descriptor >= 0 else { throw DatabaseFile.systemError("read \(path)") }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  var size: Int {
    get throws(StoreError) {
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        throw StoreError(.corrupt, "the backup is no file")
      }
      return Int(status.st_size)
    }
  }

  func read(_ range: Range<Int>) throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count)
    var done = 0
    while done < range.count {
      let count = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(
          descriptor, buffer.baseAddress?.advanced(by: done), range.count - done,
          off_t(range.lowerBound + done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw DatabaseFile.systemError("read the backup") }
      guard count > 0 else { throw StoreError(.corrupt, "the backup became shorter meanwhile") }
      done += count
    }
    return bytes
  }

  func digest(ofFirst count: Int) throws -> SHA256.Digest {
    let piece = 1 << 20
    let hash = SHA256Stream()
    for start in stride(from: 0, to: count, by: piece) {
      hash.update(try read(start..<min(start + piece, count))[...])
    }
    guard let digest = hash.finish() else { throw StoreError(.busy, "there is no memory left") }
    return digest
  }

  func append(_ bytes: [UInt8]) throws(StoreError) {
    try DatabaseFile.doing("write the backup") { () throws(SystemError) in
      try writeAll(bytes, to: descriptor)
      guard fsync(descriptor) == 0 else { throw SystemError(errno) }
    }
  }
}
