internal import CSQLite

/// A failure of the store, without any value of a row or of a statement's arguments in its text.
public struct StoreError: Error, Sendable {
  /// The kind of failure.
  public enum Code: Sendable, Hashable {
    /// Another process holds the database, or the queue is full.
    case busy
    /// The disk, a quota or the database's own page limit is exhausted.
    case full
    /// The file, its file system or the connection does not allow writing.
    case readOnly
    /// Reading, writing, syncing or opening a file failed.
    case ioError
    /// The file is damaged or no database.
    case corrupt
    /// A rule of the schema refused the statement.
    case constraint(Constraint)
    /// The store was closed.
    case closed
    /// A column held another type than was asked for.
    case unexpectedValue
    /// The file's schema does not fit this program.
    case incompatibleSchema
    /// Any other primary result code of SQLite, usually a mistake in the SQL.
    case other(Int32)
  }

  /// The rule that a `.constraint` failure broke.
  public enum Constraint: Sendable, Hashable {
    /// A row with this key exists: UNIQUE, PRIMARY KEY or the row's identifier.
    case unique
    /// The row that is referred to does not exist, or is still referred to.
    case foreignKey
    /// A column may not be NULL.
    case notNull
    /// A CHECK expression is false.
    case check
    /// A trigger, a strict column type, or another rule.
    case other
  }

  /// The kind of failure, for programs.
  public let code: Code
  /// SQLite's extended result code, or 0 if the failure is not SQLite's.
  public let resultCode: Int32
  /// The failure in words. They may hold names of the schema, but no values.
  public let message: String

  /// Whether the same call may succeed later without a restart (over HTTP: 503).
  public var isUnavailable: Bool {
    switch code {
    case .busy, .full, .readOnly, .ioError, .closed: true
    case .other(let primary): primary == SQLITE_NOMEM
    case .corrupt, .constraint, .unexpectedValue, .incompatibleSchema: false
    }
  }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.resultCode = 0
    self.message = message
  }

  /// - Parameters:
  ///   - resultCode: a primary or extended code of SQLite.
  ///   - message: SQLite's words, where they are known to be free of values.
  init(resultCode: Int32, message: String? = nil) {
    self.code = Code(resultCode: resultCode)
    self.resultCode = resultCode
    self.message = unsafe message ?? String(cString: sqlite3_errstr(resultCode))
  }

  static let closed = StoreError(.closed, "the store is closed")
}

extension StoreError: Equatable {
  /// Compares what failed, not the text.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension StoreError: CustomStringConvertible {
  /// The message, with SQLite's extended result code if there is one.
  public var description: String {
    resultCode == 0 ? message : "\(message) (SQLite \(resultCode))"
  }
}

extension StoreError.Code {
  init(resultCode: Int32) {
    // An extended code carries its primary code in the low byte.
    switch resultCode & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    case SQLITE_FULL: self = .full
    case SQLITE_READONLY: self = .readOnly
    case SQLITE_IOERR, SQLITE_CANTOPEN: self = .ioError
    case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt
    case SQLITE_CONSTRAINT: self = .constraint(StoreError.Constraint(resultCode: resultCode))
    case let primary: self = .other(primary)
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
