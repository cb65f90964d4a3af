internal import Glibc
public import Time

/// A copy of a store in one file together with other files: a SQLite database with two more tables.
///
/// All its functions block on the disk.
@safe public struct Backup: ~Copyable {
  /// A file that is kept with the database.
  public struct File: Sendable, Equatable {
    /// The name in the backup: the path below the data folder, in segments without `.` and `..`, or the key of the
    /// configuration that names the path.
    public let path: String
    /// The content.
    public let content: [UInt8]

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - path: the name in the backup.
    ///   - content: the content.
    public init(path: String, content: [UInt8]) {
      self.path = path
      self.content = content
    }

    /// Whether the path stays below the folder that it is joined to.
    fileprivate var isInside: Bool {
      !path.isEmpty && !path.utf8.contains(0)
        && path.split(separator: "/", omittingEmptySubsequences: false)
          .allSatisfy { !["", ".", ".."].contains($0) }
    }
  }

  /// Takes the number of copied pages and the number of all pages.
  public typealias Progress = (_ done: Int, _ total: Int) -> Void

  /// The file of the backup.
  public let path: String
  /// The version of the program that made it.
  public let version: String
  /// The time when it was made, to the second.
  public let madeAt: Timestamp
  /// The files that were kept with the database.
  public let files: [File]
  private let connection: Connection

  /// Copies a store that others may use meanwhile, and checks the copy.
  ///
  /// - Parameters:
  ///   - database: the store's file.
  ///   - path: the file to make, which must not exist. It appears only when it is complete.
  ///   - files: the files to keep with the store.
  ///   - version: the program's version.
  ///   - madeAt: the time, which is kept to the second.
  ///   - tell: takes the progress.
  /// - Throws: ``StoreError``; `.corrupt` if the store itself is damaged.
  public static func make(
    of database: String, at path: String, with files: [File], version: String,
    madeAt: Timestamp, telling tell: Progress
  ) throws {
    guard unsafe access(path, F_OK) != 0 else {
      throw StoreError(.constraint(.unique), "\(path) is there already")
    }
    guard unsafe access(database, R_OK) == 0 else {
      throw DatabaseFile.systemError("read the store \(database)")
    }
    try Self.makeFile(path) { part in
      let source = try Connection(
        DatabaseFile(name: database, isInMemory: false), role: .reader, busyTimeout: .seconds(10))
      let copy = try Connection(part, role: .copier, busyTimeout: .zero)
      try copy.copyAll(from: source, telling: tell)
      // Of one piece: no log beside it.
      try copy.run("PRAGMA journal_mode = DELETE")
      try copy.checkIntegrity()
      try copy.control("BEGIN")
      try copy.run(
        """
        CREATE TABLE backup_origin (version TEXT NOT NULL, made_at INTEGER NOT NULL) STRICT;
        CREATE TABLE backup_files (path TEXT NOT NULL PRIMARY KEY, content BLOB NOT NULL) STRICT;
        """)
      try copy.execute("INSERT INTO backup_origin VALUES (?, ?)", version, madeAt.seconds)
      for file in files {
        try copy.execute("INSERT INTO backup_files VALUES (?, ?)", file.path, file.content)
      }
      try copy.control("COMMIT")
    }
  }

  /// Opens a backup, and checks that it is whole and fits this program.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - migrations: all migrations of all services in the program.
  /// - Throws: ``StoreError``: `.corrupt` if the file is damaged or no backup, `.incompatibleSchema` if it is of a newer
  ///   or another program.
  public init(opening path: String, migrations: [Migration]) throws {
    guard unsafe access(path, R_OK) == 0 else {
      throw DatabaseFile.systemError("read \(path)")
    }
    let connection = try Connection(
      DatabaseFile(name: path.hasPrefix("/") ? path : "./" + path, isInMemory: false),
      role: .reader, busyTimeout: .zero)
    var origin: (version: String, madeAt: Timestamp)?
    do {
      try connection.forEach("SELECT version, made_at FROM backup_origin") { row in
        origin = (try row[0], Timestamp(seconds: try row[1]))
      }
    } catch let error as StoreError where error.code == .other(1) {
      // No such table (SQLITE_ERROR).
    }
    guard let origin else { throw StoreError(.corrupt, "\(path) is no backup") }
    try connection.checkIntegrity()
    try Migrator(connection, migrations).check()
    var files: [File] = []
    try connection.forEach("SELECT path, content FROM backup_files ORDER BY path") { row in
      let file = File(path: try row[0], content: try row[1])
      guard file.isInside else {
        throw StoreError(.corrupt, "\(path) holds a file that lies outside of the data folder")
      }
      files.append(file)
    }
    self.path = path
    self.connection = connection
    (version, madeAt) = origin
    self.files = files
  }

  /// Makes the store's file out of the backup. The caller puts the other files back.
  ///
  /// - Parameters:
  ///   - database: the store's file, which must not exist.
  ///   - tell: takes the progress.
  /// - Throws: ``StoreError``. Then no file is left.
  public func restore(to database: String, telling tell: Progress) throws {
    guard unsafe access(database, F_OK) != 0 else {
      throw StoreError(.constraint(.unique), "\(database) is there already")
    }
    try Self.makeFile(database) { part in
      let copy = try Connection(part, role: .copier, busyTimeout: .zero)
      try copy.copyAll(from: connection, telling: tell)
      // The files' content must not stay in free pages.
      try copy.run("PRAGMA secure_delete = ON")
      try copy.run("DROP TABLE backup_files; DROP TABLE backup_origin")
      try copy.checkIntegrity()
    }
  }

  /// Makes a file that gets its name only when it is complete and on the disk.
  private static func makeFile(_ path: String, _ body: (DatabaseFile) throws -> Void) throws {
    let path = path.hasPrefix("/") ? path : "./" + path
    let part = "\(path).\(getpid()).part"
    defer {
      for name in [part, part + "-journal"] { unsafe unlink(name) }
    }
    try body(try DatabaseFile.at(part))
    // Unlike a renaming, a link never replaces a file that appeared meanwhile.
    guard unsafe link(part, path) == 0 else { throw DatabaseFile.systemError("name it \(path)") }
    try DatabaseFile.syncFolder(of: path)
  }
}
