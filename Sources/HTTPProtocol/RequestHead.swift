/// The request line and the header fields of a request, checked by the rules of RFC 9112.
public struct RequestHead: Sendable {
  /// The versions this server speaks.
  public enum Version: Sendable {
    /// HTTP/1.0: closes after each response unless the client asks otherwise.
    case http10
    /// HTTP/1.1, and whatever has its semantics.
    case http11
  }

  /// The framing of a body (RFC 9112 section 6.3).
  public enum Framing: Equatable, Sendable {
    /// There is no body.
    case none
    /// `Content-Length`, in bytes.
    case length(Int)
    /// A body of a length that is not known before its end: the chunked transfer coding (RFC 9112 section 7.1), or
    /// HTTP/2 without `Content-Length`.
    case chunked
  }

  /// A part of ``bytes``, kept in four bytes; its bounds must not exceed ``longest``.
  @propertyWrapper
  struct Extent: Sendable {
    private let lower: UInt16
    private let upper: UInt16

    init(wrappedValue range: Range<Int>) {
      lower = UInt16(range.lowerBound)
      upper = UInt16(range.upperBound)
    }

    var wrappedValue: Range<Int> { Int(lower)..<Int(upper) }
  }

  /// One field line: where its name and its trimmed value stand in ``bytes``.
  struct Field: Sendable {
    @Extent var name: Range<Int>
    @Extent var value: Range<Int>
  }

  /// The longest head, in bytes: positions are kept in 16 bits.
  static let longest = Int(UInt16.max)

  /// The head as it came.
  let bytes: [UInt8]
  let fields: [Field]

  /// The memory that the head takes, in bytes.
  public var size: Int { bytes.count + fields.count * MemoryLayout<Field>.stride }

  /// The method.
  public let method: Method
  /// The version of the request line.
  public let version: Version
  /// The framing of the body.
  public let framing: Framing
  /// True if the client wants the connection kept after the response.
  public let keepAlive: Bool
  /// True if the client waits for `100 Continue` before it sends the body.
  public let expectsContinue: Bool
  @Extent var pathExtent: Range<Int>
  /// True if the path holds a `%`.
  public let isPathEncoded: Bool
  let queryExtent: Extent?
  @Extent var authorityExtent: Range<Int>
  @Extent var hostExtent: Range<Int>
}

extension RequestHead {
  /// The path, still percent-encoded: begins with `/`, or is `*`.
  public var path: ArraySlice<UInt8> { bytes[pathExtent] }

  /// The part of the target after the first `?`, or nil without one: as it was sent, maybe with bytes that aren't ASCII.
  public var query: ArraySlice<UInt8>? { queryExtent.map { bytes[$0.wrappedValue] } }

  /// Host and port as the client wrote them; empty only in HTTP/1.0.
  public var authority: String { String(decoding: bytes[authorityExtent], as: UTF8.self) }

  /// The host in lower case, without port, an IPv6 address in brackets; empty only in HTTP/1.0.
  public var host: String {
    String(decoding: bytes[hostExtent].lazy.map(\.lowercase), as: UTF8.self)
  }

  /// The value of the first field with a name.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the value without surrounding blanks, or nil without such a field.
  public func first(_ name: FieldName) -> ArraySlice<UInt8>? {
    for field in fields where bytes.span.equals(name.text, in: field.name) {
      return bytes[field.value]
    }
    return nil
  }

  /// The value of a field that must not come twice.
  ///
  /// - Returns: the value without surrounding blanks, or nil without such a field or with several.
  func only(_ name: FieldName) -> ArraySlice<UInt8>? {
    var only: ArraySlice<UInt8>?
    for field in fields where bytes.span.equals(name.text, in: field.name) {
      guard only == nil else { return nil }
      only = bytes[field.value]
    }
    return only
  }

  /// The values of all fields with a name, joined as RFC 9110 section 5.3 allows.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the values joined by `", "`, invalid UTF-8 replaced; nil without such a field.
  public func value(_ name: FieldName) -> String? {
    var joined: String?
    forEachValue(name) { value in
      let text = String(decoding: value, as: UTF8.self)
      joined = joined.map { "\($0), \(text)" } ?? text
    }
    return joined
  }

  /// Returns whether the comma-separated lists of the fields with a name have a member.
  ///
  /// - Parameters:
  ///   - name: the name, compared without regard to case.
  ///   - token: the member, compared without regard to ASCII case.
  public func contains(_ name: FieldName, token: StaticString) -> Bool {
    let span = bytes.span
    return fields.contains { field in
      span.equals(name.text, in: field.name) && span.list(in: field.value, contains: token)
    }
  }

  /// Calls a closure with each field in order.
  ///
  /// - Parameter body: takes the name as it came and the value without surrounding blanks.
  public func forEachField<Failure: Error>(
    _ body: (_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) { for field in fields { try body(bytes[field.name], bytes[field.value]) } }

  /// Calls a closure with the value of each field of a name, in order.
  func forEachValue(_ name: FieldName, _ body: (ArraySlice<UInt8>) -> Void) {
    for field in fields where bytes.span.equals(name.text, in: field.name) {
      body(bytes[field.value])
    }
  }

  /// True if this asks to go on as a WebSocket; ``WebSocketHandshake/check(_:)`` tells whether the request is in order.
  ///
  /// HTTP/1.0 has no upgrade (RFC 9110 section 7.8).
  public var isWebSocketUpgrade: Bool {
    method == .get && version == .http11 && contains(.upgrade, token: "websocket")
      && contains(.connection, token: "upgrade")
  }
}
