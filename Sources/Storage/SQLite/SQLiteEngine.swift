internal import Platform

/// SQLite: one connection that writes, on the engine's own thread, one that copies what was written from the log into the
/// database, and several that read, each on a thread of its own.
struct SQLiteEngine: Engine {
  /// The file's path, or nil for memory.
  let path: String?
  let migrations: [Migration]
  let configuration: StoreConfiguration

  func run(_ work: StoreWork, opened: () -> Void) throws {
    let file = try path.map(DatabaseFile.ofStore) ?? .memory()
    let connection = try SQLiteConnection(
      file, role: .writer, busyTimeout: configuration.busyTimeout)
    if let path { try connection.requireStore(path) }
    if file.size <= configuration.checkedSize { try connection.checkPages() }
    try SQLiteMigrator(connection, migrations).migrate()
    try connection.keepHistory(of: file)
    let checkpointer = Checkpointer()
    var others: [WorkerThread] = []
    defer {
      work.reads.close()
      checkpointer.close()
      for thread in others { thread.join() }
      // With no reader left this empties the log, unless another process reads. If it fails,
      // nothing is lost: the log is read at the next start.
      try? connection.checkpoint(truncating: true)
    }
    let copying = try SQLiteConnection(file, role: .writer, busyTimeout: configuration.busyTimeout)
    others.append(
      try .start("awd-checkpoint") { checkpointer.run(copying, recorder: work.recorder) })
    for _ in 0..<configuration.readers {
      let connection = try SQLiteConnection(
        file, role: .reader, busyTimeout: configuration.busyTimeout)
      others.append(try .start("awd-reader") { connection.runReads(work) })
    }
    opened()
    var writer = SQLiteWriter(
      connection: connection, work: work, checkpointer: checkpointer,
      longestTransaction: configuration.longestTransaction,
      target: GroupTarget(limit: configuration.groupLimit, processors: Processors.count))
    writer.run()
  }
}

/// Brings the schema of a SQLite database up to date.
struct SQLiteMigrator {
  private let connection: SQLiteConnection
  private let plan: MigrationPlan

  /// Makes a migrator.
  ///
  /// - Throws: `.incompatibleSchema` unless each owner's numbers ascend.
  init(_ connection: SQLiteConnection, _ migrations: [Migration]) throws(StoreError) {
    self.connection = connection
    plan = try MigrationPlan(migrations, \.sqlite)
  }

  /// Applies the migrations that the file doesn't have yet, in their order, all in one transaction.
  ///
  /// After a failure none of them is applied, and the connection must not be used any more.
  ///
  /// - Throws: `.incompatibleSchema` if the file and the list contradict each other, or the error of a migration.
  func migrate() throws {
    try Self.makeTables(connection)
    guard try !pending().isEmpty else { return }
    // To rebuild a table is to drop it, which would delete the rows that refer to it. This can't be switched off in a
    // transaction. `checkForeignKeys` checks the result instead.
    try connection.run("PRAGMA foreign_keys = OFF")
    try connection.control("BEGIN IMMEDIATE")
    // Another process may have been faster.
    for migration in try pending() { try apply(migration) }
    try checkForeignKeys()
    try connection.control("COMMIT")
    try connection.run("PRAGMA foreign_keys = ON")
  }

  /// Makes the store's own tables, unless they are there.
  static func makeTables(_ connection: SQLiteConnection) throws(StoreError) {
    try connection.run(
      """
      CREATE TABLE IF NOT EXISTS store_migrations (
        owner TEXT NOT NULL,
        number INTEGER NOT NULL,
        applied_at INTEGER NOT NULL DEFAULT (unixepoch()),
        PRIMARY KEY (owner, number)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS store_probe (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        written_at INTEGER NOT NULL,
        count INTEGER NOT NULL DEFAULT 1
      ) STRICT;
      CREATE TABLE IF NOT EXISTS store_clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        time INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE IF NOT EXISTS store_keys (
        name TEXT PRIMARY KEY,
        sha256 BLOB NOT NULL,
        node TEXT NOT NULL
      ) STRICT, WITHOUT ROWID
      """)
  }

  /// Compares the file with the list, and changes nothing.
  ///
  /// - Returns: the number of migrations that are left to apply.
  /// - Throws: `.incompatibleSchema` if they contradict each other.
  func check() throws -> Int { try pending().count }

  private func pending() throws -> [MigrationPlan.Step] {
    var applied: [String: Set<Int>] = [:]
    try connection.forEach("SELECT owner, number FROM store_migrations") { row in
      applied[try row[0], default: []].insert(try row[1])
    }
    return try plan.pending(after: applied)
  }

  private func apply(_ migration: MigrationPlan.Step) throws {
    try connection.run(migration.sql)
    try connection.execute(
      "INSERT INTO store_migrations (owner, number) VALUES (?, ?)",
      migration.owner, migration.number)
  }

  private func checkForeignKeys() throws {
    try connection.forEach("PRAGMA foreign_key_check") { row in
      let table: String = try row[0]
      throw StoreError(
        .constraint(.foreignKey),
        "the migrations leave rows of \(table) that refer to missing rows")
    }
  }
}
