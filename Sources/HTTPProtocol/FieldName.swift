/// The name of a header field, compared without regard to case (RFC 9110 section 5.1).
public struct FieldName: Sendable {
  /// The name as it is written in a response.
  public let text: StaticString

  /// A name known when the program is written.
  ///
  /// - Parameter text: an ASCII token.
  public init(_ text: StaticString) { self.text = text }

  public static let accept = FieldName("Accept")
  public static let acceptEncoding = FieldName("Accept-Encoding")
  public static let allow = FieldName("Allow")
  public static let authorization = FieldName("Authorization")
  public static let cacheControl = FieldName("Cache-Control")
  public static let connection = FieldName("Connection")
  public static let contentEncoding = FieldName("Content-Encoding")
  public static let contentLength = FieldName("Content-Length")
  public static let contentType = FieldName("Content-Type")
  public static let date = FieldName("Date")
  public static let entityTag = FieldName("ETag")
  public static let expect = FieldName("Expect")
  public static let host = FieldName("Host")
  public static let ifModifiedSince = FieldName("If-Modified-Since")
  public static let ifNoneMatch = FieldName("If-None-Match")
  public static let lastModified = FieldName("Last-Modified")
  public static let link = FieldName("Link")
  public static let location = FieldName("Location")
  public static let origin = FieldName("Origin")
  public static let requestID = FieldName("X-Request-Id")
  public static let retryAfter = FieldName("Retry-After")
  public static let secWebSocketAccept = FieldName("Sec-WebSocket-Accept")
  public static let secWebSocketKey = FieldName("Sec-WebSocket-Key")
  public static let secWebSocketProtocol = FieldName("Sec-WebSocket-Protocol")
  public static let secWebSocketVersion = FieldName("Sec-WebSocket-Version")
  public static let transferEncoding = FieldName("Transfer-Encoding")
  public static let upgrade = FieldName("Upgrade")
  public static let vary = FieldName("Vary")
  public static let xForwardedFor = FieldName("X-Forwarded-For")
  public static let xForwardedProto = FieldName("X-Forwarded-Proto")
}
