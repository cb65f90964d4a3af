internal import Glibc
package import Platform

/// A copy of a store in one file together with other files: a SQLite database with one more table, and a
/// ``BackupManifest`` behind it.
///
/// All its functions block on the disk.
@safe package struct Backup: ~Copyable {
  /// A file that is kept with the database.
  package struct File: Sendable, Equatable {
    /// The name in the backup: the path below the data folder, in segments without `.` and `..`, or the key of the
    /// configuration that names the path.
    package let path: String
    /// The content.
    package let content: [UInt8]

    package init(path: String, content: [UInt8]) {
      self.path = path
      self.content = content
    }

    /// True if the path stays below the folder that it is joined to.
    fileprivate var isInside: Bool {
      !path.isEmpty && !path.utf8.contains(0)
        && path.split(separator: "/", omittingEmptySubsequences: false)
          .allSatisfy { !["", ".", ".."].contains($0) }
    }
  }

  /// Receives the number of copied pages and the number of all pages. An error ends the copying.
  package typealias Progress = (_ done: Int, _ total: Int) throws -> Void

  /// The file of the backup.
  package let path: String
  /// The list of its contents.
  package let manifest: BackupManifest
  /// The files that were kept with the database.
  package let files: [File]
  private let connection: SQLiteConnection

  /// Copies a store that others may use meanwhile, in one state, and checks the copy.
  ///
  /// - Parameters:
  ///   - store: the store, a file or a PostgreSQL database.
  ///   - path: the file to make, which must not exist. It appears only when it is complete.
  ///   - madeAt: the time, which is kept to the second.
  ///   - report: receives the progress, of a PostgreSQL database in rows.
  /// - Throws: ``StoreError``; `.corrupt` if the store itself is damaged, `.incompatibleSchema` unless a PostgreSQL database
  ///   has exactly the program's migrations.
  package static func make(
    of store: StoreLocation, migrations: [Migration], at path: String, with files: [File],
    version: String, madeAt: Timestamp, reporting report: Progress
  ) throws {
    try checkIsNew(path)
    try makeFile(path) { part in
      try fill(part, with: files) { copy in
        switch store {
        case .file(let database): try fill(copy, from: database, reporting: report)
        case .postgreSQL(let address): try fill(copy, from: address, migrations, reporting: report)
        case .memory: throw StoreError(.other, "the store is in memory")
        }
      }
      try BackupManifest.append(to: part.name, files: files, version: version, madeAt: madeAt)
    }
  }

  private static func fill(
    _ copy: SQLiteConnection, from database: String, reporting report: Progress
  ) throws {
    guard unsafe access(database, R_OK) == 0 else {
      throw DatabaseFile.systemError("read the store \(database)")
    }
    try DatabaseFile.existing(database).requireContent()
    let source = try SQLiteConnection(reading: database)
    try source.requireStore(database)
    try copy.copyAll(from: source, reporting: report)
    // Of one piece: no log beside it.
    try copy.run("PRAGMA journal_mode = DELETE")
  }

  private static func fill(
    _ copy: SQLiteConnection, from address: PostgreSQLAddress, _ migrations: [Migration],
    reporting report: Progress
  ) throws {
    let source = try PostgreSQLConnection(forCopyingAt: address)
    let pending = try PostgreSQLMigrator(source, migrations).check()
    guard pending == 0 else {
      throw StoreError.lacking(pending)
    }
    source.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try SQLiteMigrator(copy, migrations).migrate()
    try copy.run("PRAGMA foreign_keys = OFF")
    try copy.control("BEGIN")
    try TableCopy.copy(from: source, to: copy, reporting: report)
    try copy.control("COMMIT")
  }

  /// Makes the database of a backup. When this returns, nobody has it open.
  private static func fill(
    _ part: DatabaseFile, with files: [File], _ fill: (SQLiteConnection) throws -> Void
  ) throws {
    let copy = try SQLiteConnection(part, role: .copier, busyTimeout: .zero)
    try fill(copy)
    try copy.checkIntegrity()
    try copy.control("BEGIN")
    try copy.run(
      "CREATE TABLE backup_files (path TEXT NOT NULL PRIMARY KEY, content BLOB NOT NULL) STRICT")
    for file in files {
      try copy.execute("INSERT INTO backup_files VALUES (?, ?)", file.path, file.content)
    }
    try copy.control("COMMIT")
  }

  /// Opens a backup, and checks that it is whole and fits this program.
  ///
  /// - Throws: ``StoreError``: `.corrupt` if a bit of the file isn't as it was written or it is no backup,
  ///   `.incompatibleSchema` if it is of a newer or another program.
  package init(opening path: String, migrations: [Migration]) throws {
    guard unsafe access(path, R_OK) == 0 else { throw DatabaseFile.systemError("read \(path)") }
    let manifest = try BackupManifest.read(from: path)
    // SQLite would take them for the rest of the database.
    for other in [path + "-wal", path + "-journal"] where unsafe access(other, F_OK) == 0 {
      throw StoreError(.corrupt, "\(other) doesn't belong to the backup; move it away")
    }
    let connection = try SQLiteConnection(reading: path, busyTimeout: .zero)
    try connection.checkIntegrity()
    _ = try SQLiteMigrator(connection, migrations).check()
    var files: [File] = []
    try connection.forEach("SELECT path, content FROM backup_files ORDER BY path") { row in
      let file = File(path: try row[0], content: try row[1])
      guard file.isInside else {
        throw StoreError(.corrupt, "\(path) holds a file that lies outside of the data folder")
      }
      files.append(file)
    }
    try manifest.check(files, in: path)
    self.path = path
    self.connection = connection
    self.manifest = manifest
    self.files = files
  }

  /// Makes the store's file out of the backup. The caller puts the other files back.
  ///
  /// - Parameters:
  ///   - database: the store's file, which must not exist.
  ///   - tables: the tables whose rows it must not have; those that the backup lacks are passed over.
  /// - Throws: ``StoreError``. Then no file is left.
  package func restore(
    to database: String, without tables: [StaticString] = [], reporting report: Progress
  ) throws {
    try Self.checkIsNew(database)
    try Self.makeFile(database) { part in
      let copy = try SQLiteConnection(part, role: .copier, busyTimeout: .zero)
      try copy.copyAll(from: connection, reporting: report)
      // The files' content must not stay in free pages.
      try copy.run("PRAGMA secure_delete = ON")
      try copy.run("DROP TABLE backup_files")
      for table in tables where try copy.hasTable("\(table)") {
        try copy.run("DELETE FROM \(table)")
      }
      try copy.checkIntegrity()
    }
  }

  /// Finds whether the backup can be restored to a PostgreSQL database.
  ///
  /// - Parameter address: the database, which may lack the tables.
  /// - Throws: ``StoreError``: `.constraint` if the database has rows.
  package func checkRoom(at address: PostgreSQLAddress, migrations: [Migration]) throws {
    let target = try PostgreSQLConnection(forCopyingAt: address)
    guard try PostgreSQLMigrator(target, migrations).check() == 0 else { return }
    try TableCopy.requireEmpty(target, migrations)
  }

  /// Copies the rows of a store's file, which nobody has open, into a PostgreSQL database without rows, all or none.
  ///
  /// - Parameters:
  ///   - address: the database, which gets its tables if it has none.
  ///   - tables: the tables whose rows it must not have.
  /// - Throws: ``StoreError``: `.constraint` if the database has rows.
  package static func move(
    _ database: String, to address: PostgreSQLAddress, migrations: [Migration],
    without tables: [StaticString] = [], reporting report: Progress
  ) throws {
    let source = try SQLiteConnection(reading: database)
    let pending = try SQLiteMigrator(source, migrations).check()
    guard pending == 0 else {
      throw StoreError.incompatibleSchema("\(database) lacks \(pending) migrations")
    }
    let target = try PostgreSQLConnection(forCopyingAt: address)
    try PostgreSQLMigrator(target, migrations).migrate()
    target.begin("BEGIN")
    defer { target.rollBack() }
    // No node may join meanwhile.
    try target.run("LOCK TABLE store_nodes, store_migrations IN EXCLUSIVE MODE")
    try TableCopy.copy(
      from: source, to: target, migrations: migrations, without: tables.map { "\($0)" },
      reporting: report)
    _ = try target.commit()
  }

  private static func checkIsNew(_ path: String) throws(StoreError) {
    guard unsafe access(path, F_OK) != 0 else {
      throw StoreError(.constraint(.unique), "\(path) is there already; choose another name")
    }
  }

  /// Makes a file that gets its name only when it is complete and on the disk.
  private static func makeFile(_ path: String, _ body: (DatabaseFile) throws -> Void) throws {
    let path = path.hasPrefix("/") ? path : "./" + path
    let part = "\(path).\(getpid()).part"
    let names = StoreLocation.files(of: part)
    UnfinishedFiles.add(names)
    defer { UnfinishedFiles.discard(names) }
    try body(try DatabaseFile.at(part))
    // Unlike a renaming, a link never replaces a file that appeared meanwhile.
    guard unsafe link(part, path) == 0 else { throw DatabaseFile.systemError("name it \(path)") }
    try DatabaseFile.syncFolder(of: path)
  }
}

extension PostgreSQLConnection {
  /// Connects for a copy, in which the other database may be slow.
  fileprivate convenience init(forCopyingAt address: PostgreSQLAddress) throws(StoreError) {
    try self.init(address, lockTimeout: .seconds(10))
    try run("SET idle_in_transaction_session_timeout = 0")
  }
}
