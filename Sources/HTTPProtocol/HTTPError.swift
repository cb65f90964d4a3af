/// A failure with its HTTP status. A handler throws it, and the router makes the response.
public struct HTTPError: Error, Sendable {
  /// The status of the response, 400 to 599.
  public var status: Status
  /// The message for the client. Anyone may see it, so it holds nothing internal.
  public var message: String
  /// Further members of the response's JSON object besides `error`.
  public var members: [String: String] = [:]
  /// Header fields of the response besides those of its body.
  public var fields: HeaderFields

  /// Makes a failure.
  ///
  /// - Parameters:
  ///   - status: the status of the response.
  ///   - message: the message for the client, or nil for the status' reason phrase.
  ///   - fields: further header fields of the response.
  public init(_ status: Status, _ message: String? = nil, fields: HeaderFields = HeaderFields()) {
    self.status = status
    self.message = message ?? "\(status.reason)"
    self.fields = fields
  }

  /// Makes a failure that asks the client to try again.
  ///
  /// - Parameters:
  ///   - status: 429 or 503.
  ///   - message: the message for the client, or nil for the status' reason phrase.
  ///   - seconds: the value of `Retry-After` (RFC 9110 section 10.2.3).
  public init(_ status: Status, _ message: String? = nil, retryAfter seconds: Int) {
    self.init(status, message)
    fields.append(.retryAfter, String(max(0, seconds)))
  }
}
