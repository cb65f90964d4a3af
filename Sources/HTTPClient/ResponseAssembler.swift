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
  private var bytesLeft: Int
  private var fieldsLeft: Int
  private var part = Part.head
  private var status: UInt16 = 0
  private var isHTTP2 = false
  private var fields = ResponseFields()
  private var body: [UInt8] = []

  /// The reason for which the response was refused, or nil.
  private(set) var failure: HTTPClientError?

  init(_ options: HTTPClientOptions) {
    bodyLimit = options.bodyLimit
    bytesLeft = options.headLimit
    fieldsLeft = options.fieldLimit
  }

  /// Takes a line of a head or of the trailers.
  ///
  /// - Parameter line: the line with its end; HTTP/2's pseudo-field comes as `HTTP/2 200`.
  /// - Returns: whether to go on.
  mutating func takeLine(_ line: [UInt8]) -> Bool {
    bytesLeft -= line.count
    guard bytesLeft >= 0 else { return refuse(.tooLarge, "the response's head is too long") }
    let text = line[..<(line.lastIndex { $0 != 0x0d && $0 != 0x0a } ?? -1).advanced(by: 1)]
    if part == .head, text.starts(with: "HTTP/".utf8) { return takeStatus(text) }
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
    let value = text[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
    let end = value.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? value.startIndex
    let field = (
      name: String(decoding: text[..<colon], as: UTF8.self),
      value: String(decoding: value[..<end], as: UTF8.self)
    )
    if field.name.lowercased() == "content-length" {
      // libcurl reads the digits at the start, of the last of several.
      let isNumber = !field.value.isEmpty && field.value.utf8.allSatisfy { 0x30...0x39 ~= $0 }
      guard isNumber, fields.first(.contentLength) ?? field.value == field.value else {
        return refuse(.malformedResponse, "the response's length is malformed")
      }
    }
    fields.pairs.append(field)
    return true
  }

  /// Reads `HTTP/1.1 200 OK`; the fields of an interim response before it are dropped.
  private mutating func takeStatus(_ line: ArraySlice<UInt8>) -> Bool {
    let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count >= 2, words[1].count == 3,
      let code = UInt16(String(decoding: words[1], as: UTF8.self)), (100...599).contains(code)
    else { return refuse(.malformedResponse, "the response's status line is malformed") }
    status = code
    isHTTP2 = words[0].elementsEqual("HTTP/2".utf8)
    fields = ResponseFields()
    return true
  }

  /// Takes a piece of the body.
  ///
  /// - Returns: whether to go on.
  mutating func takeBody(_ piece: Span<UInt8>) -> Bool {
    guard piece.count <= bodyLimit - body.count else {
      return refuse(.tooLarge, "the response's body is too long")
    }
    unsafe piece.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
    return true
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
