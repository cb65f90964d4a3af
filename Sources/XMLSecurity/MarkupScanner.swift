internal import Glibc

/// The mark with which editors on Windows begin a text in UTF-8.
let markOfUTF8: [UInt8] = [0xef, 0xbb, 0xbf]

/// Scans the bytes of a document before libxml2 parses them.
///
/// It checks the encoding, refuses tags with so many attributes that libxml2 would be slow (it compares each pair) and
/// documents of too many nodes before all of them are read, and finds the end of the root. On malformed markup it stops
/// without an error, because the parser reports it.
struct MarkupScanner {
  private let bytes: [UInt8]
  private let limits: XMLLimits
  private var position = 0
  private var depth = 0
  /// The number of elements, attributes, comments and processing instructions so far.
  private var nodes = 0
  /// The place of the root's end tag, or of the end of an empty root's tag.
  private(set) var rootEnd: RootEnd?

  enum RootEnd {
    /// The offset of `</`.
    case tag(Int)
    /// The offset of `/>`, and the range of the root's name.
    case emptyTag(Int, name: Range<Int>)
  }

  /// Scans a document of at most `limits.bytes` bytes.
  init(_ bytes: [UInt8], limits: XMLLimits) throws(XMLError) {
    self.bytes = bytes
    self.limits = limits
    try checkEncoding()
    while let next = find(UInt8(ascii: "<")) {
      position = next
      guard try skipMarkup() else { return }
      guard nodes <= limits.nodes else {
        throw error(.tooMany, at: next, "more than \(limits.nodes) elements and attributes")
      }
    }
  }

  /// Returns the line of an offset, from 1.
  static func line(of offset: Int, in bytes: [UInt8]) -> Int {
    bytes[..<min(offset, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1
  }

  private func error(_ code: XMLError.Code, at offset: Int, _ message: String) -> XMLError {
    XMLError(code, line: Self.line(of: offset, in: bytes), message)
  }

  private func checkEncoding() throws(XMLError) {
    if bytes.starts(with: [0xfe, 0xff]) || bytes.starts(with: [0xff, 0xfe]) {
      throw XMLError(.encoding, line: 1, "the file is UTF-16; only UTF-8 is read")
    }
    if let zero = find(0) {
      throw error(.encoding, at: zero, "a zero byte: the file is no UTF-8 text")
    }
    do {
      _ = try UTF8Span(validating: bytes.span)
    } catch let failure {
      throw error(.encoding, at: failure.byteOffsets.lowerBound, "the bytes are not UTF-8")
    }
    guard let declared = declaredEncoding(), declared.lowercased() != "utf-8" else { return }
    throw XMLError(.encoding, line: 1, "the file says it is \(declared); only UTF-8 is read")
  }

  /// Returns the name after `encoding=` in the XML declaration.
  private func declaredEncoding() -> String? {
    let start = bytes.starts(with: markOfUTF8) ? markOfUTF8.count : 0
    guard bytes[start...].starts(with: "<?xml".utf8),
      let end = offset(of: "?>", in: start..<bytes.count),
      let label = offset(of: "encoding", in: start..<end)
    else { return nil }
    let quotes = [UInt8(ascii: "\""), UInt8(ascii: "'")]
    guard let open = bytes[label..<end].firstIndex(where: quotes.contains),
      let close = bytes[(open + 1)..<end].firstIndex(of: bytes[open])
    else { return nil }
    return String(decoding: bytes[(open + 1)..<close], as: UTF8.self)
  }

  private func offset(of text: String, in range: Range<Int>) -> Int? {
    range.first { bytes[$0..<range.upperBound].starts(with: text.utf8) }
  }

  /// Skips the markup at the position, and returns false if it has no end.
  private mutating func skipMarkup() throws(XMLError) -> Bool {
    if looking(at: "<!--") {
      nodes += 1
      return skip(past: "-->", from: 4)
    }
    if looking(at: "<![CDATA[") { return skip(past: "]]>", from: 9) }
    if looking(at: "<?") {
      nodes += 1
      return skip(past: "?>", from: 2)
    }
    if looking(at: "<!") { return false }
    if looking(at: "</") {
      depth -= 1
      if depth == 0 { rootEnd = .tag(position) }
      return skip(past: ">", from: 2)
    }
    return try skipStartTag()
  }

  private mutating func skipStartTag() throws(XMLError) -> Bool {
    let start = position
    var attributes = 0
    defer { nodes += 1 + attributes }
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: ">") {
        let isEmpty = bytes[position - 1] == UInt8(ascii: "/")
        if !isEmpty { depth += 1 }
        if isEmpty, depth == 0 {
          let name = bytes[(start + 1)..<position].prefix { !" \t\r\n/".utf8.contains($0) }
          rootEnd = .emptyTag(position - 1, name: name.indices)
        }
        position += 1
        return true
      }
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        attributes += 1
        if attributes > limits.attributes {
          throw error(
            .tooMany, at: start, "an element with more than \(limits.attributes) attributes")
        }
        position += 1
        guard let close = find(byte) else { return false }
        position = close
      }
      position += 1
    }
    return false
  }

  private func looking(at text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - position >= count else { return false }
    return unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return false }
      return unsafe memcmp(start + position, text.utf8Start, count) == 0
    }
  }

  private mutating func skip(past end: StaticString, from offset: Int) -> Bool {
    position += offset
    while let candidate = unsafe find(end.utf8Start.pointee) {
      position = candidate
      if looking(at: end) {
        position += end.utf8CodeUnitCount
        return true
      }
      position += 1
    }
    return false
  }

  /// Returns the next offset of a byte.
  private func find(_ byte: UInt8) -> Int? {
    guard position < bytes.count else { return nil }
    return unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress,
        let found = unsafe memchr(start + position, Int32(byte), buffer.count - position)
      else { return nil }
      return unsafe UnsafeRawPointer(found) - start
    }
  }
}
