internal import CSQLite

/// One prepared statement of one connection.
///
/// It is a class because the cache and the code that steps it hold it at the same time. The last of them finalizes it.
///
/// Functions that are generic over the values are specialized for each caller's types, down to those that take a
/// ``DatabaseValue``: shared code would look up the types' metadata at every statement.
@safe @usableFromInline final class Statement {
  /// The text.
  let sql: StaticString
  private let handle: OpaquePointer
  /// The number of parameters.
  @usableFromInline let parameterCount: Int32
  /// Whether SQLite holds copies of bytes that were bound.
  private var holdsBytes = false

  /// Prepares the only statement in `sql`.
  ///
  /// - Throws: SQLite's error, or `.other(SQLITE_MISUSE)` if there is no statement, or a second one, which would never
  ///   run.
  init(_ sql: StaticString, on database: OpaquePointer) throws(StoreError) {
    var handle: OpaquePointer?
    var hasRest = false
    let result = sql.withUTF8Buffer { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        var rest: UnsafePointer<CChar>?
        let result = unsafe sqlite3_prepare_v3(
          database, text.baseAddress, Int32(text.count),
          UInt32(SQLITE_PREPARE_PERSISTENT), &handle, &rest)
        if let start = text.baseAddress, let rest = unsafe rest {
          hasRest = unsafe text[(rest - start)...].contains { $0 > 0x20 }
        }
        return result
      }
    }
    guard result == SQLITE_OK else {
      // The text is the program's own: SQLite's words about it quote no argument.
      throw unsafe StoreError(
        resultCode: result, message: String(cString: sqlite3_errmsg(database)))
    }
    guard let handle = unsafe handle else {
      throw StoreError(.other(SQLITE_MISUSE), "no statement in the SQL text")
    }
    self.sql = sql
    unsafe self.handle = handle
    parameterCount = unsafe sqlite3_bind_parameter_count(handle)
    if hasRest {
      throw StoreError(.other(SQLITE_MISUSE), "more than one statement in the SQL text")
    }
  }

  deinit { unsafe sqlite3_finalize(handle) }

  /// Whether the statement has been stepped and not yet reset.
  var isBusy: Bool { unsafe sqlite3_stmt_busy(handle) != 0 }

  /// Binds every parameter, in order.
  ///
  /// - Throws: `.other(SQLITE_RANGE)` unless there are as many values as parameters.
  @inlinable func bind<each Value: DatabaseValueConvertible>(
    _ values: repeat each Value
  ) throws(StoreError) {
    var count: Int32 = 0
    for value in repeat each values {
      count += 1
      try bind(value.databaseValue, at: count)
    }
    guard count == parameterCount else { throw wrongCount(count) }
  }

  /// Makes the error for a number of values that differs from the number of parameters.
  @usableFromInline func wrongCount(_ count: Int32) -> StoreError {
    StoreError(
      .other(SQLITE_RANGE), "the statement takes \(parameterCount) values, not \(count)")
  }

  /// Binds a value to a parameter, counted from 1.
  @usableFromInline func bind(_ value: DatabaseValue, at index: Int32) throws(StoreError) {
    let result: Int32
    switch value {
    case .null: result = unsafe sqlite3_bind_null(handle, index)
    case .integer(let value): result = unsafe sqlite3_bind_int64(handle, index, value)
    case .real(let value): result = unsafe sqlite3_bind_double(handle, index, value)
    case .text(var value):
      holdsBytes = true
      result = value.withUTF8 { text in
        unsafe text.withMemoryRebound(to: CChar.self) { text in
          unsafe csqlite_bind_text(handle, index, text.baseAddress, UInt64(text.count))
        }
      }
    case .blob(let value):
      holdsBytes = true
      result = unsafe value.withUnsafeBytes { bytes in
        // A null pointer would bind NULL, not the empty blob.
        unsafe bytes.isEmpty
          ? sqlite3_bind_zeroblob(handle, index, 0)
          : csqlite_bind_blob(handle, index, bytes.baseAddress, UInt64(bytes.count))
      }
    }
    guard result == SQLITE_OK else { throw StoreError(resultCode: result) }
  }

  /// Goes to the next row.
  ///
  /// - Returns: false if there is none.
  @usableFromInline func step() throws(StoreError) -> Bool {
    let result = unsafe sqlite3_step(handle)
    switch result {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      // Most messages at run time may quote an argument (a JSON path, an FTS query); those about
      // constraints name tables and columns only.
      guard case .constraint = StoreError.Code(resultCode: result) else {
        throw StoreError(resultCode: result)
      }
      throw unsafe StoreError(
        resultCode: result, message: String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))
    }
  }

  /// Prepares the next use, and drops the bytes that were bound, which may be many or secret. Numbers stay until the next
  /// use, which binds every parameter anew.
  @usableFromInline func reset() {
    // The result repeats the error that `step` has thrown already.
    unsafe sqlite3_reset(handle)
    guard holdsBytes else { return }
    unsafe sqlite3_clear_bindings(handle)
    holdsBytes = false
  }

  /// The number of columns of a row.
  var columnCount: Int { Int(unsafe sqlite3_column_count(handle)) }

  /// Returns the name of a column, as the SQL text gives it.
  func columnName(_ index: Int) -> String {
    guard let name = unsafe sqlite3_column_name(handle, Int32(index)) else { return "" }
    return unsafe String(cString: name)
  }

  /// Returns the value of a column of the current row, or nil for text that is not UTF-8.
  @usableFromInline func column(_ index: Int) -> DatabaseValue? {
    let column = Int32(index)
    return switch unsafe sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      withColumnBytes(index) { bytes -> DatabaseValue? in
        guard let text = try? UTF8Span(validating: bytes) else { return nil }
        return .text(String(copying: text))
      }
    case SQLITE_BLOB: .blob(withColumnBytes(index) { bytes in Array(copying: bytes) })
    default: .null
    }
  }

  /// Passes the bytes of a column of the current row to a closure: a blob's, or a text's in UTF-8.
  @inlinable func withColumnBytes<Result, Failure: Error>(
    _ index: Int, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(Span(_unsafeBytes: columnBytes(index)))
  }

  /// Returns the bytes of a column of the current row, which SQLite may move or free at the next call.
  @usableFromInline func columnBytes(_ index: Int) -> UnsafeRawBufferPointer {
    let column = Int32(index)
    // The pointer first, then the length: the first call may convert the value.
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }
}

extension [UInt8] {
  fileprivate init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }
}
