/// Brings a database's schema up to date.
struct SQLiteMigrator {
  private let connection: SQLiteConnection
  private let migrations: [Migration]

  /// Makes a migrator.
  ///
  /// - Throws: `.incompatibleSchema` unless each owner's numbers ascend.
  init(_ connection: SQLiteConnection, _ migrations: [Migration]) throws(StoreError) {
    var highest: [String: Int] = [:]
    for migration in migrations {
      if let previous = highest[migration.owner], previous >= migration.number {
        throw StoreError(
          .incompatibleSchema,
          "the migrations of \(migration.owner) are out of order: "
            + "\(migration.number) comes after \(previous)")
      }
      highest[migration.owner] = migration.number
    }
    self.connection = connection
    self.migrations = migrations
  }

  /// Applies the migrations that the file doesn't have yet, in their order, each in a transaction.
  ///
  /// After a failure the earlier ones stay applied, and the connection must not be used any more.
  ///
  /// - Throws: `.incompatibleSchema` if the file and the list contradict each other, or the error of a migration.
  func migrate() throws {
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
      ) STRICT
      """)
    let pending = try pending()
    guard !pending.isEmpty else { return }
    // To rebuild a table is to drop it, which would delete the rows that refer to it. This can't be switched off in a
    // transaction. `checkForeignKeys` checks the result instead.
    try connection.run("PRAGMA foreign_keys = OFF")
    for migration in pending { try apply(migration) }
    try connection.run("PRAGMA foreign_keys = ON")
  }

  /// Compares the file with the list, and changes nothing.
  ///
  /// - Returns: the number of migrations that are left to apply.
  /// - Throws: `.incompatibleSchema` if they contradict each other.
  func check() throws -> Int {
    try pending().count
  }

  /// Returns the migrations that are left to apply.
  private func pending() throws -> [Migration] {
    var applied: [String: Set<Int>] = [:]
    try connection.forEach("SELECT owner, number FROM store_migrations") { row in
      applied[try row[0], default: []].insert(try row[1])
    }
    for (owner, numbers) in applied {
      try check(numbers, of: owner)
    }
    return migrations.filter { applied[$0.owner]?.contains($0.number) != true }
  }

  /// Compares the applied migrations of an owner with the known ones.
  private func check(_ applied: Set<Int>, of owner: String) throws(StoreError) {
    let known = migrations.filter { $0.owner == owner }.map(\.number)
    guard let newest = known.last else {
      throw StoreError(
        .incompatibleSchema,
        "the database belongs to a program with the service \(owner), which this one lacks")
    }
    let newestApplied = applied.max() ?? 0
    if newestApplied > newest {
      throw StoreError(
        .incompatibleSchema,
        "the database was made by a newer version: it has migration \(newestApplied) of \(owner), "
          + "this program knows them up to \(newest)")
    }
    if let lost = applied.subtracting(known).min() {
      throw StoreError(
        .incompatibleSchema,
        "the database has migration \(lost) of \(owner), which this program does not know")
    }
    if let late = known.first(where: { $0 < newestApplied && !applied.contains($0) }) {
      throw StoreError(
        .incompatibleSchema,
        "migration \(late) of \(owner) was added before \(newestApplied), "
          + "which the database has already")
    }
  }

  private func apply(_ migration: Migration) throws {
    try connection.control("BEGIN IMMEDIATE")
    // Another process may have been faster.
    if try pending().contains(where: {
      $0.owner == migration.owner && $0.number == migration.number
    }) {
      try connection.run("\(migration.sqlite)")
      try checkForeignKeys(after: migration)
      try connection.execute(
        "INSERT INTO store_migrations (owner, number) VALUES (?, ?)",
        migration.owner, migration.number)
    }
    try connection.control("COMMIT")
  }

  private func checkForeignKeys(after migration: Migration) throws {
    try connection.forEach("PRAGMA foreign_key_check") { row in
      let table: String = try row[0]
      throw StoreError(
        .constraint(.foreignKey),
        "migration \(migration.number) of \(migration.owner) leaves rows of \(table) "
          + "that refer to missing rows")
    }
  }
}
