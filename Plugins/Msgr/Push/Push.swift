internal import Observability
internal import Time

/// A message on its way to a device's push service: a row of the outbox.
struct Push: Sendable, Hashable, Identifiable {
  let id: Int64
  let device: DeviceID
  /// The UUID that the push service knows it by, the same at each attempt.
  let apnsID: String
  let message: MessageID
  let sender: UserName
  let text: MessageText
  let isAddRequest: Bool
  /// How many messages are unread, this one included.
  let badge: Int
  let expires: Timestamp
  /// How often it has been tried, this time included.
  let attempts: Int
}

/// What came of trying to push.
enum PushOutcome: Sendable, Hashable {
  /// The push service has answered.
  case answered(PushAnswer)
  /// The connection broke, or nothing came: the push service may have got it or not.
  case disconnected
  /// The push service can't be reached; why, in words.
  case unreachable(String)
  /// The program is about to end.
  case cancelled
}

/// A push service's answer.
struct PushAnswer: Sendable, Hashable {
  let status: Int
  /// Apple's word for why, if there is one: letters and digits.
  var reason: String?
  /// With 410: since when the push service knows that the device is gone.
  var timestamp: Timestamp?
  /// How long to wait, if the push service says so.
  var retryAfter: Duration?
}

/// How a push leaves the hands of who has leased it.
enum PushSettlement: Sendable, Hashable {
  /// It was taken, which proves that the push service is the right one.
  case delivered
  /// It is removed without being delivered.
  case dropped
  /// It is tried again.
  case retried(at: Timestamp)
  /// It is removed, and its device unbound, if that was bound before a moment or no moment is
  /// given.
  case unbound(boundBefore: Timestamp?)
}
