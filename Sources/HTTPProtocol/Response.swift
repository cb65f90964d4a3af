public import Formats

internal import FoundationEssentials

/// The response to a request, before the server adds `Date`, `Connection` and `Content-Length`.
public struct Response: Sendable {
  /// The content of a response.
  public enum Body: Sendable {
    /// No bytes.
    case none
    /// Shared bytes, written without a copy.
    case bytes(Bytes)
    /// Bytes of this response alone.
    case array([UInt8])
    /// Pieces that are made one after the other, as the client takes them. If one can't be made, the response is cut.
    ///
    /// Indirect, as the layout of a stream is only known when the program runs: each copy of a response would ask for it.
    indirect case pieces(AsyncThrowingStream<[UInt8], any Error>)

    /// The length in bytes, 0 where it isn't known.
    public var count: Int {
      switch self {
      case .none, .pieces: 0
      case .bytes(let bytes): bytes.count
      case .array(let array): array.count
      }
    }
  }

  /// The status code.
  public var status: Status
  /// The header fields that the handler gives.
  public var fields: HeaderFields
  /// The body, which the server leaves out for `HEAD` and for statuses without one.
  public var body: Body
  /// The length in bytes of a body in pieces, where it is known.
  public var length: Int?
  /// True if the body is written as things happen, as long as the client listens.
  public var isOpenEnded = false
  /// True if the connection ends after this response.
  public var closes = false

  /// True if the body isn't there yet when the head is sent.
  public var hasLaterBody: Bool {
    if case .pieces = body { true } else { isOpenEnded }
  }

  /// A response.
  public init(_ status: Status, fields: HeaderFields = HeaderFields(), body: Body = .none) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// A response with a text body.
  ///
  /// - Parameters:
  ///   - type: the value of `Content-Type`.
  ///   - text: the body, sent as UTF-8.
  public init(_ status: Status, type: String, text: String) {
    self.init(status, body: .array(Array(text.utf8)))
    fields.append(.contentType, type)
  }
}

extension Response {
  /// Makes a response with a JSON body.
  ///
  /// - Parameter value: the body, which is encoded with sorted keys.
  /// - Throws: the error of the value's encoding.
  public init(_ status: Status, json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(status, body: .array(Array(try encoder.encode(value))))
    fields.append(.contentType, "application/json")
  }
}

extension Response {
  /// Appends the head of the response as HTTP/1.1 sends it (RFC 9112 section 4).
  ///
  /// Beside the handler's fields it has `Date`, `Connection` where it says something, and
  /// `Content-Length`: none with 1xx, 204 and 304, and none for `HEAD` if the handler left the
  /// body out, since the length that `GET` would have is not known then.
  ///
  /// - Parameters:
  ///   - output: the bytes to append to; grows once if it must.
  ///   - date: a prepared line as ``HTTPDate/fieldLine`` gives it, or empty for none.
  ///   - keepAlive: whether the connection stays open after the response.
  ///   - version10: whether the request was HTTP/1.0, whose clients must be told of an open connection.
  ///   - headOnly: whether the request was `HEAD`.
  public func serializeHead(
    into output: inout [UInt8], date: [UInt8], keepAlive: Bool, version10: Bool, headOnly: Bool
  ) {
    output.append(contentsOf: status.line)
    output.append(contentsOf: date)
    output.append(contentsOf: fields.bytes)
    if status.namesUpgrade {
      output.append(keepAlive ? "Connection: Upgrade\r\n" : "Connection: close, Upgrade\r\n")
    } else if !keepAlive {
      output.append("Connection: close\r\n")
    } else if version10 {
      output.append("Connection: keep-alive\r\n")
    }
    if hasLaterBody {
      if let length {
        output.append("Content-Length: ")
        output.append(decimal: length)
        output.append("\r\n")
        output.append("\r\n")
        return
      }
      // HTTP/1.0 knows the end of such a body by that of the connection (RFC 9112 section 6.3).
      if !version10 { output.append("Transfer-Encoding: chunked\r\n") }
    } else if !status.forbidsBody, !headOnly || body.count > 0 {
      output.append("Content-Length: ")
      output.append(decimal: body.count)
      output.append("\r\n")
    }
    output.append("\r\n")
  }

