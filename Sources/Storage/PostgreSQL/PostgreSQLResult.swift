internal import CPostgreSQL

/// The answer to a statement, with all its rows.
@safe final class PostgreSQLResult {
  private let handle: OpaquePointer

  /// Takes a result of libpq's.
  ///
  /// - Throws: the failure that it states.
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
      throw StoreError(
        sqlState: field("C"), message: field("M") ?? words,
        endsSession: ["FATAL", "PANIC"].contains(field("V")))
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
