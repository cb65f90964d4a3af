internal import Glibc

/// A copy of a store in one file, with files that belong to it: a SQLite database with two tables more.
///
/// Everything here blocks on the disk.
@safe public struct Backup: ~Copyable {
  /// A file that is kept with the database.
  public struct File: Sendable, Equatable {
    /// What the backup knows it by: where it lies below the data folder, in segments without `.` and
    /// `..`, or the key of the configuration that says where it lies.
    public let path: String
    /// What is in it.
    public let content: [UInt8]

    /// A file.
    ///
    /// - Parameters:
    ///   - path: what the backup knows it by.
    ///   - content: what is in it.
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

  /// Is given how many pages are copied, and how many there are.
  public typealias Progress = (_ done: Int, _ total: Int) -> Void

  /// Where it lies.
  public let path: String
  /// The version of the program that made it.
  public let version: String
  /// When it was made, in seconds since 1970.
  public let seconds: Int64
  /// The files that were kept with the database.
  public let files: [File]
  private let connection: Connection

  /// Copies a store, which others may use meanwhile, and checks the copy.
  ///
  /// - Parameters:
  ///   - database: the store's file.
  ///   - path: the file to make, which must not be there; half-made ones never are.
  ///   - files: what to keep with it.
  ///   - version: the program's version.
  ///   - seconds: the time, in seconds since 1970.
  ///   - tell: is given how far the copy has come.
  /// - Throws: ``StoreError``; `.corrupt` if the store itself is damaged.
  public static func make(
    of database: String, at path: String, with files: [File], version: String, seconds: Int64,
    telling tell: Progress
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
      try copy.execute("INSERT INTO backup_origin VALUES (?, ?)", version, seconds)
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
  ///   - migrations: all steps of all services in the program.
  /// - Throws: ``StoreError``: `.corrupt` if it is damaged or no backup, `.incompatibleSchema` if
  ///   it is of a newer or another program.
  public init(opening path: String, migrations: [Migration]) throws {
    guard unsafe access(path, R_OK) == 0 else {
      throw DatabaseFile.systemError("read \(path)")
    }
    let connection = try Connection(
      DatabaseFile(name: path.hasPrefix("/") ? path : "./" + path, isInMemory: false),
      role: .reader, busyTimeout: .zero)
    var origin: (version: String, seconds: Int64)?
    do {
      try connection.forEach("SELECT version, made_at FROM backup_origin") { row in
        origin = (try row[0], try row[1])
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
    (version, seconds) = origin
    self.files = files
  }

  /// Puts the database where a store will look for it; the files are the caller's to put back.
  ///
  /// - Parameters:
  ///   - database: the store's file, which must not be there.
  ///   - tell: is given how far the copy has come.
  /// - Throws: ``StoreError``; nothing is left then.
  public func restore(to database: String, telling tell: Progress) throws {
    guard unsafe access(database, F_OK) != 0 else {
      throw StoreError(.constraint(.unique), "\(database) is there already")
    }
    try Self.makeFile(database) { part in
      let copy = try Connection(part, role: .copier, busyTimeout: .zero)
      try copy.copyAll(from: connection, telling: tell)
      // What the files held is not to stay in pages that are free.
      try copy.run("PRAGMA secure_delete = ON")
      try copy.run("DROP TABLE backup_files; DROP TABLE backup_origin")
      try copy.checkIntegrity()
    }
  }

  /// Makes a file of one piece: it has its name only once it is whole and on the disk.
  private static func makeFile(_ path: String, _ body: (DatabaseFile) throws -> Void) throws {
    let path = path.hasPrefix("/") ? path : "./" + path
    let part = "\(path).\(getpid()).part"
    defer {
      for name in [part, part + "-journal"] { unsafe unlink(name) }
    }
    try body(try DatabaseFile.at(part))
    // Unlike a renaming, a link never takes the place of a file that appeared meanwhile.
    guard unsafe link(part, path) == 0 else { throw DatabaseFile.systemError("name it \(path)") }
    try DatabaseFile.syncFolder(of: path)
  }
}
