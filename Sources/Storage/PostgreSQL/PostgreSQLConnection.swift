internal import CPostgreSQL
internal import Glibc
internal import Platform

/// One connection to PostgreSQL with its prepared statements. Its calls wait for the server.
///
/// It is unchecked for the reason of its base class.
@safe final class PostgreSQLConnection: DatabaseConnection, @unchecked Sendable {
  let handle: OpaquePointer
  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  var changedRows = 0
  /// The number of statements that were prepared, for their names.
  private var preparations = 0
  /// The first failure of a statement in the transaction. PostgreSQL accepts no other statement after it.
  var failure: StoreError?
  /// The BEGIN that goes to the server together with the transaction's first statement.
  var pendingBegin: StaticString?
  /// The time of the round trip with which a pipeline has committed the transaction.
  var committed: Duration?

  /// Connects, and sets what the store relies on.
  init(_ address: PostgreSQLAddress, lockTimeout: Duration) throws(StoreError) {
    // What the URL says overrides what is above it.
    let parameters: [(String, String)] = [
      ("application_name", "awd"), ("connect_timeout", "5"), ("tcp_user_timeout", "10000"),
      ("keepalives_idle", "20"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("dbname", address.url), ("password", address.password), ("client_encoding", "UTF8"),
    ]
    let keywords = unsafe parameters.map { unsafe UnsafePointer(strdup($0.0)) } + [nil]
    let values = unsafe parameters.map { unsafe UnsafePointer(strdup($0.1)) } + [nil]
    defer { unsafe (keywords + values).forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
    guard let handle = unsafe PQconnectdbParams(keywords, values, 1) else {
      throw StoreError(.busy, "there is no memory left")
    }
    unsafe self.handle = handle
    super.init()
    guard !isBroken else {
      throw StoreError(
        .ioError, "cannot connect to PostgreSQL: \(unsafe Self.line(PQerrorMessage(handle)))")
    }
    // Notices would go to standard error.
    unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
    // A process that hangs must not keep its rows from others for ever. A server isn't told that a network or a machine is
    // gone: by the system's defaults it would keep a node's connections for two hours, beside those that the node makes anew,
    // and have none left after a few times.
    // Every COMMIT is on the disk before it returns; stricter settings of the administrator's, about standbys, stay.
    // Nearly all rows are found by a key and lie in memory: at the price that random pages have otherwise, a table of a few
    // pages is read whole for each row of a batch.
    try run(
      """
      SET standard_conforming_strings = on; SET jit = off;
      SET lock_timeout = \(lockTimeout.milliseconds);
      SET idle_in_transaction_session_timeout = 10000;
      SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
      SELECT set_config('synchronous_commit', 'on', false)
      WHERE current_setting('synchronous_commit') = 'off';
      SELECT set_config('random_page_cost', '1.1', false)
      WHERE current_setting('random_page_cost') = '4'
      """)
  }

  deinit {
    forgetStatements()
    unsafe PQfinish(handle)
  }

  /// True if a failure was libpq's own: then the connection is lost, whatever libpq says of it.
  private var hasFailed = false

  /// True if the connection is lost. This is known only after a statement has failed.
  var isBroken: Bool { unsafe hasFailed || PQstatus(handle) != CONNECTION_OK }

  override var changes: Int { changedRows }

  override func requireTransaction() throws(StoreError) {
    if let failure { throw failure }
    guard committed == nil else {
      throw StoreError(.other, "the transaction is committed already")
    }
  }

  override func prepare(_ sql: StaticString) throws(StoreError) -> DatabaseStatement {
    let text = PostgreSQLText(sql)
    guard !text.controlsTransactions else {
      throw StoreError(.other, "only the store begins and ends transactions")
    }
    preparations += 1
    return PostgreSQLStatement(
      sql, on: self, as: PreparedStatement(name: "awd\(preparations)", text: text))
  }

  /// Returns a statement for use in a pipeline.
  ///
  /// - Throws: `.other` unless there are as many parameters as it takes.
  func pipelined(
    _ sql: StaticString, _ parameters: PostgreSQLParameters
  ) throws(StoreError) -> PostgreSQLStatement {
    guard let statement = try statement(sql) as? PostgreSQLStatement else {
      throw StoreError(.other, "the statement is of another database")
    }
    try statement.checkCount(of: parameters)
    return statement
  }

  override func another(like statement: DatabaseStatement) throws(StoreError) -> DatabaseStatement {
    guard let statement = statement as? PostgreSQLStatement else {
      return try prepare(statement.sql)
    }
    return PostgreSQLStatement(statement.sql, on: self, as: statement.prepared)
  }

  /// Returns a setting that the server reports of itself, such as `server_encoding`.
  func setting(_ name: String) -> String? {
    guard let value = unsafe PQparameterStatus(handle, name) else { return nil }
    return unsafe String(cString: value)
  }

  /// The version of the server: 150004 is 15.4.
  var serverVersion: Int { Int(unsafe PQserverVersion(handle)) }
}

// MARK: - Transactions

extension PostgreSQLConnection {
  /// Runs a script of any number of statements, without values or rows.
  func run(_ script: String) throws(StoreError) {
    try sendBegin()
    _ = unsafe try result(PQexec(handle, script))
  }

  /// Runs a query that is made of names of the schema, without values.
  func query(_ sql: String) throws(StoreError) -> PostgreSQLResult {
    try sendBegin()
    return unsafe try result(PQexecParams(handle, sql, 0, nil, nil, nil, nil, 1))
  }

  /// Runs a query that is made of names of the schema, and passes each row to a closure as it comes, so that no more than a
  /// row is held. After an error the connection must not be used any more.
  func stream(_ sql: String, _ body: (PostgreSQLResult) throws -> Void) throws {
    try sendBegin()
    guard unsafe PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1) == 1,
      unsafe PQsetSingleRowMode(handle) == 1
    else { throw StoreError(sqlState: nil, message: unsafe Self.line(PQerrorMessage(handle))) }
    while let answer = unsafe PQgetResult(handle) {
      let row = try unsafe result(answer)
      if row.rowCount > 0 { try body(row) }
    }
  }

  /// Runs a statement that is made of names of the schema.
  func execute(text sql: String, _ parameters: PostgreSQLParameters) throws(StoreError) {
    try sendBegin()
    _ = try unsafe result(
      parameters.withPointers { values, lengths, formats in
        unsafe PQexecParams(
          handle, sql, Int32(parameters.count), parameters.types, values, lengths, formats, 1)
      })
  }

  /// Begins a transaction. The server hears of it with the first statement, so that it costs no round trip.
  ///
  /// - Parameter sql: the BEGIN with its isolation, or nil for one query, which is a transaction by itself.
  func begin(_ sql: StaticString?) {
    failure = nil
    committed = nil
    pendingBegin = sql
  }

  private func sendBegin() throws(StoreError) {
    guard let sql = pendingBegin else { return }
    pendingBegin = nil
    _ = unsafe try result(PQexec(handle, "\(sql)"))
  }

  /// Commits the transaction, which no statement has failed in, unless a pipeline has done so.
  ///
  /// - Returns: the time of the round trip, or zero if no statement was run.
  /// - Throws: `.unknown` if the answer didn't come, or the failure with which the transaction is undone.
  func commit() throws(StoreError) -> Duration {
    if let committed { return committed }
    guard pendingBegin == nil else { return .zero }
    let start = ContinuousClock.now
    do throws(StoreError) {
      try checkCommitted(try unsafe result(PQexec(handle, "COMMIT")))
    } catch {
      throw isLost(error) ? .lostDuringCommit(error) : error
    }
    return ContinuousClock.now - start
  }

  func isLost(_ error: StoreError) -> Bool { isBroken || error.code == .ioError }

  /// Throws unless a COMMIT has committed: where the transaction has failed without the store's knowledge, it rolls back.
  func checkCommitted(_ result: PostgreSQLResult) throws(StoreError) {
    guard result.command == "COMMIT" else {
      throw StoreError(.other, "PostgreSQL has undone the transaction: \(result.command)")
    }
  }

  /// Ends the open transaction, if there is one, without its changes.
  func rollBack() {
    pendingBegin = nil
    // If this fails, the next BEGIN does too, and says why.
    if unsafe PQtransactionStatus(handle) != PQTRANS_IDLE { try? run("ROLLBACK") }
  }

  /// Releases all prepared statements, as the server's may be of tables that have changed.
  func prepareAnew() {
    forgetStatements()
    try? run("DEALLOCATE ALL")
  }
}

// MARK: - Notifications

extension PostgreSQLConnection {
  /// The descriptor that becomes readable when the server has sent something.
  var socket: Int32 { unsafe PQsocket(handle) }

