public import HTTPProtocol

/// A failure that knows its answer; a handler throws it, and the router makes the response.
public struct HTTPError: Error, Sendable {
  /// The status of the answer, 400 to 599.
  public var status: Status
  /// What the caller is told; shown to anyone, so it holds nothing internal.
  public var message: String
  /// Members of the answer's JSON object besides `error`, where it is one.
  public var members: [String: String] = [:]
  /// Header fields of the answer besides those of its body.
  public var fields: HeaderFields

  /// A failure.
  ///
  /// - Parameters:
  ///   - status: the status of the answer.
  ///   - message: what the caller is told; nil: the status' reason phrase.
  ///   - fields: header fields of the answer.
  public init(_ status: Status, _ message: String? = nil, fields: HeaderFields = HeaderFields()) {
    self.status = status
    self.message = message ?? "\(status.reason)"
    self.fields = fields
  }

  /// A failure that asks the caller to come again.
  ///
  /// - Parameters:
  ///   - status: 429 or 503.
  ///   - message: what the caller is told; nil: the status' reason phrase.
  ///   - seconds: the value of `Retry-After` (RFC 9110 section 10.2.3).
  public init(_ status: Status, _ message: String? = nil, retryAfter seconds: Int) {
    self.init(status, message)
    fields.append(.retryAfter, String(max(0, seconds)))
  }
}
