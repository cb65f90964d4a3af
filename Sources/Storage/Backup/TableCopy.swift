/// Copies the rows of all tables of services from a database of one kind to one of the other.
///
/// Both have the same tables and columns, by the same migrations; what only one of them has is its own and stays out. It blocks
/// on the disk and the network.
enum TableCopy {
  /// The rows that are copied at once.
  private static let rows = 500
  /// The bytes of values after which rows are copied at once, unless it is one row.
  private static let bytes = 4 << 20

  /// Copies rows to SQLite.
  ///
  /// - Parameters:
  ///   - source: a connection in a transaction that sees one state.
  ///   - target: a database with all migrations, in which nothing refers to anything until the end.
  ///   - report: receives the number of rows that are copied and of all.
  static func copy(
    from source: PostgreSQLConnection, to target: SQLiteConnection,
    reporting report: Backup.Progress
  ) throws {
    let tables = try target.tables().filter { !$0.isStores }
    let total = try source.rowCount(of: tables)
    var done = 0
    for table in tables {
      try target.run("DELETE FROM \(table.name)")
      let insert = try target.prepare(text: table.insertion)
      try source.stream(table.selection) { row in
        for column in table.columns.indices {
          guard let value = row.value(0, column) else { throw table.strangeValue(column) }
          try insert.bind(value, at: column + 1)
        }
        _ = try insert.step()
        insert.reset()
        done += 1
        if done % rows == 0 || done == total { try report(done, total) }
      }
      try target.setSequence(of: table, to: source.lastIdentifier(of: table))
    }
  }

  /// Copies rows to PostgreSQL.
  ///
  /// - Parameters:
  ///   - source: a database with all migrations, which nobody changes.
  ///   - left: the tables whose rows are left out.
  ///   - report: receives the number of rows that are copied and of all.
  /// - Throws: ``StoreError``: `.constraint` if there are rows in the target.
  static func copy(
    from source: SQLiteConnection, to target: PostgreSQLConnection,
    migrations: [Migration], without left: [String], reporting report: Backup.Progress
  ) throws {
    let tables = try target.sortedByReference(source.tables().filter { !$0.isStores })
    let total = try source.rowCount(of: tables)
    var done = 0
    try requireEmpty(target, migrations)
    for table in tables {
      try target.run("DELETE FROM \(table.name)")
      guard !left.contains(table.name) else { continue }
      try copy(table, from: source, to: target) { rows in
        done += rows
        try report(done, total)
      }
      try target.setSequences(of: table, behind: source.lastIdentifier(of: table))
    }
  }

  /// Throws `.constraint` if a database has rows of services besides those of a new store, or nodes run over it.
  static func requireEmpty(_ target: PostgreSQLConnection, _ migrations: [Migration]) throws {
    let new = try SQLiteConnection(.memory(), role: .writer, busyTimeout: .zero)
    try SQLiteMigrator(new, migrations).migrate()
    for table in try new.tables() where !table.isStores {
      guard try new.rowCount(of: [table]) > 0 || target.isEmpty(table) else {
        throw StoreError(
          .constraint(.unique),
          "the database has rows in \(table.name); name an empty one in store.url")
      }
    }
    let nodes = try target.livingNodes().map(\.name)
    guard nodes.isEmpty else {
      throw StoreError(
        .constraint(.unique),
        "the database is in use by \(nodes.joined(separator: ", ")); stop all nodes first")
    }
  }

  private static func copy(
    _ table: CopiedTable, from source: SQLiteConnection, to target: PostgreSQLConnection,
    reporting report: (_ rows: Int) throws -> Void
  ) throws {
    let types = try target.arrayTypes(of: table)
    let select = try source.prepare(text: table.selection)
    defer { select.reset() }
    var columns = [[DatabaseValue]](repeating: [], count: table.columns.count)
    var size = 0
    func write() throws {
      guard let count = columns.first?.count, count > 0 else { return }
      var parameters = PostgreSQLParameters()
      for (values, type) in zip(columns, types) { try parameters.append(values, of: type) }
      try target.execute(text: table.insertionOfArrays, parameters)
      for index in columns.indices { columns[index].removeAll(keepingCapacity: true) }
      size = 0
      try report(count)
    }
    while try select.step() {
      for column in table.columns.indices {
        guard let value = select.column(column) else { throw table.strangeValue(column) }
        columns[column].append(value)
        size += value.size
      }
      if columns[0].count == rows || size >= bytes { try write() }
    }
    try write()
  }
}

/// A table that is copied.
struct CopiedTable {
  let name: String
  let columns: [String]

  /// True if it is a table of the store's own, which says what has happened to this database.
  var isStores: Bool { name.hasPrefix("store_") || name.hasPrefix("sqlite_") }

  private var list: String { columns.joined(separator: ", ") }

  /// In the order of the first column, which rows refer to that come later.
  var selection: String { "SELECT \(list) FROM \(name) ORDER BY 1" }

  var insertion: String {
    "INSERT INTO \(name) (\(list)) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))"
  }

  var insertionOfArrays: String {
    let places = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    return "INSERT INTO \(name) (\(list)) SELECT * FROM unnest(\(places))"
  }

  func strangeValue(_ column: Int) -> StoreError {
    StoreError(.unexpectedValue, "\(name).\(columns[column]) holds a value of an unknown type")
  }
}

