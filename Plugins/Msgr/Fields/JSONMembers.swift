import FoundationEssentials

/// What `JSONDecoder` doesn't tell: whether an object names a member twice (RFC 8259 section 4).
enum JSONMembers {
  /// How many members an object has, repeated ones counted.
  ///
  /// - Parameter object: a JSON object that has been decoded, so that it is known to be valid.
  static func count(in object: [UInt8]) -> Int {
    var count = 0
    forEachName(in: object) { _ in count += 1 }
    return count
  }

  /// The first known field that an object has twice; nil if it is an unknown one.
  ///
  /// - Parameter object: a JSON object that has been decoded.
  static func firstRepeated(in object: [UInt8]) -> FieldID? {
    var seen: Set<FieldID> = []
    var repeated: FieldID?
    forEachName(in: object) { quoted in
      // Only the decoder knows what is escaped.
      let name = try? JSONDecoder().decode(String.self, from: Data(quoted))
      guard let field = name.flatMap(FieldID.init(exactly:)) else { return }
      if !seen.insert(field).inserted { repeated = repeated ?? field }
    }
    return repeated
  }

  /// Calls a closure with each name of the outermost object, in its quotation marks.
  private static func forEachName(in object: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
    var depth = 0
    var start: Int?
    var text = 0..<0
    var isEscaped = false
    for (index, byte) in object.enumerated() {
      if let begin = start {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          text = begin..<index + 1
          start = nil
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): start = index
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ":") where depth == 1: body(object[text])
      default: break
      }
    }
  }
}
