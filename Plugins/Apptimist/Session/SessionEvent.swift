internal import Cluster
internal import HTTPProtocol

/// Something that happens to a session.
enum SessionEvent: Sendable {
  /// The connection was upgraded.
  case opened
  /// A message came.
  case received(WebSocketMessage)
  /// The reply to the open query came.
  case replied(Reply)
  /// The user's mailbox has further entries, which others made.
  case news(EntryUpdate<StreamPosition, StreamEntry>, isBackedUp: Bool)
  /// A part of the mailbox was read, or nil if that failed.
  case read(StreamPage?)
  /// The time is over for which the session asked.
  case timedOut
  /// The user has opened too many sessions after this one.
  case evicted
  /// The server is about to stop, and closes the connection with 1001 in any case. Devices are
  /// redirected to the URI, if there is one.
  case draining(to: String?)
  /// The connection is over. What came behind posts that are being queued is still done.
  case ended
}
