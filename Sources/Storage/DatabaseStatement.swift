/// One prepared statement of one connection. A class for each kind of database derives from it; what is declared here
/// without an effect is theirs.
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
    (self.sql, self.parameterCount) = (sql, parameterCount)
  }

  /// True if the statement has been stepped and not yet reset.
  var isBusy: Bool { false }

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
  @usableFromInline func bind(_ value: DatabaseValue, at index: Int) throws(StoreError) {}

  /// Goes to the next row.
  ///
  /// - Returns: false if there is none.
  @usableFromInline func step() throws(StoreError) -> Bool { false }

  /// Prepares the next use, and drops the bytes that were bound, which may be many or secret.
  @usableFromInline func reset() {}

  /// The number of columns of a row.
  var columnCount: Int { 0 }

  /// Returns the name of a column, as the SQL text gives it.
  func columnName(_ index: Int) -> String { "" }

  /// Returns the value of a column of the current row, or nil if no ``DatabaseValue`` can hold it.
  @usableFromInline func column(_ index: Int) -> DatabaseValue? { nil }

  /// Returns the bytes of a column of the current row, which are valid until the next call.
  @usableFromInline func columnBytes(_ index: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  }

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

  /// Makes a blob.
  init(blob bytes: Span<UInt8>) {
    self = .blob(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
  }
}
