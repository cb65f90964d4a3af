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
  /// The body; nil: none.
  public var body: [UInt8]?
  /// How long the exchange may take, from the call to the last byte; nil: as long as the client's
  /// options say.
  public var timeout: Duration?

  /// A request.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - url: an absolute URL; ``HTTPClient/send(_:)`` refuses what is none.
  ///   - fields: the header fields.
  ///   - body: the body; nil: none.
  ///   - timeout: how long the exchange may take; nil: as long as the client's options say.
  public init(
    _ method: Method = .get, _ url: String, fields: HeaderFields = HeaderFields(),
    body: [UInt8]? = nil, timeout: Duration? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeout = timeout
  }
}
