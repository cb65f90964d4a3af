/// A failure with its HTTP status. A handler throws it, and the router makes the response.
public struct HTTPError: Error, Sendable {
  /// The status of the response, 400 to 599.
  public var status: Status
  /// The message for the client. Anyone may see it, so it holds nothing internal.
  public var message: String
  /// Further members of the response's JSON object besides `error`.
  public var members: [String: String] = [:]
  /// The response's JSON where a service answers in another form than its usual one.
  package var json: [UInt8]?
  /// Header fields of the response besides those of its body.
  public var fields: HeaderFields

  /// Makes a failure.
  ///
  /// - Parameter message: the message for the client, or nil for the status' reason phrase.
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

/// An error of a client: the kind of failure for programs, and words for people.
///
/// Errors are equal if they are of the same kind, whatever their words.
public struct ClientError<Failure: Sendable & Hashable>: Error, Sendable, Hashable {
  /// The kind of failure, for programs.
  public let code: Failure
  /// The failure in words, for people.
  public let message: String

  /// An error.
  ///
  /// - Parameter message: the failure in words, without anything that may be secret.
  public init(_ code: Failure, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Compares the kinds of failure.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

  /// Hashes the kind of failure.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension ClientError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}

/// The reason for which a request cannot be taken; the connection ends with the response, as its framing is lost.
public struct RequestFailure: Error, Equatable, Sendable {
  /// The status of the response.
  public let status: Status
  /// The fault, for the log; never holds bytes of the peer.
  public let reason: String

  /// A failure.
  ///
  /// - Parameter reason: the fault, without bytes of the peer.
  public init(_ status: Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// A failure of syntax, with status 400.
  init(_ reason: String) { self.init(.badRequest, reason) }
}
