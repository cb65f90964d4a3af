extension StoreError {
  /// Makes an error of PostgreSQL's.
  ///
  /// - Parameters:
  ///   - sqlState: the SQLSTATE, or nil if the connection was lost.
  ///   - message: the primary message, or libpq's words. It isn't shown where it may quote a value.
  ///   - endsSession: whether the server has ended the session by it, whatever the SQLSTATE: the same call succeeds in
  ///     another session.
  init(sqlState: String?, message: String, endsSession: Bool = false) {
    guard let sqlState else {
      self.init(.ioError, "the connection to PostgreSQL was lost: \(message)")
      return
    }
    let quotes = sqlState.hasPrefix("22")
    self.init(
      endsSession ? .ioError : Code(sqlState: sqlState),
      quotes ? "PostgreSQL refuses a value" : message, resultCode: .sqlState(sqlState))
  }

  /// Makes the error of a connection that was lost before the answer to a COMMIT came.
  static func lostDuringCommit(_ error: StoreError) -> StoreError {
    StoreError(
      .unknown, "the connection to PostgreSQL was lost during COMMIT", resultCode: error.resultCode)
  }

  /// PostgreSQL's code, if the error is one of its own.
  var sqlState: String? {
    guard case .sqlState(let code)? = resultCode else { return nil }
    return code
  }
}

extension StoreError.Code {
  /// - Parameter sqlState: a code of PostgreSQL's (Appendix A of its manual).
  init(sqlState: String) {
    switch sqlState {
    case "23505": self = .constraint(.unique)
    case "23503": self = .constraint(.foreignKey)
    case "23502": self = .constraint(.notNull)
    case "23514": self = .constraint(.check)
    // Of the disk; the others of their class are of memory, connections and the like.
    case "53100": self = .full
    // A transaction that may only read; a user who may not do this.
    case "25006", "42501": self = .readOnly
    case "XX001", "XX002": self = .corrupt
    // A conflict, a deadlock, the end of the patience for a lock, a cancelled query.
    case "40001", "40P01", "55P03", "57014": self = .busy
    default:
      switch sqlState.prefix(2) {
      case "22", "23": self = .constraint(.other)
      case "53": self = .busy
      case "08", "57", "58": self = .ioError
      default: self = .other
      }
    }
  }
}
