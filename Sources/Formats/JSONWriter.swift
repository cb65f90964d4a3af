/// Writes one JSON object or list (RFC 8259) in UTF-8, without blanks and with no more escaped than must be.
///
///     let bytes = JSONWriter.object { object in
///       object["Id"] = message.id
///       object.add("Tags", list: { tags in tags.append("new") })
///     }
package struct JSONWriter {
  private var bytes: [UInt8] = []
  private var isEmpty = true

  fileprivate init() {}

  /// Writes an object.
  package static func object(_ write: (inout JSONObjectWriter) throws -> Void) rethrows -> [UInt8] {
    var bytes = memory()
    try append(to: &bytes, object: write)
    return bytes
  }

  /// Writes an object as text.
  package static func text(
    object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows -> String { String(decoding: try object(write), as: UTF8.self) }

  /// Writes a list.
  package static func list(_ write: (inout JSONListWriter) throws -> Void) rethrows -> [UInt8] {
    var bytes = memory()
    try append(to: &bytes, list: write)
    return bytes
  }

  /// Writes an object behind what is written already.
  fileprivate static func append(
    to bytes: inout [UInt8], object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows {
    bytes.append(UInt8(ascii: "{"))
    // Handed to the writer and back, so that nothing is copied.
    var object = JSONObjectWriter()
    swap(&object.writer.bytes, &bytes)
    try write(&object)
    swap(&object.writer.bytes, &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Writes a list behind what is written already.
  fileprivate static func append(
    to bytes: inout [UInt8], list write: (inout JSONListWriter) throws -> Void
  ) rethrows {
    bytes.append(UInt8(ascii: "["))
    var list = JSONListWriter()
    swap(&list.writer.bytes, &bytes)
    try write(&list)
    swap(&list.writer.bytes, &bytes)
    bytes.append(UInt8(ascii: "]"))
  }

  /// More than most objects take, so that few of them move while they grow.
  private static func memory() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    return bytes
  }

  fileprivate mutating func beginElement() {
    if !isEmpty { bytes.append(UInt8(ascii: ",")) }
    isEmpty = false
  }

  fileprivate mutating func beginMember(_ name: String) {
    beginElement()
    name.append(toJSON: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }

  fileprivate mutating func append(_ value: any JSONWritable) { value.append(toJSON: &bytes) }

  fileprivate mutating func append(json: some Sequence<UInt8>) { bytes.append(contentsOf: json) }

  fileprivate mutating func append(
    object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows {
    try Self.append(to: &bytes, object: write)
  }

  fileprivate mutating func append(list write: (inout JSONListWriter) throws -> Void) rethrows {
    try Self.append(to: &bytes, list: write)
  }
}

/// A value that a ``JSONWriter`` can write.
package protocol JSONWritable {
  /// Appends the value as JSON in UTF-8.
  func append(toJSON bytes: inout [UInt8])
}

extension JSONWritable {
  /// The value as JSON in UTF-8.
  package var jsonBytes: [UInt8] {
    var bytes: [UInt8] = []
    append(toJSON: &bytes)
    return bytes
  }
}

extension String: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    bytes.appendEscapedInJSON(self)
    bytes.append(UInt8(ascii: "\""))
  }

  /// The text as it stands between the quotation marks of a JSON string (RFC 8259 section 7), with no more escaped than
  /// must be.
  package var escapedInJSON: String {
    var bytes: [UInt8] = []
    bytes.appendEscapedInJSON(self)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension JSONValue: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .truth(let truth): truth.append(toJSON: &bytes)
    case .number(let number):
      if let integer {
        integer.append(toJSON: &bytes)
      } else {
        bytes.append(contentsOf: "\(number)".utf8)
      }
    case .text(let text): text.append(toJSON: &bytes)
    case .list(let elements):
      JSONWriter.append(
        to: &bytes,
        list: { list in
          for element in elements { list.append(element) }
        })
    case .object(let members):
      JSONWriter.append(
        to: &bytes,
        object: { object in
          for member in members { object.add(member.name, member.value) }
        })
    }
  }
}

extension Bool: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) {
    bytes.append(contentsOf: (self ? "true" : "false").utf8)
  }
}

extension Int: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) { bytes.append(contentsOf: String(self).utf8) }
}

extension Int64: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) { bytes.append(contentsOf: String(self).utf8) }
}

extension UInt64: JSONWritable {
  package func append(toJSON bytes: inout [UInt8]) { bytes.append(contentsOf: String(self).utf8) }
}

/// The members of an object that a ``JSONWriter`` writes, in the order in which they are added.
package struct JSONObjectWriter {
  fileprivate var writer = JSONWriter()

  fileprivate init() {}

  /// Adds a member; none without a value.
  package subscript(name: String) -> (any JSONWritable)? {
    get { nil }
    set {
      guard let newValue else { return }
      add(name, newValue)
    }
  }

  fileprivate mutating func add(_ name: String, _ value: any JSONWritable) {
    writer.beginMember(name)
    writer.append(value)
  }

  /// Adds a member whose value is JSON already.
  package mutating func add(_ name: String, json: some Sequence<UInt8>) {
    writer.beginMember(name)
    writer.append(json: json)
  }

  /// Adds a member that is an object.
  package mutating func add(
    _ name: String, object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows {
    writer.beginMember(name)
    try writer.append(object: write)
  }

  /// Adds a member that is a list.
  package mutating func add(
    _ name: String, list write: (inout JSONListWriter) throws -> Void
  ) rethrows {
    writer.beginMember(name)
    try writer.append(list: write)
  }
}

/// The elements of a list that a ``JSONWriter`` writes.
package struct JSONListWriter {
  fileprivate var writer = JSONWriter()

  fileprivate init() {}

  /// Adds an element.
  package mutating func append(_ value: any JSONWritable) {
    writer.beginElement()
    writer.append(value)
  }

  /// Adds an element that is JSON already.
  package mutating func append(json: some Sequence<UInt8>) {
    writer.beginElement()
    writer.append(json: json)
  }

  /// Adds an element that is an object.
  package mutating func append(object write: (inout JSONObjectWriter) throws -> Void) rethrows {
    writer.beginElement()
    try writer.append(object: write)
  }
}

extension [UInt8] {
  /// Appends a text as it stands between the quotation marks of a JSON string.
  fileprivate mutating func appendEscapedInJSON(_ text: String) {
    // Most texts have nothing to escape, and are copied at once.
    guard text.hasEscapesInJSON else { return append(contentsOf: text.utf8) }
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        append(UInt8(ascii: "\\"))
        append(byte)
      case UInt8(ascii: "\t"): append(contentsOf: #"\t"#.utf8)
      case UInt8(ascii: "\n"): append(contentsOf: #"\n"#.utf8)
      case UInt8(ascii: "\r"): append(contentsOf: #"\r"#.utf8)
      case 0..<0x20:
        append(contentsOf: (byte < 0x10 ? #"\u000"# : #"\u00"#).utf8)
        append(contentsOf: String(byte, radix: 16).utf8)
      default: append(byte)
      }
    }
  }
}

extension String {
  /// True if a byte of it is written otherwise in JSON.
  fileprivate var hasEscapesInJSON: Bool {
    let bytes = utf8.span
    for index in bytes.indices where bytes[index].isEscapedInJSON { return true }
    return false
  }
}

extension UInt8 {
  fileprivate var isEscapedInJSON: Bool {
    self < 0x20 || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
  }
}
