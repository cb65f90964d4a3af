/// Why a request cannot be taken; the connection ends with the answer, as its framing is lost.
public struct RequestFailure: Error, Equatable, Sendable {
  /// The status to answer with.
  public let status: Status
  /// What was wrong, for the log; never holds bytes of the peer.
  public let reason: String

  /// A failure.
  ///
  /// - Parameters:
  ///   - status: the status to answer with.
  ///   - reason: what was wrong, without bytes of the peer.
  public init(_ status: Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// A failure of syntax, answered with 400.
  init(_ reason: String) { self.init(.badRequest, reason) }
}
