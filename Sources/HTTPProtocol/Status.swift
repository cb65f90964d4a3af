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
