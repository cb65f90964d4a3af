internal import CPostgreSQL

/// A statement as the server has prepared it.
final class PreparedStatement {
  /// The name within the connection.
  let name: String
  let text: PostgreSQLText
  /// The types of the parameters, or nil before the first use.
  var types: [Oid]?

  init(name: String, text: PostgreSQLText) {
    self.name = name
    self.text = text
  }
}

/// One use of a prepared statement of a PostgreSQL connection, with its values and then its rows.
@safe final class PostgreSQLStatement: DatabaseStatement {
  // The connection holds its statements.
  private unowned let connection: PostgreSQLConnection
  let prepared: PreparedStatement
  private var parameters = PostgreSQLParameters()
  private var result: PostgreSQLResult?
  /// The current row, or -1 before the first.
  private var row = -1

  init(_ sql: StaticString, on connection: PostgreSQLConnection, as prepared: PreparedStatement) {
    self.connection = connection
    self.prepared = prepared
    super.init(sql, parameterCount: prepared.text.parameterCount)
  }

  /// Reads the rows of a result that is there already.
  convenience init(_ statement: PostgreSQLStatement, result: PostgreSQLResult) {
    self.init(statement.sql, on: statement.connection, as: statement.prepared)
    self.result = result
  }

  override var isBusy: Bool { result != nil }

  override func bind(_ value: DatabaseValue, at index: Int) throws(StoreError) {
    try parameters.append(value)
  }

  func checkCount(of parameters: PostgreSQLParameters) throws(StoreError) {
    guard parameters.count == parameterCount else { throw wrongCount(parameters.count) }
  }

  override func step() throws(StoreError) -> Bool {
    if result == nil { result = try connection.execute(prepared, parameters) }
    row += 1
    return row < result?.rowCount ?? 0
  }

  override func reset() {
    parameters = PostgreSQLParameters()
    result = nil
    row = -1
  }

  override var columnCount: Int { result?.columnCount ?? 0 }

  override func columnName(_ index: Int) -> String { result?.columnName(index) ?? "" }

  override func column(_ index: Int) -> DatabaseValue? { result?.value(row, index) }

  override func columnBytes(_ index: Int) -> UnsafeRawBufferPointer {
    unsafe result?.contents(row, index) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}

/// The text of a statement as PostgreSQL accepts it: `?` and `?3` are `$1` and `$3`, numbered as SQLite does, and
/// `/*postgresql FOR UPDATE */` is `FOR UPDATE`, which is a comment to SQLite.
struct PostgreSQLText {
  private static let opening = Array("/*postgresql ".utf8)
  private static let closing = Array("*/".utf8)

  private(set) var text = ""
  private(set) var parameterCount = 0

  /// Rewrites a text, and leaves what is between quotes as it is.
  init(_ sql: StaticString) {
    var bytes: [UInt8] = []
    var quote: UInt8?
    var isOpen = false
    var rest = Array("\(sql)".utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        if quote == nil { quote = byte } else if quote == byte { quote = nil }
        bytes.append(byte)
      case UInt8(ascii: "?") where quote == nil:
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        let number = Int(String(decoding: digits, as: UTF8.self)) ?? parameterCount + 1
        parameterCount = max(parameterCount, number)
        bytes += "$\(number)".utf8
      case Self.opening[0] where quote == nil && rest.starts(with: Self.opening.dropFirst()):
        rest = rest.dropFirst(Self.opening.count - 1)
        isOpen = true
      case Self.closing[0] where isOpen && quote == nil && rest.first == Self.closing[1]:
        rest = rest.dropFirst()
        isOpen = false
      default: bytes.append(byte)
      }
    }
    text = String(decoding: bytes, as: UTF8.self)
  }

  /// True if it begins or ends a transaction or a part of one, which only the store may do.
  var controlsTransactions: Bool {
    let word = text.drop(while: \.isWhitespace).prefix(while: \.isLetter).uppercased()
    return [
      "ABORT", "BEGIN", "COMMIT", "END", "PREPARE", "RELEASE", "ROLLBACK", "SAVEPOINT", "START",
    ].contains(word)
  }
}
