/// The reason for which a request cannot be taken; the connection ends with the response, as its framing is lost.
public struct RequestFailure: Error, Equatable, Sendable {
  /// The status of the response.
  public let status: Status
  /// The fault, for the log; never holds bytes of the peer.
  public let reason: String

  /// A failure.
  ///
  /// - Parameters:
  ///   - status: the status of the response.
  ///   - reason: the fault, without bytes of the peer.
  public init(_ status: Status, _ reason: String) { (self.status, self.reason) = (status, reason) }

  /// A failure of syntax, with status 400.
  init(_ reason: String) { self.init(.badRequest, reason) }
}
