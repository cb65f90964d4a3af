internal import CPostgreSQL

/// A statement as the server has prepared it.
final class PreparedStatement {
  /// The name within the connection.
  let name: String
  let text: PostgreSQLText
  /// The types of the parameters, or nil before the first use.
  var types: [Oid]?

  init(name: String, text: PostgreSQLText) {
    self.name = name
    self.text = text
  }
}

/// One use of a prepared statement of a PostgreSQL connection, with its values and then its rows.
@safe final class PostgreSQLStatement: DatabaseStatement {
  // The connection holds its statements.
  private unowned let connection: PostgreSQLConnection
  let prepared: PreparedStatement
  private var parameters = PostgreSQLParameters()
  private var result: PostgreSQLResult?
  /// The current row, or -1 before the first.
  private var row = -1

  init(_ sql: StaticString, on connection: PostgreSQLConnection, as prepared: PreparedStatement) {
    self.connection = connection
    self.prepared = prepared
    super.init(sql, parameterCount: prepared.text.parameterCount)
  }

  /// Reads the rows of a result that is there already.
  convenience init(_ statement: PostgreSQLStatement, result: PostgreSQLResult) {
    self.init(statement.sql, on: statement.connection, as: statement.prepared)
    self.result = result
  }

  override var isBusy: Bool { result != nil }

  override func bind(_ value: DatabaseValue, at index: Int) throws(StoreError) {
    try parameters.append(value)
  }

  func checkCount(of parameters: PostgreSQLParameters) throws(StoreError) {
    guard parameters.count == parameterCount else { throw wrongCount(parameters.count) }
  }

  override func step() throws(StoreError) -> Bool {
    if result == nil { result = try connection.execute(prepared, parameters) }
    row += 1
    return row < result?.rowCount ?? 0
  }

  override func reset() {
    parameters = PostgreSQLParameters()
    result = nil
    row = -1
  }

  override var columnCount: Int { result?.columnCount ?? 0 }

  override func columnName(_ index: Int) -> String { result?.columnName(index) ?? "" }

  override func column(_ index: Int) -> DatabaseValue? { result?.value(row, index) }

  override func columnBytes(_ index: Int) -> UnsafeRawBufferPointer {
    unsafe result?.contents(row, index) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}
