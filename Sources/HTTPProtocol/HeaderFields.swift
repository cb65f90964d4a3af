/// The header fields of a response, kept as the bytes that HTTP/1.1 sends.
///
/// A prepared set is copied by reference, so that a response from memory builds nothing.
/// `Date`, `Connection` and `Content-Length` are the server's and don't belong here.
public struct HeaderFields: Sendable, Equatable {
  /// Field lines, each ended by CR LF.
  public private(set) var bytes: [UInt8] = []

  /// No fields.
  public init() {}

  /// Adds a field line.
  ///
  /// - Parameter value: its value; a control character in it becomes a space, so that no value ends its line.
  public mutating func append(_ name: FieldName, _ value: String) { append(name, value.utf8) }

  /// Adds a field line whose value is given as bytes.
  ///
  /// - Parameter value: its value; a control character in it becomes a space, so that no value ends its line.
  public mutating func append(_ name: FieldName, _ value: some Collection<UInt8>) {
    bytes.append(name.text)
    bytes.append(": ")
    bytes.append(contentsOf: value.lazy.map { $0 < 0x20 || $0 == 0x7f ? 0x20 : $0 })
    bytes.append("\r\n")
  }

  /// Adds all fields of another set.
  ///
  /// - Parameter other: the fields, added behind those that are there.
  public mutating func append(contentsOf other: HeaderFields) { bytes += other.bytes }

  /// The fields as pairs, in order: for HTTP/2, and for tests.
  public var pairs: [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      return (
        String(decoding: line[..<colon], as: UTF8.self),
        String(decoding: line[(colon + 2)...].dropLast(), as: UTF8.self)
      )
    }
  }

  /// The value of the first field with a name, compared without regard to case.
  ///
  /// - Returns: the value, or nil without such a field.
  public func first(_ name: FieldName) -> String? {
    pairs.first { $0.name.lowercased() == "\(name.text)".lowercased() }?.value
  }
}

/// The name of a header field, compared without regard to case (RFC 9110 section 5.1).
public struct FieldName: Sendable {
  /// The name as it is written in a response.
  public let text: StaticString

  /// A name known when the program is written.
  ///
  /// - Parameter text: an ASCII token.
  public init(_ text: StaticString) { self.text = text }

  /// Media types the client takes (RFC 9110 section 12.5.1).
  public static let accept = FieldName("Accept")
  /// Content codings the client takes (RFC 9110 section 12.5.3).
  public static let acceptEncoding = FieldName("Accept-Encoding")
  /// Methods of the resource (RFC 9110 section 10.2.1).
  public static let allow = FieldName("Allow")
  /// Credentials of the client (RFC 9110 section 11.6.2).
  public static let authorization = FieldName("Authorization")
  /// Directives for caches (RFC 9111 section 5.2).
  public static let cacheControl = FieldName("Cache-Control")
  /// Options of this connection (RFC 9110 section 7.6.1).
  public static let connection = FieldName("Connection")
  /// Codings of the content (RFC 9110 section 8.4).
  public static let contentEncoding = FieldName("Content-Encoding")
  /// Length of the body in bytes (RFC 9110 section 8.6).
  public static let contentLength = FieldName("Content-Length")
  /// The resources that a browser may load and run for a page (CSP level 3).
  public static let contentSecurityPolicy = FieldName("Content-Security-Policy")
  /// Media type of the content (RFC 9110 section 8.3).
  public static let contentType = FieldName("Content-Type")
  /// The field that forbids a browser to guess at the type (Fetch standard).
  public static let contentTypeOptions = FieldName("X-Content-Type-Options")
  /// Validator of the representation (RFC 9110 section 8.8.3).
  public static let entityTag = FieldName("ETag")
  /// Host and port of the target (RFC 9110 section 7.2).
  public static let host = FieldName("Host")
  /// Condition on entity tags, for changes (RFC 9110 section 13.1.1).
  public static let ifMatch = FieldName("If-Match")
  /// Condition on the modification date, for reading (RFC 9110 section 13.1.3).
  public static let ifModifiedSince = FieldName("If-Modified-Since")
  /// Condition on entity tags, for reading (RFC 9110 section 13.1.2).
  public static let ifNoneMatch = FieldName("If-None-Match")
  /// Condition on the modification date, for changes (RFC 9110 section 13.1.4).
  public static let ifUnmodifiedSince = FieldName("If-Unmodified-Since")
  /// The moment at which the representation was modified (RFC 9110 section 8.8.2).
  public static let lastModified = FieldName("Last-Modified")
  /// Related resources (RFC 8288 section 3).
  public static let link = FieldName("Link")
  /// The target of a redirect (RFC 9110 section 10.2.2).
  public static let location = FieldName("Location")
  /// The web origin that caused the request (RFC 6454 section 7).
  public static let origin = FieldName("Origin")
  /// The number that logs know the request by.
  public static let requestID = FieldName("X-Request-Id")
  /// The part of the page's address that a browser tells other sites (Referrer Policy).
  public static let referrerPolicy = FieldName("Referrer-Policy")
  /// The time to wait before asking again (RFC 9110 section 10.2.3).
  public static let retryAfter = FieldName("Retry-After")
  /// The proof that the server read the key (RFC 6455 section 11.3.3).
  public static let secWebSocketAccept = FieldName("Sec-WebSocket-Accept")
  /// The key of the client (RFC 6455 section 11.3.1).
  public static let secWebSocketKey = FieldName("Sec-WebSocket-Key")
  /// Subprotocols (RFC 6455 section 11.3.4).
  public static let secWebSocketProtocol = FieldName("Sec-WebSocket-Protocol")
  /// The version of the protocol (RFC 6455 section 11.3.5).
  public static let secWebSocketVersion = FieldName("Sec-WebSocket-Version")
  /// Protocols to change to (RFC 9110 section 7.8).
  public static let upgrade = FieldName("Upgrade")
  /// Fields that chose the representation (RFC 9110 section 12.5.5).
  public static let vary = FieldName("Vary")
  /// Addresses that a proxy forwards for.
  public static let xForwardedFor = FieldName("X-Forwarded-For")
  /// The scheme that a proxy was asked with.
  public static let xForwardedProto = FieldName("X-Forwarded-Proto")
}
