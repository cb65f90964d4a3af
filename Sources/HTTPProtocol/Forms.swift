internal import Formats

/// The parts of a body of the type `multipart/form-data` (RFC 7578, RFC 2046 section 5.1).
public struct MultipartForm: Sendable {
  /// One field of the form.
  public struct Part: Sendable {
    /// The field's name.
    public let name: String
    /// The name of the file that it is the content of; nil if it is none.
    public let fileName: String?
    /// The bytes as they were sent, shared with the body.
    public let content: ArraySlice<UInt8>
  }

  /// The largest number of parts.
  public static let partLimit = 16
  /// The largest size of the header fields of a part, in bytes.
  public static let headerLimit = 4096

  /// The parts in order.
  public let parts: [Part]

  /// Reads a form; what stands before the first and after the last delimiter is skipped.
  ///
  /// - Parameter contentType: the value of the request's `Content-Type`, with the boundary.
  /// - Throws: ``MultipartError`` for anything but a complete form.
  public init(contentType: String, body: [UInt8]) throws(MultipartError) {
    var reader = try MultipartReader(contentType: contentType)
    reader.append(body)
    reader.finish()
    var parts: [Part] = []
    var name = ""
    var fileName: String?
    var content: ArraySlice<UInt8> = []
    // In a body that is there whole, each content is one piece.
    while let event = try reader.next() {
      switch event {
      case .part(let itsName, let itsFileName):
        name = itsName
        fileName = itsFileName
        content = []
      case .content(let bytes): content = bytes
      case .end: parts.append(Part(name: name, fileName: fileName, content: content))
      }
    }
    self.parts = parts
  }

  /// The only part with a name.
  ///
  /// - Returns: nil if there is none, or more than one.
  public subscript(name: String) -> Part? {
    let found = parts.filter { $0.name == name }
    return found.count == 1 ? found[0] : nil
  }
}

