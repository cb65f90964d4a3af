/// Reads one JSON object by the letter of RFC 8259 and gives the strings, whole numbers, truth values and lists of
/// strings among its members; other values are checked and left out.
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
    /// `true` or `false`.
    case truth(Bool)
    /// A list of strings.
    case list([String])
    /// Anything else, a string with half of a surrogate pair among it.
    case other
    /// `null`.
    case null
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
      var texts: [String]? = []
      try readList(until: "]") { reader throws(Malformed) in
        if case .text(let text) = try reader.readValue(depth: depth + 1) {
          texts?.append(text)
        } else {
          texts = nil
        }
      }
      return texts.map { .list($0) } ?? .other
    } else if takes("t") {
      try skip("rue")
      return .truth(true)
    } else if takes("f") {
      try skip("alse")
      return .truth(false)
    } else if takes("n") {
      try skip("ull")
      return .null
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
      switch try take() {
      case UInt8(ascii: "\""): return isText ? String(decoding: text, as: UTF8.self) : nil
      case UInt8(ascii: "\\"):
        guard let scalar = try readEscape(), let encoded = UTF8.encode(scalar) else {
          isText = false
          continue
        }
        text.append(contentsOf: encoded)
      default: throw Malformed()
      }
    }
  }

  /// Reads an escape after its backslash; half of a surrogate pair gives nil.
  private mutating func readEscape() throws(Malformed) -> Unicode.Scalar? {
    switch try take() {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try readCodeUnit()
      guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
      let position = index
      guard takes("\\"), takes("u") else {
        index = position
        return nil
      }
      let trail = try readCodeUnit()
      guard UTF16.isTrailSurrogate(trail) else {
        index = position
        return nil
      }
      return Unicode.Scalar(
        0x10000 + (UInt32(unit & 0x3ff) << 10 | UInt32(trail & 0x3ff)))
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
