internal import StorageResources
internal import Platform
/// Brings the schema of a PostgreSQL database up to date. Any number of nodes may do so at once.
struct PostgreSQLMigrator {
  private static let oldestServer = 15

  private let connection: PostgreSQLConnection
  private let plan: MigrationPlan

  /// Makes a migrator.
  ///
  /// - Throws: `.incompatibleSchema` unless each owner's numbers ascend.
  init(_ connection: PostgreSQLConnection, _ migrations: [Migration]) throws(StoreError) {
    self.connection = connection
    plan = try MigrationPlan(migrations, \.postgreSQL)
  }

  /// Applies the migrations that the database doesn't have yet, in their order, each in a transaction.
  ///
  /// After a failure the earlier ones stay applied, and the connection must not be used any more.
  ///
  /// - Throws: `.incompatibleSchema` if the database and the list contradict each other or the server is none for a
  ///   store, `.readOnly`, or the error of a migration.
  func migrate() throws {
    try checkServer()
    // The migrations of other nodes may take long.
    try connection.run("SET lock_timeout = 0")
    if try isNew() { try makeTables() }
    for step in try pending() { try apply(step) }
  }

  /// Compares the database with the list, and changes nothing.
  ///
  /// - Returns: the number of migrations that are left to apply; all of them of an empty database.
  /// - Throws: as ``migrate()``, but for a database that may only be read.
  func check() throws -> Int {
    try checkVersion()
    return try isNew() ? plan.pending(after: [:]).count : pending().count
  }

  private func pending() throws -> [MigrationPlan.Step] {
    var applied: [String: Set<Int>] = [:]
    try connection.forEach("SELECT owner, number, needs FROM store_migrations") { row in
      let owner: String = try row[0]
      let number: Int = try row[1]
      let needs: Int = try row[2]
      let newest = plan.newest(of: owner)
      // A newer release runs beside this one, and says that this one can live with it.
      guard number <= newest || needs > newest else { return }
      applied[owner, default: []].insert(number)
    }
    return try plan.pending(after: applied)
  }

  private func checkVersion() throws(StoreError) {
    let version = connection.serverVersion / 10_000
    guard version >= Self.oldestServer else {
      throw .incompatibleSchema(
        "PostgreSQL \(version) is too old; the oldest that will do is \(Self.oldestServer)")
    }
    let encoding = connection.setting("server_encoding") ?? ""
    guard encoding == "UTF8" else {
      throw .incompatibleSchema(
        "the database has the encoding \(encoding), it must be UTF8; make it anew with "
          + "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")
    }
  }

  private func checkServer() throws {
    try checkVersion()
    let isReadOnly: String? = try connection.value(
      "SELECT current_setting('transaction_read_only')")
    guard isReadOnly != "on" else {
      throw StoreError(
        .readOnly,
        "PostgreSQL may only be read: it is a standby, or set to default_transaction_read_only")
    }
  }

  /// Returns whether the database has nothing yet.
  ///
  /// - Throws: `.incompatibleSchema` if it is another program's.
  func isNew() throws -> Bool {
    let found = try connection.one(
      """
      SELECT to_regclass('store_migrations') IS NOT NULL,
        (SELECT min(tablename::text) FROM pg_tables WHERE schemaname = current_schema())
      """
    ) { row in (isMade: try row[0] as Bool, table: try row[1] as String?) }
    guard let found, !found.isMade else { return false }
    if let table = found.table {
      throw StoreError.incompatibleSchema(
        "the database belongs to another program: it has the table \(table), but none of a store's; "
          + "it must be empty at first")
    }
    return true
  }

  private func makeTables() throws {
    do throws(StoreError) {
      // All statements of a script are one transaction.
      try connection.run(
        String(decoding: Resource(storage_tables_postgresql_sql()).bytes, as: UTF8.self))
    } catch {
      // Another node was faster: the table, or its row in one of the server's own, is there already.
      guard ["42P07", "42710", "23505"].contains(error.sqlState), try !isNew() else { throw error }
    }
  }

  /// Throws `.incompatibleSchema` if a node lives whose release can't go on beside a step.
  private func checkNodes(_ step: MigrationPlan.Step) throws {
    try connection.forEach(
      """
      SELECT n.name, n.version FROM store_nodes n
        LEFT JOIN store_node_schemas s ON s.node = n.id AND s.owner = ?
      WHERE n.seen_at > clock_timestamp() - ? * interval '1 second' AND coalesce(s.newest, 0) < ?
      ORDER BY n.seen_at
      """, step.owner, NodeRegistry.lifetime / .seconds(1), step.needs
    ) { row in
      let name: String = try row[0]
      let version: String = try row[1]
      throw StoreError.incompatibleSchema(
        "the schema can't be changed while the node \(name) runs awd \(version), which can't go on "
          + "beside migration \(step.number) of \(step.owner): stop all nodes of that release first"
      )
    }
  }

  private func apply(_ step: MigrationPlan.Step) throws {
    defer { connection.rollBack() }
    connection.begin("BEGIN")
    try connection.run("LOCK TABLE store_migrations IN EXCLUSIVE MODE")
    // Another node may have been faster.
    guard try pending().contains(step) else { return }
    try checkNodes(step)
    try connection.run(step.sql)
    try connection.execute(
      "INSERT INTO store_migrations (owner, number, needs) VALUES (?, ?, ?)", step.owner,
      step.number, step.needs)
    _ = try connection.commit()
  }
}