/// Reads a body of the type `multipart/form-data` while it comes, so that no part is ever whole in memory.
package struct MultipartReader: Sendable {
  /// A step of the form.
  package enum Event: Sendable, Equatable {
    /// A part begins.
    case part(name: String, fileName: String?)
    /// Bytes of the part, which aren't empty.
    case content(ArraySlice<UInt8>)
    /// The part ends.
    case end
  }

  private enum State {
    case beginning
    case preamble
    /// Behind a delimiter.
    case delimited
    case header
    case content
    case over
  }

  private let delimiter: [UInt8]
  /// The delimiter without its CR, as programs write it that end lines with LF alone.
  private let bareDelimiter: [UInt8]
  private var state = State.beginning
  /// The bytes that aren't read yet.
  private var rest: ArraySlice<UInt8> = []
  /// True if the body has come whole.
  package private(set) var hasAll = false
  private var count = 0

  /// Begins with a form.
  ///
  /// - Parameter contentType: the value of the request's `Content-Type`, with the boundary.
  /// - Throws: ``MultipartError`` for another type, and without a boundary.
  package init(contentType: String) throws(MultipartError) {
    guard let type = ParameterizedValue(Array(contentType.utf8)[...]),
      type.value == Array("multipart/form-data".utf8)
    else { throw MultipartError("the body is not of the type multipart/form-data") }
    guard let boundary = type["boundary"], Self.isBoundary(boundary) else {
      throw MultipartError("Content-Type has no boundary, or one that is not allowed")
    }
    delimiter = Array("\r\n--".utf8) + boundary
    bareDelimiter = Array("\n--".utf8) + boundary
  }

  /// Appends bytes of the body.
  package mutating func append(_ bytes: [UInt8]) {
    // What comes behind the last delimiter is skipped.
    guard state != .over else { return }
    if rest.isEmpty { rest = bytes[...] } else { rest = (Array(rest) + bytes)[...] }
  }

  /// Says that the body has come whole.
  package mutating func finish() { hasAll = true }

  /// Returns the next step.
  ///
  /// - Returns: nil if more bytes are needed, and at the end of a body that has come whole.
  /// - Throws: ``MultipartError`` for anything but a form.
  package mutating func next() throws(MultipartError) -> Event? {
    while true {
      switch state {
      case .beginning:
        // The first delimiter has no line before it.
        let first = delimiter.dropFirst(2)
        guard rest.count >= first.count || hasAll else { return nil }
        if rest.starts(with: first) {
          rest = rest.dropFirst(first.count)
          state = .delimited
        } else {
          state = .preamble
        }
      case .preamble:
        guard let start = Self.position(of: delimiter, in: rest) else {
          guard !hasAll else { throw MultipartError("the boundary is not found in the body") }
          rest = rest.suffix(delimiter.count - 1)
          return nil
        }
        rest = rest[(start + delimiter.count)...]
        state = .delimited
      case .delimited:
        guard rest.count >= 2 || hasAll else { return nil }
        guard !rest.starts(with: "--".utf8) else {
          state = .over
          rest = []
          return nil
        }
        let line = rest.drop(while: \.isBlank)
        let isTooLong = rest.count - line.count > MultipartForm.headerLimit
        guard line.count >= 2 || hasAll || isTooLong else { return nil }
        try beginPart(isTooLong ? [] : line)
      case .header:
        guard hasAll || hasWholeHeader else { return nil }
        let (name, fileName) = try Self.disposition(&rest)
        state = .content
        return .part(name: name, fileName: fileName)
      case .content:
        guard let lineFeed = Self.position(of: bareDelimiter, in: rest) else {
          guard !hasAll else { throw MultipartError("the last boundary is missing") }
          return takeContent()
        }
        // A boundary that isn't one would be content, with all parts behind it.
        let end = lineFeed - 1
        guard lineFeed > rest.startIndex, rest[end] == UInt8(ascii: "\r") else {
          throw Self.bareLineFeed
        }
        let content = rest[..<end]
        guard content.isEmpty else {
          rest = rest[end...]
          return .content(content)
        }
        rest = rest[(end + delimiter.count)...]
        state = .delimited
        return .end
      case .over: return nil
      }
    }
  }

  /// Goes on to the header fields of a part, behind the line of a delimiter.
  private mutating func beginPart(_ line: ArraySlice<UInt8>) throws(MultipartError) {
    guard !line.starts(with: "\n".utf8) else { throw Self.bareLineFeed }
    guard line.starts(with: "\r\n".utf8) else {
      throw MultipartError("something else than a line's end follows the boundary")
    }
    guard count < MultipartForm.partLimit else {
      throw MultipartError("more than \(MultipartForm.partLimit) parts")
    }
    count += 1
    rest = line.dropFirst(2)
    state = .header
  }

  /// Whether the header fields of a part are there, or are too long to be read.
  private var hasWholeHeader: Bool {
    let header = rest.prefix(MultipartForm.headerLimit)
    return header.count == MultipartForm.headerLimit || header.starts(with: "\r\n".utf8)
      || Self.position(of: Array("\r\n\r\n".utf8), in: header) != nil
  }

  private static let bareLineFeed = MultipartError(
    "a line around the boundary ends with LF alone; a form's lines end with CR LF")

  /// Takes what belongs to the part, whatever comes behind it.
  private mutating func takeContent() -> Event? {
    // The last bytes may be the beginning of a delimiter.
    let end = rest.indices.suffix(delimiter.count - 1).first { index in
      delimiter.starts(with: rest[index...]) || bareDelimiter.starts(with: rest[index...])
    }
    let content = rest[..<(end ?? rest.endIndex)]
    rest = rest[content.endIndex...]
    return content.isEmpty ? nil : .content(content)
  }

  /// `boundary` of RFC 2046 section 5.1.1.
  private static func isBoundary(_ bytes: [UInt8]) -> Bool {
    (1...70).contains(bytes.count) && bytes.last != UInt8(ascii: " ")
      && bytes.allSatisfy { byte in
        ByteSet.base64.contains(byte) || "'()_,-.:=? ".utf8.contains(byte)
      }
  }

  /// The position of the next delimiter. It starts with the only CR in it, or else LF, so that no byte is looked at more
  /// than twice.
  private static func position(of delimiter: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    var start = bytes.startIndex
    while let next = bytes[start...].firstIndex(of: delimiter[0]) {
      if bytes[next...].starts(with: delimiter) { return next }
      start = next + 1
    }
    return nil
  }

  /// Takes the header fields of a part, and reads what they call it.
  private static func disposition(
    _ rest: inout ArraySlice<UInt8>
  ) throws(MultipartError) -> (name: String, fileName: String?) {
    let header = rest.prefix(MultipartForm.headerLimit)
    var disposition: ParameterizedValue?
    while true {
      guard let end = position(of: Array("\r\n".utf8), in: header[rest.startIndex...]) else {
        throw MultipartError("a part's header fields have no end, or are too long")
      }
      let line = rest[..<end]
      rest = rest[(end + 2)...]
      if line.isEmpty { break }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw MultipartError("a part has a malformed header field")
      }
      let value = line[(colon + 1)...]
      switch String(decoding: line[..<colon].map(\.lowercase), as: UTF8.self) {
      case "content-disposition":
        guard disposition == nil, let read = ParameterizedValue(value),
          read.value == Array("form-data".utf8)
        else { throw MultipartError("a part has a malformed Content-Disposition") }
        disposition = read
      case "content-transfer-encoding":
        guard let read = ParameterizedValue(value),
          ["7bit", "8bit", "binary"].contains(String(decoding: read.value, as: UTF8.self))
        else { throw MultipartError("a part is encoded, which a form must not be") }
      default: break
      }
    }
    guard let name = disposition?["name"].flatMap({ String(validating: $0, as: UTF8.self) }) else {
      throw MultipartError("a part has no name")
    }
    return (
      name, disposition?["filename*"].flatMap(extendedText) ?? disposition?["filename"].map(text)
    )
  }

  /// The text of a file's name, as programs write it: in UTF-8, in ISO 8859-1, and with a quotation mark encoded, which is how
  /// browsers keep it out of the field.
  private static func text(_ bytes: [UInt8]) -> String {
    let text = String(validating: bytes, as: UTF8.self) ?? TextEncoding.latin1(bytes)
    return text.replacing("%22", with: "\"")
  }

  /// The text of an extended value, `UTF-8'en'%C3%BC` (RFC 8187 section 3.2); nil for what is none.
  private static func extendedText(_ bytes: [UInt8]) -> String? {
    let parts = bytes.split(
      separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let content = PercentEncoding.decode(parts[2]) else { return nil }
    switch String(decoding: parts[0].map(\.lowercase), as: UTF8.self) {
    case "utf-8": return String(validating: content, as: UTF8.self)
    case "iso-8859-1": return TextEncoding.latin1(content)
    default: return nil
    }
  }
}

