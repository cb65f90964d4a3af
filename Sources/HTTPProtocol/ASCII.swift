/// A set of ASCII bytes, asked with two shifts instead of a table in memory.
struct ByteSet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  /// A set of the characters of a text, and letters and digits if asked for.
  init(_ characters: StaticString, alphanumeric: Bool = false) {
    characters.withUTF8Buffer { text in unsafe text.forEach { insert($0) } }
    guard alphanumeric else { return }
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { insert(byte) }
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") {
      insert(byte)
      insert(byte & 0xdf)
    }
  }

  private mutating func insert(_ byte: UInt8) {
    if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
  }

  /// Whether a byte is in the set.
  func contains(_ byte: UInt8) -> Bool {
    let word = byte < 64 ? low : byte < 128 ? high : 0
    return (word >> UInt64(byte & 63)) & 1 == 1
  }

  /// `tchar` of RFC 9110 section 5.6.2.
  static let token = ByteSet("!#$%&'*+-.^_`|~", alphanumeric: true)
  /// The bytes of a registered host name. Wider than DNS by `_` and `~`, narrower than RFC 3986 by
  /// percent-encoding and sub-delimiters, which no http host has and which would have to be escaped
  /// wherever a host is written.
  static let hostName = ByteSet("-._~", alphanumeric: true)
}

extension UInt8 {
  /// The byte with an ASCII capital made small.
  var lowercase: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// The value of an ASCII digit.
  var digitValue: UInt8? { self &- 0x30 < 10 ? self &- 0x30 : nil }

  /// The value of an ASCII hexadecimal digit of either case.
  var hexValue: UInt8? {
    if let digit = digitValue { return digit }
    let letter = lowercase &- 0x61
    return letter < 6 ? letter + 10 : nil
  }

  /// Space or tab.
  var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension Span<UInt8> {
  /// Whether a part equals a text without regard to ASCII case.
  func equals(_ text: StaticString, in range: Range<Int>) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in 0..<text.count
      where unsafe self[range.lowerBound + index].lowercase != text[index].lowercase {
        return false
      }
      return true
    }
  }

  /// A part without the blanks at both its ends.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var lower = range.lowerBound
    var upper = range.upperBound
    while lower < upper, self[lower].isBlank { lower += 1 }
    while lower < upper, self[upper - 1].isBlank { upper -= 1 }
    return lower..<upper
  }

  /// Whether a part is a token (RFC 9110 section 5.6.2).
  func isToken(_ range: Range<Int>) -> Bool {
    let set = ByteSet.token
    for index in range where !set.contains(self[index]) { return false }
    return !range.isEmpty
  }

  /// Calls a closure with each trimmed, non-empty member of a comma-separated list without quoting.
  func forEachListMember(of range: Range<Int>, _ body: (Range<Int>) -> Void) {
    var start = range.lowerBound
    for index in range.lowerBound...range.upperBound
    where index == range.upperBound || self[index] == UInt8(ascii: ",") {
      let member = trimmed(start..<index)
      if !member.isEmpty { body(member) }
      start = index + 1
    }
  }
}

extension [UInt8] {
  /// Appends the characters of a text.
  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { text in unsafe append(contentsOf: text) }
  }

  /// Appends a number in decimal.
  mutating func append(decimal value: Int) {
    if value >= 10 { append(decimal: value / 10) }
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }
}
