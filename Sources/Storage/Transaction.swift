/// A transaction that can be queried, for reading or for writing.
public protocol Queryable: ~Copyable {
  /// Runs a query, and passes each row to a closure, in order.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection.
  ///   - values: one value for each parameter, in order.
  /// - Throws: ``StoreError``, or the closure's error.
  borrowing func forEach<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value, body: (borrowing Row) throws -> Void
  ) throws
}

extension Queryable where Self: ~Copyable {
  /// Runs a query, and makes an element of each row.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection. It should limit the number of rows.
  ///   - values: one value for each parameter, in order.
  /// - Returns: the elements, in order.
  /// - Throws: ``StoreError``, or the closure's error.
  @inlinable public borrowing func all<each Value: DatabaseValueConvertible, Element>(
    _ sql: StaticString, _ values: repeat each Value,
    transform: (borrowing Row) throws -> Element
  ) throws -> [Element] {
    var elements: [Element] = []
    try forEach(sql, repeat each values) { row in elements.append(try transform(row)) }
    return elements
  }

  /// Runs a query that gives at most one row, and makes an element of it.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection. Of several rows, the last counts.
  ///   - values: one value for each parameter, in order.
  /// - Returns: the element, or nil if there is no row.
  /// - Throws: ``StoreError``, or the closure's error.
  @inlinable public borrowing func one<each Value: DatabaseValueConvertible, Element>(
    _ sql: StaticString, _ values: repeat each Value,
    transform: (borrowing Row) throws -> Element
  ) throws -> Element? {
    var element: Element?
    try forEach(sql, repeat each values) { row in element = try transform(row) }
    return element
  }
}

extension Queryable where Self: ~Copyable {
  /// Runs a query that gives at most one row, of one column, and returns what it holds, or nil if there is no row. See
  /// ``one(_:_:transform:)``.
  @inlinable
  public borrowing func value<
    each Value: DatabaseValueConvertible, Result: DatabaseValueConvertible
  >(_ sql: StaticString, _ values: repeat each Value) throws -> Result? {
    try one(sql, repeat each values) { try $0[0] }
  }

  /// Runs a query for one column, and returns what its rows hold, in order. See ``all(_:_:transform:)``.
  @inlinable
  public borrowing func values<
    each Value: DatabaseValueConvertible, Result: DatabaseValueConvertible
  >(_ sql: StaticString, _ values: repeat each Value) throws -> [Result] {
    try all(sql, repeat each values) { try $0[0] }
  }

  /// Runs a query, and returns whether it gives a row.
  @inlinable public borrowing func exists<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value
  ) throws -> Bool { try one(sql, repeat each values) { _ in } != nil }
}

/// A consistent view of the database, valid within one closure of ``Store/read(_:)``.
@safe public struct Snapshot: ~Copyable, Queryable {
  @usableFromInline let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }

  /// Runs a query, and passes each row to a closure, in order. See ``Queryable``.
  @inlinable public borrowing func forEach<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value, body: (borrowing Row) throws -> Void
  ) throws { try connection.forEach(sql, repeat each values, body: body) }
}

/// The right to change the database, valid within one closure of ``Store/write(_:)``.
@safe public struct Transaction: ~Copyable, Queryable {
  @usableFromInline let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }

  /// Runs a query or a statement with RETURNING, and passes each row to a closure, in order. See ``Queryable``.
  @inlinable public borrowing func forEach<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value, body: (borrowing Row) throws -> Void
  ) throws {
    try connection.requireTransaction()
    try connection.forEach(sql, repeat each values, body: body)
  }

  /// Runs a statement to its end.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection.
  ///   - values: one value for each parameter, in order.
  /// - Throws: ``StoreError``. Then the statement has changed nothing.
  @inlinable public borrowing func execute<each Value: DatabaseValueConvertible>(
    _ sql: StaticString, _ values: repeat each Value
  ) throws(StoreError) {
    try connection.requireTransaction()
    try connection.execute(sql, repeat each values)
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE changed, without the effects of triggers and foreign keys.
  public var changes: Int { connection.changes }
}

/// The current row of a query, valid within a closure.
@safe public struct Row: ~Copyable {
  @usableFromInline let statement: DatabaseStatement

  @inlinable init(_ statement: DatabaseStatement) { self.statement = statement }

  /// The value in a column, counted from 0.
  ///
  /// NULL can only be read as an optional. No type is converted to another.
  ///
  /// - Throws: ``StoreError`` `.unexpectedValue` if the column does not exist or holds another type.
  @inlinable public subscript<Value: DatabaseValueConvertible>(index: Int) -> Value {
    get throws(StoreError) {
      try check(index)
      guard let stored = statement.column(index), let value = Value(databaseValue: stored) else {
        throw unexpectedValue(index, Value.self)
      }
      return value
    }
  }

  /// Passes the bytes of a column to a closure without copying them.
  ///
  /// - Parameters:
  ///   - index: the column, counted from 0.
  ///   - body: takes a blob's bytes, a text's bytes in UTF-8, or no bytes for NULL.
  /// - Returns: the closure's result.
  /// - Throws: ``StoreError`` `.unexpectedValue` if the column does not exist, or the closure's error.
  @inlinable public func withBytes<Result>(
    _ index: Int, _ body: (Span<UInt8>) throws -> Result
  ) throws -> Result {
    try check(index)
    return try statement.withColumnBytes(index, body)
  }

  @usableFromInline func unexpectedValue(
    _ index: Int, _ type: any DatabaseValueConvertible.Type
  ) -> StoreError {
    StoreError(
      .unexpectedValue, "column \(index) (\(statement.columnName(index))) holds no \(type)")
  }

  @usableFromInline func check(_ index: Int) throws(StoreError) {
    guard index >= 0, index < statement.columnCount else {
      throw StoreError(.unexpectedValue, "the row has no column \(index)")
    }
  }
}

/// The way in which a transaction is kept apart from those that run at the same time.
///
/// On SQLite there are none, as one closure writes at a time, and both are the same.
package enum Isolation: Sendable, Hashable {
  /// Any closure: its changes are as if it had run alone. It runs again when others changed what it had read.
  case serializable
  /// A closure that is one statement, or that locks first what it goes by: `UPDATE`, or `SELECT … FOR UPDATE`. Each
  /// statement sees what others have committed by then. It waits for others that change the same rows, and needs no
  /// second try for their sake.
  case rowLocks
}