/// A body is no form.
public struct MultipartError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The fault in words, without anything of the content.
  public let message: String

  init(_ message: String) { self.message = message }

  /// The message.
  public var description: String { message }
}

/// A header field's value with parameters: `form-data; name="a"` (RFC 9110 section 5.6.6).
struct ParameterizedValue {
  /// The part before the parameters, in lower case.
  let value: [UInt8]
  private var parameters: [(name: [UInt8], value: [UInt8])] = []

  /// Reads a value.
  ///
  /// - Returns: nil if it is malformed, or has a parameter twice.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes.drop(while: \.isBlank)
    let isInValue: (UInt8) -> Bool = { ByteSet.token.contains($0) || $0 == UInt8(ascii: "/") }
    value = rest.prefix(while: isInValue).map(\.lowercase)
    guard !value.isEmpty else { return nil }
    rest = rest[(rest.startIndex + value.count)...].drop(while: \.isBlank)
    while rest.popFirst(UInt8(ascii: ";")) {
      rest = rest.drop(while: \.isBlank)
      if rest.isEmpty { break }
      let name = rest.prefix { ByteSet.token.contains($0) }
      rest = rest[name.endIndex...]
      guard !name.isEmpty, rest.popFirst(UInt8(ascii: "=")) else { return nil }
      var value: [UInt8] = []
      if rest.popFirst(UInt8(ascii: "\"")) {
        while true {
          guard let byte = rest.popFirst(), byte.isFieldContent else { return nil }
          if byte == UInt8(ascii: "\"") { break }
          // Browsers leave backslashes in file names as they are, curl escapes them.
          let isEscape =
            byte == UInt8(ascii: "\\")
            && (rest.first == UInt8(ascii: "\"") || rest.first == UInt8(ascii: "\\"))
          value.append(isEscape ? rest.removeFirst() : byte)
        }
      } else {
        value = Array(rest.prefix { ByteSet.token.contains($0) })
        guard !value.isEmpty else { return nil }
        rest = rest.dropFirst(value.count)
      }
      let key = name.map(\.lowercase)
      guard !parameters.contains(where: { $0.name == key }) else { return nil }
      parameters.append((key, value))
      rest = rest.drop(while: \.isBlank)
    }
    guard rest.isEmpty else { return nil }
  }

  /// The value of a parameter.
  subscript(name: String) -> [UInt8]? {
    parameters.first { $0.name.elementsEqual(name.utf8) }?.value
  }
}

