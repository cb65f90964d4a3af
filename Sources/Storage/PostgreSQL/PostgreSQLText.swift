/// The text of a statement as PostgreSQL takes it: `?` and `?3` are `$1` and `$3`, numbered as SQLite does, and
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
