/// Writes one JSON object or list (RFC 8259) in UTF-8, without blanks and with no more escaped than must be.
///
///     let bytes = JSONWriter.object { object in
///       object["Id"] = message.id
///       object.add("Tags", list: { tags in tags.append("new") })
///     }
package struct JSONWriter {
  private var bytes: [UInt8] = []
  private var isEmpty = true

  private init(_ first: Unicode.Scalar) {
    // More than most objects take, so that few of them move while they grow.
    bytes.reserveCapacity(256)
    bytes.append(UInt8(ascii: first))
  }

  /// Writes an object.
  package static func object(_ write: (inout JSONObjectWriter) throws -> Void) rethrows -> [UInt8] {
    var object = JSONObjectWriter(JSONWriter("{"))
    try write(&object)
    object.writer.bytes.append(UInt8(ascii: "}"))
    return object.writer.bytes
  }

  /// Writes an object as text.
  package static func text(
    object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows -> String { String(decoding: try object(write), as: UTF8.self) }

  /// Writes a list.
  package static func list(_ write: (inout JSONListWriter) throws -> Void) rethrows -> [UInt8] {
    var list = JSONListWriter(JSONWriter("["))
    try write(&list)
    list.writer.bytes.append(UInt8(ascii: "]"))
    return list.writer.bytes
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
  fileprivate var writer: JSONWriter

  fileprivate init(_ writer: JSONWriter) { self.writer = writer }

  /// Adds a member; none without a value.
  package subscript(name: String) -> (any JSONWritable)? {
    get { nil }
    set {
      guard let newValue else { return }
      writer.beginMember(name)
      writer.append(newValue)
    }
  }

  /// Adds a member whose value is JSON already.
  package mutating func add(_ name: String, json: some Sequence<UInt8>) {
    writer.beginMember(name)
    writer.append(json: json)
  }

  /// Adds a member that is `null`.
  package mutating func addNull(_ name: String) { add(name, json: "null".utf8) }

  /// Adds a member that is an object.
  package mutating func add(
    _ name: String, object write: (inout JSONObjectWriter) throws -> Void
  ) rethrows {
    add(name, json: try JSONWriter.object(write))
  }

  /// Adds a member that is a list.
  package mutating func add(
    _ name: String, list write: (inout JSONListWriter) throws -> Void
  ) rethrows {
    add(name, json: try JSONWriter.list(write))
  }
}

/// The elements of a list that a ``JSONWriter`` writes.
package struct JSONListWriter {
  fileprivate var writer: JSONWriter

  fileprivate init(_ writer: JSONWriter) { self.writer = writer }

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
    append(json: try JSONWriter.object(write))
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