extension ArraySlice<UInt8> {
  /// Takes the first byte if it is this one.
  fileprivate mutating func popFirst(_ byte: UInt8) -> Bool {
    guard first == byte else { return false }
    removeFirst()
    return true
  }
}

/// Names and values of a query or of a body of the type `application/x-www-form-urlencoded`.
public struct URLEncodedForm: Sendable {
  /// The pairs in order, decoded. A name may be empty; a value is empty where there is no `=`.
  public let pairs: [(name: String, value: String)]

  /// Decodes a form.
  ///
  /// - Parameter bytes: pairs joined by `&`; empty ones are skipped.
  /// - Returns: nil if an encoding is malformed, or a name or value isn't UTF-8 or has a NUL.
  public init?(_ bytes: ArraySlice<UInt8>) {
    var pairs: [(name: String, value: String)] = []
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard let decodedName = PercentEncoding.decodeText(name, plusIsBlank: true),
        let value = PercentEncoding.decodeText(
          part[name.endIndex...].dropFirst(), plusIsBlank: true)
      else { return nil }
      pairs.append((decodedName, value))
    }
    self.pairs = pairs
  }

  /// Decodes what people and scripts have typed, and never refuses it: a `%` that encodes nothing stands for itself, bytes that
  /// aren't UTF-8 are ISO 8859-1, and NULs are left out.
  package init(lenient bytes: ArraySlice<UInt8>) {
    pairs = bytes.split(separator: UInt8(ascii: "&")).map { part in
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      return (
        PercentEncoding.decodeLeniently(name),
        PercentEncoding.decodeLeniently(part[name.endIndex...].dropFirst())
      )
    }
  }

  /// The value of the first pair with a name.
  public subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }
}

/// Percent-encoding of URIs (RFC 3986 section 2.1).
public enum PercentEncoding {
  /// Decodes a path segment or another part of a URI.
  ///
  /// Decode only after splitting: a decoded `/` is no separator any more.
  ///
  /// - Parameter plusIsBlank: whether `+` stands for a blank, as in forms.
  /// - Returns: the bytes, or nil if a `%` is not followed by two hexadecimal digits.
  public static func decode(_ encoded: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(encoded.count)
    var rest = encoded
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else {
          return nil
        }
        decoded.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsBlank: decoded.append(0x20)
      default: decoded.append(byte)
      }
    }
    return decoded
  }

  /// Decodes a part of a URI to text.
  ///
  /// - Parameter plusIsBlank: whether `+` stands for a blank, as in forms.
  /// - Returns: the text, or nil if the encoding is malformed, if it isn't UTF-8, or if it has a NUL,
  ///   which C libraries would take for the end.
  public static func decodeText(
    _ encoded: ArraySlice<UInt8>, plusIsBlank: Bool = false
  ) -> String? {
    guard let bytes = decode(encoded, plusIsBlank: plusIsBlank), !bytes.contains(0) else {
      return nil
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Decodes a part of a form to text, whatever it is.
  fileprivate static func decodeLeniently(_ encoded: ArraySlice<UInt8>) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(encoded.count)
    var rest = encoded
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexValue,
        let low = rest.dropFirst().first?.hexValue
      {
        decoded.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    decoded.removeAll { $0 == 0 }
    return String(validating: decoded, as: UTF8.self)
      ?? String(String.UnicodeScalarView(decoded.map { Unicode.Scalar($0) }))
  }

  /// Encodes all bytes but letters, digits, `-`, `.`, `_` and `~`.
  ///
  /// - Returns: text that can stand in a path segment, in a query or in a form.
  public static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let unreserved = ByteSet.hostName
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if unreserved.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