  /// The interim response that asks for the body (RFC 9110 section 15.2.1).
  public static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
}

extension Status {
  /// The status line (RFC 9112 section 4), CR LF included.
  fileprivate var line: [UInt8] { Self.lines[Int(code) - 100] }

  private static let lines = (UInt16(100)...599).map { code in
    Array("HTTP/1.1 \(code) \(Status(code).reason)\r\n".utf8)
  }

  /// True if the response has `Upgrade`, which `Connection` must name (RFC 9110 section 7.8).
  fileprivate var namesUpgrade: Bool { self == .switchingProtocols || self == .upgradeRequired }
}

/// A response status code, from 100 to 599 (RFC 9110 section 15).
public struct Status: Hashable, Sendable {
  /// The three digits as a number.
  public let code: UInt16

  /// A status for a code.
  ///
  /// - Parameter code: the number; what lies outside 100 to 599 becomes 500.
  public init(_ code: UInt16) { self.code = (100...599).contains(code) ? code : 500 }

  /// The connection goes on with another protocol.
  public static let switchingProtocols = Status(101)
  /// The request succeeded.
  public static let ok = Status(200)
  /// The request made a resource.
  public static let created = Status(201)
  /// The request is taken, its outcome stands in the body.
  public static let accepted = Status(202)
  /// The request succeeded, and there is nothing to send.
  public static let noContent = Status(204)
  /// There are several representations to choose from.
  public static let multipleChoices = Status(300)
  /// Another page is the response (RFC 9110 section 15.4.4).
  public static let seeOther = Status(303)
  /// The client's copy is good.
  public static let notModified = Status(304)
  /// The resource is at another address for good, for each method.
  public static let permanentRedirect = Status(308)
  /// The request is malformed.
  public static let badRequest = Status(400)
  /// Credentials are needed.
  public static let unauthorized = Status(401)
  /// The request is understood and refused.
  public static let forbidden = Status(403)
  /// There is no such resource.
  public static let notFound = Status(404)
  /// The resource has no such method; `Allow` lists those it has.
  public static let methodNotAllowed = Status(405)
  /// The request took too long to come.
  public static let requestTimeout = Status(408)
  /// The request contradicts the resource's present state.
  public static let conflict = Status(409)
  /// The resource was there and will not come back.
  public static let gone = Status(410)
  /// A condition of the request does not hold.
  public static let preconditionFailed = Status(412)
  /// The body is longer than the limit.
  public static let contentTooLarge = Status(413)
  /// The target is longer than the limit.
  public static let uriTooLong = Status(414)
  /// The expectation in `Expect` is not known.
  public static let expectationFailed = Status(417)
  /// The resource needs another protocol, named in `Upgrade`.
  public static let upgradeRequired = Status(426)
  /// The client asks too often.
  public static let tooManyRequests = Status(429)
  /// The header fields exceed a limit (RFC 6585 section 5).
  public static let headerFieldsTooLarge = Status(431)
  /// The server failed.
  public static let internalServerError = Status(500)
  /// The server lacks the method or the transfer coding.
  public static let notImplemented = Status(501)
  /// The server cannot serve now.
  public static let serviceUnavailable = Status(503)
  /// There is no room for what the request wants kept (RFC 4918 section 11.5).
  public static let insufficientStorage = Status(507)
  /// The version is not HTTP/1.
  public static let versionNotSupported = Status(505)

  /// The reason phrase of the registry; empty for a code without one.
  public var reason: StaticString { Self.reasons[code] ?? "" }

  private static let reasons: [UInt16: StaticString] = [
    100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted",
    204: "No Content", 206: "Partial Content", 300: "Multiple Choices", 301: "Moved Permanently",
    302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout",
    409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
    413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content",
    426: "Upgrade Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
  ]

  /// True if a response with this status never has a body (RFC 9110 section 6.4.1).
  public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }
}
