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
