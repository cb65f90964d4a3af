internal import Platform

/// A push service that messages are handed to.
protocol PushProvider: Sendable {
  /// The service and topic that its word on devices holds for, known to be right once it has accepted a push.
  var target: String { get }

  /// Tries once to push.
  ///
  /// - Parameter payload: its content, which the service has made.
  func push(_ push: LeasedPush, _ payload: PushPayload) async -> PushOutcome

  /// Replaces credentials that the service has called expired.
  func refreshCredentials()

  /// Reads credentials again that may be others by now. If they are faulty, the former ones stay.
  func reload() async throws
}

extension PushProvider {
  /// Does nothing, as no credentials expire.
  func refreshCredentials() {}

  /// Does nothing, as the credentials are read once.
  func reload() async throws {}
}

/// The outcome of an attempt to push.
enum PushOutcome: Sendable, Hashable {
  /// The push service responded.
  case responded(PushResponse)
  /// The connection broke or nothing came; the push service may have got the push or not.
  case disconnected
  /// The push service can't be reached, with the reason in words.
  case unreachable(String)
  /// The push service has enough to do with others.
  case postponed
  /// The push may not go where it should, with the reason in words.
  case forbidden(String)
  /// The push was recorded in the log, and no push service has it.
  case logged
  /// The program is about to end.
  case cancelled

  /// The service makes no payload of what it has queued.
  static let unreadable = forbidden("the service can't read its content")
}

/// A response of the push service.
struct PushResponse: Sendable, Hashable {
  /// The HTTP status.
  let status: Int
  /// Apple's word for the reason or FCM's code, if there is one: letters, digits and underscores.
  var reason: String?
  /// What the response says of the reason otherwise, in one line, fit for a log.
  var detail: String?
  /// The moment before which a device was bound that is gone by this response: Apple names one with status 410, at FCM it
  /// is the start of the attempt.
  var timestamp: Timestamp?
  /// The time to wait, if the push service gives one.
  var retryAfter: Duration?
  /// True if FCM says that the device's token is no token.
  var isOfToken = false
  /// True if a browser's push service says that the subscription was made for another key.
  var isOfOtherKey = false
}

/// The end of a push's lease.
enum PushCompletion: Sendable, Hashable {
  /// The push was accepted, which proves that the push service is the right one.
  case delivered
  /// The push is removed, as the log has it.
  case logged
  /// The push is removed without being delivered.
  case dropped(PushDrop)
  /// The push is tried again.
  case retried(at: Timestamp)
  /// The push is removed and its address ended, if that was bound before a moment or no moment is given.
  case unbound(boundBefore: Timestamp?)
}

/// The reason why a push is given up.
enum PushDrop: String, CaseIterable, Sendable {
  case refused, expired
  case deviceGone = "device gone"
}
