/// One connection to a database, with its prepared statements. ``Transaction`` and ``Snapshot`` hold one.
///
/// A class for each kind of database derives from it; what is declared here without an effect is theirs. It is unchecked
/// because each connection is used by one thread at a time: the thread that opens it either keeps it or hands it to a
/// worker before that starts.
@safe @usableFromInline class DatabaseConnection: Queryable, @unchecked Sendable {
  private var statements = StatementCache()

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  var changes: Int { 0 }

  /// Throws if the transaction has ended or failed, so that a closure that ignored the failure can't run statements
  /// outside of it.
  @usableFromInline func requireTransaction() throws(StoreError) {}

  /// Prepares a statement.
  func prepare(_ sql: StaticString) throws(StoreError) -> DatabaseStatement {
    DatabaseStatement(sql)
  }

  /// Prepares another statement of the same text, for use while the first is busy.
  func another(like statement: DatabaseStatement) throws(StoreError) -> DatabaseStatement {
    try prepare(statement.sql)
  }

  /// Returns the statement of a text, which is prepared at its first use.
  @usableFromInline final func statement(
    _ sql: StaticString
  ) throws(StoreError) -> DatabaseStatement {
    if let cached = statements.statement(of: sql) {
      // A query inside its own row closure needs a second statement.
      return cached.isBusy ? try another(like: cached) : cached
    }
    let statement = try prepare(sql)
    statements.insert(statement)
    return statement
  }

  /// Releases all prepared statements.
  final func forgetStatements() { statements.removeAll() }

  /// Runs a statement to its end.
  @inlinable final func execute<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value
  ) throws(StoreError) {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(repeat each values)
    while try statement.step() {}
  }

  /// Runs a query, and passes each row to a closure.
  @inlinable final func forEach<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value, body: (borrowing Row) throws -> Void
  ) throws {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(repeat each values)
    let row = Row(statement)
    while try statement.step() { try body(row) }
  }
}
