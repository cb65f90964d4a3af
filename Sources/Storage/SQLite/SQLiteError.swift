internal import CSQLite

extension StoreError {
  /// Makes an error of SQLite's.
  ///
  /// - Parameters:
  ///   - resultCode: a primary or extended code of SQLite.
  ///   - message: SQLite's words, where they are known to be free of values.
  init(resultCode: Int32, message: String? = nil) {
    self.init(
      Code(resultCode: resultCode), unsafe message ?? String(cString: sqlite3_errstr(resultCode)),
      resultCode: .sqlite(resultCode))
  }
}

extension StoreError.Code {
  /// - Parameter resultCode: a primary or extended code of SQLite.
  init(resultCode: Int32) {
    // An extended code carries its primary code in the low byte.
    switch resultCode & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL, SQLITE_NOMEM: self = .busy
    case SQLITE_FULL: self = .full
    case SQLITE_READONLY: self = .readOnly
    case SQLITE_IOERR, SQLITE_CANTOPEN: self = .ioError
    case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt
    case SQLITE_CONSTRAINT: self = .constraint(StoreError.Constraint(resultCode: resultCode))
    default: self = .other
    }
  }
}

extension StoreError.Constraint {
  // The extended codes are macros over other macros, which Swift does not import:
  // SQLITE_CONSTRAINT | (n << 8).
  fileprivate init(resultCode: Int32) {
    switch resultCode >> 8 {
    case 6, 8, 10: self = .unique  // PRIMARYKEY, UNIQUE, ROWID
    case 3: self = .foreignKey
    case 5: self = .notNull
    case 1: self = .check
    default: self = .other
    }
  }
}
