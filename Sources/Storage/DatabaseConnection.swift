/// One connection to a database, with its prepared statements. ``Transaction`` and ``Snapshot`` hold one.
///
/// A class for each kind of database derives from it, and overrides what traps here. It is unchecked
/// because each connection is used by one thread at a time: the thread that opens it either keeps it or hands it to a
/// worker before that starts.
@safe @usableFromInline class DatabaseConnection: Queryable, @unchecked Sendable {
  private var statements = StatementCache()

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  var changes: Int { missing() }

  /// Throws if the transaction has ended or failed, so that a closure that ignored the failure can't run statements
  /// outside of it.
  @usableFromInline func requireTransaction() throws(StoreError) { missing() }

  /// Prepares a statement.
  func prepare(_ sql: StaticString) throws(StoreError) -> DatabaseStatement { missing() }

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

/// One prepared statement of one connection. A class for each kind of database derives from it, and overrides what
/// traps here.
///
/// It is a class because the cache and the code that steps it hold it at the same time.
///
/// Functions that are generic over the values are specialized for each caller's types, down to those that take a
/// ``DatabaseValue``: shared code would look up the types' metadata at every statement.
@safe @usableFromInline class DatabaseStatement {
  /// The text.
  final let sql: StaticString
  /// The number of parameters.
  @usableFromInline final let parameterCount: Int

  init(_ sql: StaticString, parameterCount: Int = 0) {
    self.sql = sql
    self.parameterCount = parameterCount
  }

  /// True if the statement has been stepped and not yet reset.
  var isBusy: Bool { missing() }

  /// Binds every parameter, in order.
  ///
  /// - Throws: `.other` unless there are as many values as parameters.
  @inlinable final func bind<each Value: DatabaseValueConvertible>(
    _ values: repeat each Value
  ) throws(StoreError) {
    var count = 0
    for value in repeat each values {
      count += 1
      guard count <= parameterCount else { continue }
      try bind(value.databaseValue, at: count)
    }
    guard count == parameterCount else { throw wrongCount(count) }
  }

  /// Makes the error for a number of values that differs from the number of parameters.
  @usableFromInline final func wrongCount(_ count: Int) -> StoreError {
    StoreError(.other, "the statement takes \(parameterCount) values, not \(count)")
  }

  /// Binds a value to a parameter, counted from 1. Each is bound once, in order.
  @usableFromInline func bind(_ value: DatabaseValue, at index: Int) throws(StoreError) {
    missing()
  }

  /// Goes to the next row.
  ///
  /// - Returns: false if there is none.
  @usableFromInline func step() throws(StoreError) -> Bool { missing() }

  /// Prepares the next use, and drops the bytes that were bound, which may be many or secret.
  @usableFromInline func reset() { missing() }

  /// The number of columns of a row.
  var columnCount: Int { missing() }

  /// Returns the name of a column, as the SQL text gives it.
  func columnName(_ index: Int) -> String { missing() }

  /// Returns the value of a column of the current row, or nil if no ``DatabaseValue`` can hold it.
  @usableFromInline func column(_ index: Int) -> DatabaseValue? { missing() }

  /// Returns the bytes of a column of the current row, which are valid until the next call.
  @usableFromInline func columnBytes(_ index: Int) -> UnsafeRawBufferPointer { missing() }

  /// Passes the bytes of a column of the current row to a closure: a blob's, or a text's in UTF-8.
  @inlinable final func withColumnBytes<Result, Failure: Error>(
    _ index: Int, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result { try unsafe body(Span(_unsafeBytes: columnBytes(index))) }
}

extension DatabaseValue {
  /// Makes a text of bytes in UTF-8, or nil if they aren't.
  init?(text bytes: Span<UInt8>) {
    guard let text = try? UTF8Span(validating: bytes) else { return nil }
    self = .text(String(copying: text))
  }

  init(blob bytes: Span<UInt8>) {
    self = .blob(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
  }
}

/// The prepared statements of a connection, found by the address of their text in the program.
///
/// Literals of the same address and length are the same text, and literals live forever. A dictionary's hash, which
/// resists attacks, would take a fifth of a short statement's time.
struct StatementCache {
  /// The slots, a power of two in number. At most half of them are taken.
  private var slots: [DatabaseStatement?] = Array(repeating: nil, count: 128)
  private var count = 0

  /// Returns the statement that was made of a text, if there is one.
  func statement(of sql: StaticString) -> DatabaseStatement? { slots[slot(of: sql)] }

  /// Adds a statement, in place of another of the same text.
  mutating func insert(_ statement: DatabaseStatement) {
    count += 1
    if count > slots.count / 2 {
      let smaller = slots
      slots = Array(repeating: nil, count: 2 * smaller.count)
      for case let statement? in smaller { slots[slot(of: statement.sql)] = statement }
    }
    slots[slot(of: statement.sql)] = statement
  }

  /// Releases all statements.
  mutating func removeAll() { self = StatementCache() }

  /// Returns the slot of a text's statement, or the free slot for it.
  private func slot(of sql: StaticString) -> Int {
    // The product's middle depends on all bits in which the addresses of a program differ.
    var slot = Int(truncatingIfNeeded: (sql.address &* 0x9e37_79b9_7f4a_7c15) >> 32)
    while true {
      slot &= slots.count - 1
      guard let other = slots[slot]?.sql else { return slot }
      if other.address == sql.address, other.utf8CodeUnitCount == sql.utf8CodeUnitCount {
        return slot
      }
      slot += 1
    }
  }
}

extension StaticString {
  fileprivate var address: UInt { withUTF8Buffer { UInt(bitPattern: $0.baseAddress) } }
}

/// Ends the program, as a class lacks what each of its kind has to override.
func missing(_ function: StaticString = #function) -> Never {
  preconditionFailure("a class doesn't override \(function)")
}
