internal import Cluster
internal import HTTPProtocol

/// Something that a session wants done.
enum SessionAction: Sendable {
  /// Send a WebSocket message.
  case send([UInt8], Sent)
  /// Find out the reply to a query.
  case ask(Query)
  /// Tell the session of further entries in the mailbox of the user who has logged in, ask what follows in that user's
  /// name, and take long messages from now on.
  indirect case join(AccountLogin)
  /// Tell the session when some time is over; an earlier such time is forgotten.
  case wait(Duration)
  /// Begin the close handshake with a code.
  case close(UInt16)
  /// Count something.
  case count(Counted)

  /// A kind of message that devices are sent.
  enum Sent: Sendable {
    /// A message of the stream.
    case message
    /// A redirect to another URI.
    case redirect
    /// Anything else.
    case other
  }

  /// An event that is only counted.
  enum Counted: Hashable, Sendable {
    /// A PDU of a known type came.
    case received(type: UInt8)
    /// A PDU came whose type is unknown, or not for devices to send.
    case ignored
    /// The session was refused.
    case refused
  }
}

/// Actions in the order in which they are to be done, which are taken one by one.
///
/// Most events lead to one action, and the first one needs no memory of its own.
struct SessionActions: Sequence, IteratorProtocol, Sendable {
  private var first: SessionAction?
  private var rest: [SessionAction] = []
  /// The number of actions of ``rest`` that were taken.
  private var taken = 0

  mutating func append(_ action: SessionAction) {
    if first == nil { first = action } else { rest.append(action) }
  }

  /// Takes the next action, or returns nil if there is none.
  mutating func next() -> SessionAction? {
    if let action = first.take() { return action }
    guard taken < rest.count else { return nil }
    defer { taken += 1 }
    return rest[taken]
  }
}

/// Something that happens to a session.
enum SessionEvent: Sendable {
  /// The connection was upgraded.
  case opened
  /// A message came.
  case received(WebSocketMessage)
  /// The open query is done: its promise has the reply, unless it failed.
  case replied
  /// The user's mailbox has further entries, which others made.
  case news(EntryUpdate<MailboxPosition, MailboxEntry>, isBackedUp: Bool)
  /// A part of the mailbox was read, or nil if that failed.
  case read(MailboxPage?)
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

/// The end of a session, as an event brings it about.
enum SessionEnd: Error {
  /// The connection is closed with a code.
  case close(UInt16)
  /// The device broke the protocol.
  case refuse
}