extension DatabaseValue {
  /// The bytes that the value takes, about.
  fileprivate var size: Int {
    switch self {
    case .null, .integer, .real: 8
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    }
  }
}

extension SQLiteConnection {
  fileprivate func tables() throws -> [CopiedTable] {
    var columns: [String: [String]] = [:]
    try forEach(
      """
      SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name <> 'backup_files' ORDER BY t.name, c.cid
      """
    ) { row in columns[try row[0], default: []].append(try row[1]) }
    return columns.sorted { $0.key < $1.key }.map { CopiedTable(name: $0.key, columns: $0.value) }
  }

  private func remembersIdentifiers(of table: CopiedTable) throws -> Bool {
    try prepare(
      text: """
        SELECT 1 FROM sqlite_schema WHERE name = '\(table.name)' AND sql LIKE '%AUTOINCREMENT%'
        """
    ).step()
  }

  /// Returns the greatest identifier that a row of a table has ever had, where SQLite remembers it (AUTOINCREMENT); 0 elsewhere.
  fileprivate func lastIdentifier(of table: CopiedTable) throws -> Int {
    guard try remembersIdentifiers(of: table) else { return 0 }
    let statement = try prepare(
      text: "SELECT seq FROM sqlite_sequence WHERE name = '\(table.name)'")
    guard try statement.step() else { return 0 }
    return statement.column(0).flatMap(Int.init(databaseValue:)) ?? 0
  }

  /// Has the identifiers of a table go on behind one, where SQLite remembers it.
  fileprivate func setSequence(of table: CopiedTable, to identifier: Int) throws {
    guard identifier > 0, try remembersIdentifiers(of: table) else { return }
    try execute("DELETE FROM sqlite_sequence WHERE name = ?", table.name)
    try execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table.name, identifier)
  }

  fileprivate func rowCount(of tables: [CopiedTable]) throws -> Int {
    try tables.reduce(0) { sum, table in
      let statement = try prepare(text: "SELECT count(*) FROM \(table.name)")
      guard try statement.step() else { return sum }
      return sum + (statement.column(0).flatMap(Int.init(databaseValue:)) ?? 0)
    }
  }
}

extension PostgreSQLConnection {
  fileprivate func number(_ sql: String) throws -> Int {
    let result = try query(sql)
    guard result.rowCount == 1 else { return 0 }
    return result.value(0, 0).flatMap(Int.init(databaseValue:)) ?? 0
  }

  fileprivate func rowCount(of tables: [CopiedTable]) throws -> Int {
    try tables.reduce(0) { $0 + (try number("SELECT count(*) FROM \($1.name)")) }
  }

  fileprivate func isEmpty(_ table: CopiedTable) throws -> Bool {
    try number("SELECT count(*) FROM (SELECT 1 FROM \(table.name) LIMIT 1) AS first") == 0
  }

  /// Puts tables in an order in which each comes behind those that it refers to.
  fileprivate func sortedByReference(_ tables: [CopiedTable]) throws -> [CopiedTable] {
    var references: [String: Set<String>] = [:]
    try forEach(
      """
      SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
      WHERE contype = 'f' AND conrelid <> confrelid
      """
    ) { row in references[try row[0], default: []].insert(try row[1]) }
    var sorted: [CopiedTable] = []
    var rest = tables
    while !rest.isEmpty {
      let left = Set(rest.map(\.name))
      let ready = rest.filter { references[$0.name, default: []].isDisjoint(with: left) }
      guard !ready.isEmpty else {
        throw StoreError(.other, "tables refer to each other in a circle")
      }
      sorted += ready
      rest.removeAll { table in ready.contains { $0.name == table.name } }
    }
    return sorted
  }

  fileprivate func arrayTypes(of table: CopiedTable) throws -> [PostgreSQLType.ArrayType] {
    var types: [String: String] = [:]
    try forEach(
      "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = ?::regclass",
      table.name
    ) { row in types[try row[0]] = try row[1] }
    return try table.columns.map { column in
      switch types[column] {
      case "bigint": .int8
      case "bytea": .bytea
      case "text": .text
      case "double precision": .float8
      default:
        throw StoreError.incompatibleSchema("\(table.name).\(column) has another type here")
      }
    }
  }

  private func identityColumns(of table: CopiedTable) throws -> [String] {
    try values(
      """
      SELECT attname FROM pg_attribute
      WHERE attrelid = ?::regclass AND attidentity <> '' AND NOT attisdropped
      """, table.name)
  }

  /// Returns the greatest identifier that a row of a table has ever had; 0 where none is made.
  fileprivate func lastIdentifier(of table: CopiedTable) throws -> Int {
    guard let column = try identityColumns(of: table).first else { return 0 }
    return try number(
      """
      SELECT coalesce(pg_sequence_last_value(
        pg_get_serial_sequence('\(table.name)', '\(column)')::regclass), 0)
      """)
  }

  /// Has identifiers go on behind those that were copied, and behind those of rows that went before: they may be remembered elsewhere,
  /// as the end of a topic is.
  fileprivate func setSequences(of table: CopiedTable, behind last: Int) throws {
    for column in try identityColumns(of: table) {
      _ = try query(
        """
        SELECT setval(pg_get_serial_sequence('\(table.name)', '\(column)'),
          (SELECT greatest(coalesce(max(\(column)), 0), \(last)) + 1 FROM \(table.name)), false)
        """)
    }
  }
}
