/// A failure of the store, without any value of a row or of a statement's arguments in its text.
public struct StoreError: Error, Sendable {
  /// The kind of failure.
  public enum Code: Sendable, Hashable {
    /// Others hold what is needed: the database or a row of it, a place in the queue, memory or a connection.
    case busy
    /// The disk, a quota or the database's own page limit is exhausted.
    case full
    /// The file, its file system, the user or the server does not allow writing.
    case readOnly
    /// Reading, writing, syncing or opening a file failed, or the connection to the database.
    case ioError
    /// The connection was lost during COMMIT: the changes are there, or they aren't.
    case unknown
    /// The database is damaged or none.
    case corrupt
    /// A rule of the schema refused the statement.
    case constraint(Constraint)
    /// The store was closed.
    case closed
    /// A column held another type than expected.
    case unexpectedValue
    /// The database's schema does not fit this program.
    case incompatibleSchema
    /// Any other failure of the database, usually a mistake in the SQL.
    case other
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

  /// The database's own code of a failure.
  public enum ResultCode: Sendable, Hashable {
    /// SQLite's extended result code.
    case sqlite(Int32)
    /// PostgreSQL's SQLSTATE: five letters or digits.
    case sqlState(String)
  }

  /// The kind of failure, for programs.
  public let code: Code
  /// The database's own code, or nil if the failure is not the database's.
  public let resultCode: ResultCode?
  /// The failure in words. They may hold names of the schema, but no values.
  public let message: String

  /// True if the same call may succeed later without a restart (over HTTP: 503).
  public var isUnavailable: Bool {
    switch code {
    case .busy, .full, .readOnly, .ioError, .unknown, .closed: true
    case .corrupt, .constraint, .unexpectedValue, .incompatibleSchema, .other: false
    }
  }

  /// True if it is SQLite's, and so of a disk of this machine.
  public var isOfDisk: Bool {
    guard case .sqlite = resultCode else { return false }
    return true
  }

  init(_ code: Code, _ message: String, resultCode: ResultCode? = nil) {
    self.code = code
    self.resultCode = resultCode
    self.message = message
  }

  /// Returns the error of a database whose schema isn't one that the program works with.
  static func incompatibleSchema(_ message: String) -> StoreError {
    StoreError(.incompatibleSchema, message)
  }

  /// Returns the error of a database that must be as this program has it and isn't yet.
  static func lacking(_ migrations: Int) -> StoreError {
    incompatibleSchema(
      "the database lacks \(migrations) migrations of this program; start `awd serve` of this release once"
    )
  }

  /// Returns the error of a store's file without a table, which no start leaves.
  static func cutOff(_ path: String) -> StoreError {
    StoreError(.corrupt, "the store \(path) is empty: it was cut off")
  }

  /// PostgreSQL has no such text, and so neither has SQLite.
  static let nulInText = StoreError(.constraint(.other), "a text can't hold the character NUL")

  static let closed = StoreError(.closed, "the store is closed")
}

/// The error of a database without tables, in which only a server makes a store.
package struct StoreMissing: Error {}

extension StoreError: Equatable {
  /// Compares what failed, not the text.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension StoreError: CustomStringConvertible {
  /// The message, with the database's own code if there is one.
  public var description: String {
    switch resultCode {
    case nil: message
    case .sqlite(let code): "\(message) (SQLite \(code))"
    case .sqlState(let code): "\(message) (SQLSTATE \(code))"
    }
  }
}