  /// Takes what the server has sent, without waiting.
  ///
  /// - Throws: `.ioError` if the connection is lost.
  func receive() throws(StoreError) {
    guard unsafe PQconsumeInput(handle) == 1, !isBroken else {
      hasFailed = true
      throw StoreError(sqlState: nil, message: unsafe Self.line(PQerrorMessage(handle)))
    }
  }

  /// Returns the payloads of the notifications that were received, in order.
  func receivedNotifications() -> [String] {
    var payloads: [String] = []
    while let notification = unsafe PQnotifies(handle) {
      unsafe payloads.append(String(cString: notification.pointee.extra))
      unsafe PQfreemem(notification)
    }
    return payloads
  }
}

// MARK: - Statements

extension PostgreSQLConnection {
  /// Runs a prepared statement.
  ///
  /// - Returns: the result with all rows.
  func execute(
    _ statement: PreparedStatement, _ parameters: PostgreSQLParameters
  ) throws(StoreError) -> PostgreSQLResult {
    try prepare(statement, for: parameters)
    if pendingBegin != nil { return try run([(statement, parameters)], commits: false)[0] }
    let result = try unsafe result(
      parameters.withPointers { values, lengths, formats in
        unsafe PQexecPrepared(
          handle, statement.name, Int32(parameters.count), values, lengths, formats, 1)
      })
    if let count = result.changedRows { changedRows = count }
    return result
  }

