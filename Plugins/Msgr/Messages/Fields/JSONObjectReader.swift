/// Reads one JSON object by the letter of RFC 8259 and gives the strings and whole numbers among its members; other
/// values are checked and left out.
///
/// Foundation's decoder is not strict enough for bytes of strangers: it takes trailing commas, checks nothing within
/// values that are not asked for, and hides repeated names.
package struct JSONObjectReader {
  /// The value of a member.
  package enum Value: Equatable {
    /// A string.
    case text(String)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    /// Anything else, a string with half of a surrogate pair among it.
    case other
  }

  /// A member of the object.
  package struct Member: Equatable {
    package let name: String
    package let value: Value
  }

  /// The greatest depth of nested values.
  package static let deepest = 128

  private struct Malformed: Error {}

  private let bytes: [UInt8]
  private var index = 0

  /// Reads an object.
  ///
  /// - Parameter bytes: the object; blanks around it are allowed.
  /// - Returns: the members in order, repeated ones too, or nil unless the bytes are an object in valid UTF-8, nested
  ///   at most ``deepest`` deep.
  package static func members(of bytes: [UInt8]) -> [Member]? {
    guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
      return nil
    }
    var reader = JSONObjectReader(bytes: bytes)
    return try? reader.readWhole()
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  // MARK: - Bytes

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func take() throws(Malformed) -> UInt8 {
    guard let byte = next else { throw Malformed() }
    index += 1
    return byte
  }

  private mutating func take(_ expected: Unicode.Scalar) throws(Malformed) {
    guard takes(expected) else { throw Malformed() }
  }

  private mutating func takes(_ wanted: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: wanted) else { return false }
    index += 1
    return true
  }

  private mutating func skipBlanks() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d {
      index += 1
    }
  }

  // MARK: - Values

  private mutating func readWhole() throws(Malformed) -> [Member] {
    skipBlanks()
    try take("{")
    let members = try readObject(depth: 1)
    skipBlanks()
    guard next == nil else { throw Malformed() }
    return members
  }

  /// Reads an object after its opening bracket.
  private mutating func readObject(depth: Int) throws(Malformed) -> [Member] {
    var members: [Member] = []
    try readList(until: "}") { reader throws(Malformed) in
      // A name with half a character is none that is known.
      let name = try reader.readString() ?? "\u{fffd}"
      reader.skipBlanks()
      try reader.take(":")
      reader.skipBlanks()
      members.append(Member(name: name, value: try reader.readValue(depth: depth)))
    }
    return members
  }

  /// Reads the elements between brackets after the opening one.
  private mutating func readList(
    until end: Unicode.Scalar,
    _ readElement: (inout JSONObjectReader) throws(Malformed) -> Void
  ) throws(Malformed) {
    skipBlanks()
    if takes(end) { return }
    repeat {
      skipBlanks()
      try readElement(&self)
      skipBlanks()
    } while takes(",")
    try take(end)
  }

  private mutating func readValue(depth: Int) throws(Malformed) -> Value {
    guard depth < Self.deepest else { throw Malformed() }
    if next == UInt8(ascii: "\"") { return try readString().map { .text($0) } ?? .other }
    if takes("{") {
      _ = try readObject(depth: depth + 1)
    } else if takes("[") {
      try readList(until: "]") { reader throws(Malformed) in
        _ = try reader.readValue(depth: depth + 1)
      }
    } else if takes("t") {
      try skip("rue")
    } else if takes("f") {
      try skip("alse")
    } else if takes("n") {
      try skip("ull")
    } else {
      return try readNumber()
    }
    return .other
  }

  private mutating func skip(_ literal: StaticString) throws(Malformed) {
    for scalar in "\(literal)".unicodeScalars { try take(scalar) }
  }

  private mutating func readNumber() throws(Malformed) -> Value {
    let start = index
    _ = takes("-")
    if !takes("0") { try skipDigits() }
    let whole = Int64(String(decoding: bytes[start..<index], as: UTF8.self))
    let end = index
    if takes(".") { try skipDigits() }
    if takes("e") || takes("E") {
      if !takes("+") { _ = takes("-") }
      try skipDigits()
    }
    return index == end ? whole.map { .integer($0) } ?? .other : .other
  }

  private mutating func skipDigits() throws(Malformed) {
    let start = index
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
    guard index > start else { throw Malformed() }
  }

  // MARK: - Strings

  /// Reads a string with its quotation marks.
  ///
  /// - Returns: the text, or nil if an escape gives half of a surrogate pair, which no text can have.
  private mutating func readString() throws(Malformed) -> String? {
    try take("\"")
    var text: [UInt8] = []
    var isText = true
    while true {
      let start = index
      while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        index += 1
      }
      text += bytes[start..<index]
      if takes("\"") { return isText ? String(decoding: text, as: UTF8.self) : nil }
      // Both halves of a pair are escapes, one right after the other.
      var units: [UInt16] = []
      try take("\\")
      repeat { units.append(try readEscape()) } while takes("\\")
      if let escaped = String(validating: units, as: UTF16.self) {
        text += escaped.utf8
      } else {
        isText = false
      }
    }
  }

  /// Reads an escape after its backslash.
  ///
  /// - Returns: a code unit of UTF-16.
  private mutating func readEscape() throws(Malformed) -> UInt16 {
    switch try take() {
    case let byte where #""\/"#.utf8.contains(byte): UInt16(byte)
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0c
    case UInt8(ascii: "n"): 0x0a
    case UInt8(ascii: "r"): 0x0d
    case UInt8(ascii: "t"): 0x09
    case UInt8(ascii: "u"): try readCodeUnit()
    default: throw Malformed()
    }
  }

  private mutating func readCodeUnit() throws(Malformed) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(try take())).hexDigitValue else {
        throw Malformed()
      }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }
}
