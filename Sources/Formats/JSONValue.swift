internal import CJansson

/// A JSON value (RFC 8259), whose objects keep their members in order.
public enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case truth(Bool)
  /// A number.
  case number(Double)
  /// A string.
  case text(String)
  /// An array.
  case list([JSONValue])
  /// An object.
  case object([Member])

  /// A member of an object.
  public struct Member: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The value.
    public let value: JSONValue

    /// Makes a member.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// Parses a value.
  ///
  /// - Parameter bytes: an object or a list in UTF-8, blanks around it allowed.
  /// - Returns: nil for anything else, a name that stands twice in an object, or half of a surrogate pair.
  package init?(parsing bytes: [UInt8]) {
    guard let value = unsafe Jansson.parse(bytes, { json in unsafe JSONValue(json) }) else {
      return nil
    }
    self = value
  }

  /// Parses a value as most programs do: the last one of equal names counts, and half of a surrogate pair, which is left where
  /// a program has cut a text, is U+FFFD.
  ///
  /// - Parameter bytes: an object or a list in UTF-8, blanks around it allowed.
  /// - Returns: nil for anything else.
  package init?(lenient bytes: [UInt8]) {
    let whole = Self.replacingHalfPairs(in: bytes)
    let value = unsafe Jansson.parse(whole, isStrict: false) { json in unsafe JSONValue(json) }
    guard let value else { return nil }
    self = value
  }

  /// Replaces each escape of half a surrogate pair by that of U+FFFD, which is as long.
  private static func replacingHalfPairs(in bytes: [UInt8]) -> [UInt8] {
    let backslash = UInt8(ascii: "\\")
    guard bytes.contains(backslash) else { return bytes }
    var replaced = bytes
    var index = 0
    while index < replaced.count {
      guard replaced[index] == backslash else {
        index += 1
        continue
      }
      guard let unit = escapedUnit(in: replaced, at: index) else {
        index += 2
        continue
      }
      if UTF16.isLeadSurrogate(unit), let next = escapedUnit(in: replaced, at: index + 6),
        UTF16.isTrailSurrogate(next)
      {
        index += 12
        continue
      }
      if UTF16.isSurrogate(unit) {
        replaced.replaceSubrange(index..<index + 6, with: #"\ufffd"#.utf8)
      }
      index += 6
    }
    return replaced
  }

  /// The code unit of the escape `\u` and four hexadecimal digits that begins at an index; nil if none does.
  private static func escapedUnit(in bytes: [UInt8], at index: Int) -> UInt16? {
    guard index + 6 <= bytes.count, bytes[index...].starts(with: #"\u"#.utf8) else { return nil }
    let digits = String(decoding: bytes[(index + 2)..<(index + 6)], as: UTF8.self)
    guard digits.allSatisfy(\.isHexDigit) else { return nil }
    return UInt16(digits, radix: 16)
  }

  private init(_ json: UnsafeMutablePointer<json_t>) {
    switch unsafe json.pointee.type {
    case JSON_STRING: self = .text(unsafe Jansson.text(json) ?? "")
    case JSON_REAL: self = .number(unsafe json_real_value(json))
    case JSON_TRUE: self = .truth(true)
    case JSON_FALSE: self = .truth(false)
    case JSON_ARRAY: self = .list(unsafe Self.elements(json))
    case JSON_OBJECT: self = .object(unsafe Self.members(json))
    default: self = .null
    }
  }

  private static func elements(_ json: UnsafeMutablePointer<json_t>) -> [JSONValue] {
    var elements: [JSONValue] = []
    for index in unsafe 0..<json_array_size(json) {
      if let element = unsafe json_array_get(json, index) {
        elements.append(unsafe JSONValue(element))
      }
    }
    return elements
  }

  private static func members(_ json: UnsafeMutablePointer<json_t>) -> [Member] {
    var members: [Member] = []
    unsafe Jansson.forEachMember(of: json) { name, value in
      members.append(unsafe Member(name, JSONValue(value)))
    }
    return members
  }
}

extension JSONValue {
  /// Makes an object of those members that have a value.
  package static func object(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  /// Makes a number.
  package static func integer(_ number: some BinaryInteger) -> JSONValue { .number(Double(number)) }

  /// The value of a member; nil without such a member, and for anything but an object.
  package subscript(name: String) -> JSONValue? {
    members?.first { $0.name == name }?.value
  }

  /// The members of an object; nil for anything else.
  package var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// The elements of a list; nil for anything else.
  package var elements: [JSONValue]? {
    if case .list(let elements) = self { elements } else { nil }
  }

  /// The text; nil for anything else.
  public var string: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The truth value; nil for anything else.
  package var bool: Bool? {
    if case .truth(let truth) = self { truth } else { nil }
  }

  /// The number, if it is a whole one that a double has exactly; nil for anything else.
  package var integer: Int64? {
    guard case .number(let number) = self else { return nil }
    return Jansson.wholeNumber(number)
  }

  /// The value as JSON without blanks.
  package var json: String { String(decoding: jsonBytes, as: UTF8.self) }

  /// The value as JSON in UTF-8, without blanks.
  package var bytes: [UInt8] { jsonBytes }
}

extension JSONValue: Codable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }

  /// Reads a value; the members of an object come in the order of their names.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Key.self) {
      self = .object(
        try container.allKeys.sorted { $0.stringValue < $1.stringValue }.map { key in
          Member(key.stringValue, try container.decode(JSONValue.self, forKey: key))
        })
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [JSONValue] = []
      while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
      self = .list(elements)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let truth = try? container.decode(Bool.self) {
        self = .truth(truth)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .text(try container.decode(String.self))
      }
    }
  }

  /// Writes the value.
  ///
  /// - Throws: the encoder's error.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: Key.self)
      for member in members { try container.encode(member.value, forKey: Key(member.name)) }
    case .list(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .truth(let truth):
      var container = encoder.singleValueContainer()
      try container.encode(truth)
    case .number(let number):
      var container = encoder.singleValueContainer()
      if let integer { try container.encode(integer) } else { try container.encode(number) }
    case .text(let text):
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }
}