  /// Makes the failure of libpq's own that has just happened, after which the connection is lost.
  func lost() -> StoreError {
    hasFailed = true
    let error = StoreError(sqlState: nil, message: unsafe Self.line(PQerrorMessage(handle)))
    failure = failure ?? error
    return error
  }

  /// Prepares a statement unless the server has it with parameters of these types. The type of one that has been NULL so
  /// far may become known later.
  func prepare(
    _ statement: PreparedStatement, for parameters: PostgreSQLParameters
  ) throws(StoreError) {
    var types = parameters.types
    for (index, type) in (statement.types ?? []).enumerated()
    where types[index] == PostgreSQLType.inferred {
      types[index] = type
    }
    guard types != statement.types else { return }
    if statement.types != nil {
      try run("DEALLOCATE \(statement.name)")
      statement.types = nil
    }
    _ = unsafe try result(
      PQprepare(handle, statement.name, statement.text.text, Int32(types.count), types))
    statement.types = types
  }

  func result(_ handle: OpaquePointer?) throws(StoreError) -> PostgreSQLResult {
    do throws(StoreError) { return try unsafe PostgreSQLResult(handle) } catch {
      failure = failure ?? error
      if error.sqlState == nil, error.code == .ioError { hasFailed = true }
      throw error
    }
  }

  /// Returns libpq's words as one line.
  private static func line(_ message: UnsafePointer<CChar>?) -> String {
    guard let message = unsafe message else { return "" }
    return unsafe String(cString: message).split(whereSeparator: \.isNewline)
      .map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
  }
}
