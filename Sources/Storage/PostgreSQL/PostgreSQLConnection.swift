internal import CPostgreSQL
internal import Glibc
internal import Platform

/// One connection to PostgreSQL with its prepared statements. Its calls wait for the server.
///
/// It is unchecked for the reason of its base class.
@safe final class PostgreSQLConnection: DatabaseConnection, @unchecked Sendable {
  private let handle: OpaquePointer
  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  private var changedRows = 0
  /// The number of statements that were prepared, for their names.
  private var preparations = 0
  /// The first failure of a statement in the transaction. PostgreSQL accepts no other statement after it.
  private(set) var failure: StoreError?
  /// The BEGIN that goes to the server together with the transaction's first statement.
  private var pendingBegin: StaticString?
  /// The time of the round trip with which a pipeline has committed the transaction.
  private var committed: Duration?

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
    // A process that hangs must not keep its rows from others for ever. Every COMMIT is on the disk before it returns;
    // stricter settings of the administrator's, about standbys, stay.
    try run(
      """
      SET standard_conforming_strings = on; SET jit = off;
      SET lock_timeout = \(lockTimeout.milliseconds);
      SET idle_in_transaction_session_timeout = 10000;
      SELECT set_config('synchronous_commit', 'on', false)
      WHERE current_setting('synchronous_commit') = 'off'
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

  private func isLost(_ error: StoreError) -> Bool { isBroken || error.code == .ioError }

  /// Throws unless a COMMIT has committed: where the transaction has failed without the store's knowledge, it rolls back.
  private func checkCommitted(_ result: PostgreSQLResult) throws(StoreError) {
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

  /// Runs prepared statements in one round trip, behind a BEGIN that waits.
  ///
  /// - Parameters:
  ///   - statements: the statements with their parameters, in order.
  ///   - commits: whether a COMMIT goes behind them.
  /// - Returns: the result of each statement.
  /// - Throws: the first failure, after which the transaction has to be rolled back; `.unknown` if the connection was lost
  ///   before the outcome of a COMMIT was known.
  func run(
    _ statements: [(statement: PreparedStatement, parameters: PostgreSQLParameters)], commits: Bool
  ) throws(StoreError) -> [PostgreSQLResult] {
    for (statement, parameters) in statements { try prepare(statement, for: parameters) }
    let start = ContinuousClock.now
    let begin = pendingBegin
    pendingBegin = nil
    guard unsafe PQenterPipelineMode(handle) == 1 else { throw lost() }
    defer { _ = unsafe PQexitPipelineMode(handle) }
    if let begin { try send(begin) }
    for (statement, parameters) in statements { try send(statement, parameters) }
    if commits { try send("COMMIT") }
    guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
    var results: [PostgreSQLResult] = []
    do throws(StoreError) {
      if begin != nil { _ = try nextResult() }
      for _ in statements {
        let result = try nextResult()
        if let count = result.changedRows { changedRows = count }
        results.append(result)
      }
      if commits {
        try checkCommitted(try nextResult())
        committed = ContinuousClock.now - start
      }
    } catch {
      endPipeline()
      // Behind a statement that has failed the server ignores the COMMIT.
      let hasStatementFailed = results.count < statements.count && error.sqlState != nil
      guard commits, !hasStatementFailed, isLost(error) else { throw error }
      let unknown = StoreError.lostDuringCommit(error)
      failure = unknown
      throw unknown
    }
    endPipeline()
    return results
  }

  private func send(_ sql: StaticString) throws(StoreError) {
    guard unsafe PQsendQueryParams(handle, "\(sql)", 0, nil, nil, nil, nil, 1) == 1 else {
      throw lost()
    }
  }

  private func send(
    _ statement: PreparedStatement, _ parameters: PostgreSQLParameters
  ) throws(StoreError) {
    let isSent = unsafe parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryPrepared(
        handle, statement.name, Int32(parameters.count), values, lengths, formats, 1)
    }
    guard isSent == 1 else { throw lost() }
  }

  /// Returns the result of the pipeline's next statement.
  private func nextResult() throws(StoreError) -> PostgreSQLResult {
    let answer = try unsafe result(PQgetResult(handle))
    // Its end.
    while let rest = unsafe PQgetResult(handle) { unsafe PQclear(rest) }
    return answer
  }

  /// Reads what the server has left to say up to the end of the pipeline.
  private func endPipeline() {
    var isAtEnd = false
    while !isAtEnd, !isBroken {
      let rest = unsafe PQgetResult(handle)
      isAtEnd = unsafe PQresultStatus(rest) == PGRES_PIPELINE_SYNC
      unsafe PQclear(rest)
    }
  }

  /// Makes the failure of libpq's own that has just happened, after which the connection is lost.
  private func lost() -> StoreError {
    hasFailed = true
    let error = StoreError(sqlState: nil, message: unsafe Self.line(PQerrorMessage(handle)))
    failure = failure ?? error
    return error
  }

  /// Prepares a statement unless the server has it with parameters of these types. The type of one that has been NULL so
  /// far may become known later.
  private func prepare(
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

  private func result(_ handle: OpaquePointer?) throws(StoreError) -> PostgreSQLResult {
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

/// The answer to a statement, with all its rows.
@safe final class PostgreSQLResult {
  private let handle: OpaquePointer

  /// Takes a result of libpq's.
  ///
  /// - Throws: the failure that it tells.
  init(_ handle: OpaquePointer?) throws(StoreError) {
    guard let handle = unsafe handle else {
      throw StoreError(sqlState: nil, message: "there is no answer")
    }
    unsafe self.handle = handle
    switch unsafe PQresultStatus(handle) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: return
    case PGRES_EMPTY_QUERY: throw StoreError(.other, "no statement in the SQL text")
    default:
      // The details and hints of a failure quote rows. One of libpq's own has neither, and no fields.
      let words = unsafe String(cString: PQresultErrorMessage(handle)).firstLine
      throw StoreError(sqlState: field("C"), message: field("M") ?? words)
    }
  }

  deinit { unsafe PQclear(handle) }

  /// A field of a failure, by its letter in the protocol.
  private func field(_ letter: Unicode.Scalar) -> String? {
    guard let text = unsafe PQresultErrorField(handle, Int32(letter.value)) else { return nil }
    return unsafe String(cString: text)
  }

  /// The server's tag for the completed command, such as `COMMIT` or `UPDATE 3`.
  var command: String { unsafe String(cString: PQcmdStatus(handle)) }

  /// The number of rows that were changed, or nil if the statement isn't one that changes rows.
  var changedRows: Int? {
    guard ["INSERT", "UPDATE", "DELETE"].contains(where: command.hasPrefix) else { return nil }
    return unsafe Int(String(cString: PQcmdTuples(handle)))
  }

  var rowCount: Int { Int(unsafe PQntuples(handle)) }

  var columnCount: Int { Int(unsafe PQnfields(handle)) }

  func columnName(_ column: Int) -> String {
    guard let name = unsafe PQfname(handle, Int32(column)) else { return "" }
    return unsafe String(cString: name)
  }

  /// Returns a value, or nil if it has a type that a store doesn't know.
  func value(_ row: Int, _ column: Int) -> DatabaseValue? {
    guard unsafe PQgetisnull(handle, Int32(row), Int32(column)) == 0 else { return .null }
    let bytes = unsafe Span<UInt8>(_unsafeBytes: self.bytes(row, column))
    return DatabaseValue(bytes, of: unsafe PQftype(handle, Int32(column)))
  }

  /// Returns the bytes of a blob or a text, and none for other values, while the result lives.
  func contents(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    let type = unsafe PQftype(handle, Int32(column))
    guard type == PostgreSQLType.bytea || PostgreSQLType.isText(type) else {
      return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return unsafe bytes(row, column)
  }

  private func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(
      start: PQgetvalue(handle, Int32(row), Int32(column)),
      count: Int(PQgetlength(handle, Int32(row), Int32(column))))
  }
}

extension String {
  /// The text up to the end of its first line, as libpq adds hints in others.
  fileprivate var firstLine: String {
    split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
  }
}

/// The text of a statement as PostgreSQL accepts it: `?` and `?3` are `$1` and `$3`, numbered as SQLite does, and
/// `/*postgresql FOR UPDATE */` is `FOR UPDATE`, which is a comment to SQLite.
struct PostgreSQLText {
  private static let opening = Array("/*postgresql ".utf8)
  private static let closing = Array("*/".utf8)

  private(set) var text = ""
  private(set) var parameterCount = 0

  /// Rewrites a text, and leaves what is between quotes as it is.
  init(_ sql: StaticString) {
    var bytes: [UInt8] = []
    var quote: UInt8?
    var isOpen = false
    var rest = Array("\(sql)".utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        if quote == nil { quote = byte } else if quote == byte { quote = nil }
        bytes.append(byte)
      case UInt8(ascii: "?") where quote == nil:
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        let number = Int(String(decoding: digits, as: UTF8.self)) ?? parameterCount + 1
        parameterCount = max(parameterCount, number)
        bytes += "$\(number)".utf8
      case Self.opening[0] where quote == nil && rest.starts(with: Self.opening.dropFirst()):
        rest = rest.dropFirst(Self.opening.count - 1)
        isOpen = true
      case Self.closing[0] where isOpen && quote == nil && rest.first == Self.closing[1]:
        rest = rest.dropFirst()
        isOpen = false
      default: bytes.append(byte)
      }
    }
    text = String(decoding: bytes, as: UTF8.self)
  }

  /// True if it begins or ends a transaction or a part of one, which only the store may do.
  var controlsTransactions: Bool {
    let word = text.drop(while: \.isWhitespace).prefix(while: \.isLetter).uppercased()
    return [
      "ABORT", "BEGIN", "COMMIT", "END", "PREPARE", "RELEASE", "ROLLBACK", "SAVEPOINT", "START",
    ].contains(word)
  }
}

extension StoreError {
  /// Makes an error of PostgreSQL's.
  ///
  /// - Parameters:
  ///   - sqlState: the SQLSTATE, or nil if the connection was lost.
  ///   - message: the primary message, or libpq's words. It isn't shown where it may quote a value.
  init(sqlState: String?, message: String) {
    guard let sqlState else {
      self.init(.ioError, "the connection to PostgreSQL was lost: \(message)")
      return
    }
    let quotes = sqlState.hasPrefix("22")
    self.init(
      Code(sqlState: sqlState), quotes ? "PostgreSQL refuses a value" : message,
      resultCode: .sqlState(sqlState))
  }

  /// Makes the error of a connection that was lost before the answer to a COMMIT came.
  static func lostDuringCommit(_ error: StoreError) -> StoreError {
    StoreError(
      .unknown, "the connection to PostgreSQL was lost during COMMIT", resultCode: error.resultCode)
  }

  /// PostgreSQL's code, if the error is one of its own.
  var sqlState: String? {
    guard case .sqlState(let code)? = resultCode else { return nil }
    return code
  }
}

extension StoreError.Code {
  /// - Parameter sqlState: a code of PostgreSQL's (Appendix A of its manual).
  init(sqlState: String) {
    switch sqlState {
    case "23505": self = .constraint(.unique)
    case "23503": self = .constraint(.foreignKey)
    case "23502": self = .constraint(.notNull)
    case "23514": self = .constraint(.check)
    // Of the disk; the others of their class are of memory, connections and the like.
    case "53100": self = .full
    // A transaction that may only read; a user who may not do this.
    case "25006", "42501": self = .readOnly
    case "XX001", "XX002": self = .corrupt
    // A conflict, a deadlock, the end of the patience for a lock, a cancelled query.
    case "40001", "40P01", "55P03", "57014": self = .busy
    default:
      switch sqlState.prefix(2) {
      case "22", "23": self = .constraint(.other)
      case "53": self = .busy
      case "08", "57", "58": self = .ioError
      default: self = .other
      }
    }
  }
}
