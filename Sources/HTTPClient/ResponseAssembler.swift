internal import HTTPProtocol

/// Makes a response of the lines and pieces that libcurl hands over, within limits.
struct ResponseAssembler {
  private enum Part {
    /// Before a status line, or within a head.
    case head
    /// Behind the head of the final response.
    case body
  }

  private let bodyLimit: Int
  private let cutsLongBodies: Bool
  private var bytesLeft: Int
  private var fieldsLeft: Int
  private var part = Part.head
  private var status: UInt16 = 0
  private var isHTTP2 = false
  private var fields = ResponseFields()
  private var body: [UInt8] = []

  /// The reason for which the response was refused, or nil.
  private(set) var failure: HTTPClientError?
  /// True if the body was cut, and no more of it is wanted.
  private(set) var isCut = false

  init(_ options: HTTPClientOptions) {
    bodyLimit = options.bodyLimit
    cutsLongBodies = options.cutsLongBodies
    bytesLeft = options.headLimit
    fieldsLeft = options.fieldLimit
  }

  /// Appends a line of a head or of the trailers.
  ///
  /// - Parameter line: the line with its end; HTTP/2's pseudo-field comes as `HTTP/2 200`.
  /// - Returns: whether to go on.
  mutating func parseLine(_ line: [UInt8]) -> Bool {
    bytesLeft -= line.count
    guard bytesLeft >= 0 else { return refuse(.tooLarge, "the response's head is too long") }
    let text = Self.withoutLineEnd(line)
    if part == .head, text.starts(with: "HTTP/".utf8) { return parseStatus(text) }
    if text.isEmpty {
      if status >= 200 { part = .body }
      return true
    }
    fieldsLeft -= 1
    guard fieldsLeft >= 0 else { return refuse(.tooLarge, "the response has too many fields") }
    // Trailers are counted and dropped.
    guard part == .head else { return true }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
      return refuse(.malformedResponse, "a line of the response's head is no field")
    }
    let name = String(decoding: text[..<colon], as: UTF8.self)
    let value = String(decoding: Self.trimmed(text[(colon + 1)...]), as: UTF8.self)
    if name.lowercased() == "content-length", !acceptsLength(value) {
      return refuse(.malformedResponse, "the response's length is malformed")
    }
    fields.pairs.append((name: name, value: value))
    return true
  }

  /// Whether a length is a number, and no other than one before it: libcurl reads the digits at the start, of the last
  /// of several.
  private func acceptsLength(_ value: String) -> Bool {
    guard !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return false }
    guard let former = fields.first(.contentLength) else { return true }
    return former == value
  }

  private static func withoutLineEnd(_ line: [UInt8]) -> ArraySlice<UInt8> {
    var text = line[...]
    while let last = text.last, last == 0x0d || last == 0x0a { text.removeLast() }
    return text
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }

  /// Reads `HTTP/1.1 200 OK`; the fields of an interim response before it are dropped.
  private mutating func parseStatus(_ line: ArraySlice<UInt8>) -> Bool {
    let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count >= 2, words[1].count == 3,
      let code = UInt16(String(decoding: words[1], as: UTF8.self)), (100...599).contains(code)
    else { return refuse(.malformedResponse, "the response's status line is malformed") }
    status = code
    isHTTP2 = words[0].elementsEqual("HTTP/2".utf8)
    fields = ResponseFields()
    return true
  }

  /// Appends a piece of the body.
  ///
  /// - Returns: whether to go on.
  mutating func appendBody(_ piece: Span<UInt8>) -> Bool {
    let room = bodyLimit - body.count
    isCut = piece.count > room
    guard !isCut || cutsLongBodies else {
      return refuse(.tooLarge, "the response's body is too long")
    }
    unsafe piece.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0.prefix(room)) }
    return !isCut
  }

  private mutating func refuse(_ code: HTTPFailure, _ message: String) -> Bool {
    failure = HTTPClientError(code, message)
    return false
  }

  /// The response, once libcurl says that it is whole.
  ///
  /// - Throws: `.malformedResponse` if there was no final one.
  consuming func finish() throws(HTTPClientError) -> IncomingResponse {
    guard part == .body else {
      throw HTTPClientError(.malformedResponse, "the response has no final status")
    }
    return IncomingResponse(
      status: Status(status), version: isHTTP2 ? .http2 : .http1, fields: fields, body: body)
  }
}
