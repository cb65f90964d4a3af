public import HTTPProtocol

/// A request to another server.
public struct OutgoingRequest: Sendable {
  /// The method.
  public var method: Method
  /// An absolute URL with the scheme `http` or `https`, without user name and password.
  public var url: String
  /// The header fields. `Content-Length`, `Transfer-Encoding` and `Connection` are the client's and
  /// don't belong here.
  public var fields: HeaderFields
  /// The body, or nil for none.
  public var body: [UInt8]?
  /// The time for the exchange, from the call to the last byte, or nil for that of the client's options.
  public var timeout: Duration?

  /// A request.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: an absolute URL; ``HTTPClient/send(_:)`` refuses anything else.
  ///   - fields: the header fields.
  ///   - body: the body, or nil for none.
  ///   - timeout: the time for the exchange, or nil for that of the client's options.
  public init(
    _ method: Method = .get, _ url: String, fields: HeaderFields = HeaderFields(),
    body: [UInt8]? = nil, timeout: Duration? = nil
  ) {
    (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    self.timeout = timeout
  }

  /// Makes a POST request with a body in JSON.
  ///
  /// - Parameters:
  ///   - url: an absolute URL.
  ///   - body: the body.
  public init(_ url: String, json body: [UInt8]) {
    self.init(.post, url, body: body)
    fields.append(.contentType, "application/json")
  }
}
