/// A response status code, from 100 to 599 (RFC 9110 section 15).
public struct Status: Hashable, Sendable {
  /// The three digits as a number.
  public let code: UInt16

  /// A status for a code.
  ///
  /// - Parameter code: the number; what lies outside 100 to 599 becomes 500.
  public init(_ code: UInt16) {
    self.code = (100...599).contains(code) ? code : 500
  }

  public static let switchingProtocols = Status(101)
  public static let ok = Status(200)
  public static let accepted = Status(202)
  public static let noContent = Status(204)
  public static let multipleChoices = Status(300)
  public static let notModified = Status(304)
  public static let badRequest = Status(400)
  public static let unauthorized = Status(401)
  public static let forbidden = Status(403)
  public static let notFound = Status(404)
  public static let methodNotAllowed = Status(405)
  public static let requestTimeout = Status(408)
  public static let gone = Status(410)
  public static let contentTooLarge = Status(413)
  public static let uriTooLong = Status(414)
  public static let expectationFailed = Status(417)
  public static let upgradeRequired = Status(426)
  public static let tooManyRequests = Status(429)
  public static let headerFieldsTooLarge = Status(431)
  public static let internalServerError = Status(500)
  public static let notImplemented = Status(501)
  public static let serviceUnavailable = Status(503)
  public static let versionNotSupported = Status(505)

  /// The reason phrase of the registry; empty for a code without one.
  public var reason: StaticString {
    switch code {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 200: "OK"
    case 202: "Accepted"
    case 204: "No Content"
    case 300: "Multiple Choices"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 417: "Expectation Failed"
    case 426: "Upgrade Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
  }

  /// Whether a response with this status never has a body (RFC 9110 section 6.4.1).
  public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }
}
