internal import CSQLite

/// One prepared statement of a SQLite connection. The last that holds it finalizes it.
@safe final class SQLiteStatement: DatabaseStatement {
  private let handle: OpaquePointer
  /// True if SQLite holds copies of bytes that were bound.
  private var holdsBytes = false

  /// Prepares the only statement in a text.
  ///
  /// - Parameter sql: the literal that the text was, if it wasn't made while the program runs.
  /// - Throws: SQLite's error, or `.other` if there is no statement, or a second one, which would never run.
  init(_ text: String, on database: OpaquePointer, from sql: StaticString = "") throws(StoreError) {
    var handle: OpaquePointer?
    var hasRest = false
    var text = text
    let result = text.withUTF8 { text in
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
      throw StoreError(.other, "no statement in the SQL text")
    }
    unsafe self.handle = handle
    super.init(sql, parameterCount: Int(unsafe sqlite3_bind_parameter_count(handle)))
    if hasRest { throw StoreError(.other, "more than one statement in the SQL text") }
  }

  deinit { unsafe sqlite3_finalize(handle) }

  override var isBusy: Bool { unsafe sqlite3_stmt_busy(handle) != 0 }

  override func bind(_ value: DatabaseValue, at parameter: Int) throws(StoreError) {
    let index = Int32(truncatingIfNeeded: parameter)
    let result: Int32
    switch value {
    case .null: result = unsafe sqlite3_bind_null(handle, index)
    case .integer(let value): result = unsafe sqlite3_bind_int64(handle, index, value)
    case .real(let value): result = unsafe sqlite3_bind_double(handle, index, value)
    case .text(var value):
      // In the text's memory: its view of UTF-8 is walked through a byte at a time.
      guard value.withUTF8({ text in unsafe !text.contains(0) }) else { throw .nulInText }
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

  override func step() throws(StoreError) -> Bool {
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

  override func reset() {
    // The result repeats the error that `step` has thrown already.
    unsafe sqlite3_reset(handle)
    // Numbers stay until the next use, which binds every parameter anew.
    guard holdsBytes else { return }
    unsafe sqlite3_clear_bindings(handle)
    holdsBytes = false
  }

  override var columnCount: Int { Int(unsafe sqlite3_column_count(handle)) }

  override func columnName(_ index: Int) -> String {
    guard let name = unsafe sqlite3_column_name(handle, Int32(index)) else { return "" }
    return unsafe String(cString: name)
  }

  override func column(_ index: Int) -> DatabaseValue? {
    let column = Int32(index)
    return switch unsafe sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(handle, column))
    case SQLITE_TEXT: withColumnBytes(index) { bytes in DatabaseValue(text: bytes) }
    case SQLITE_BLOB: withColumnBytes(index) { bytes in DatabaseValue(blob: bytes) }
    default: .null
    }
  }

  // SQLite may move or free them at the next call.
  override func columnBytes(_ index: Int) -> UnsafeRawBufferPointer {
    let column = Int32(index)
    // The pointer first, then the length: the first call may convert the value.
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }
}
