internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import HTTPProtocol

/// A device's session, of whichever version, without I/O: it takes events and returns actions.
///
/// It is an object, as its state is too large to be moved at each event.
///
/// One of version 1 asks one query at a time and receives nothing while one is open, so that everything is done in
/// the order in which it came. Posts are the exception: while some are being queued, further ones are
/// gathered, to be asked together next, and anything else waits until all of them are queued.
final class DeviceSession {
  /// True if the session is one of version 1.
  let isVersion1: Bool
  private var state: SessionState
  private var context: SessionContext

  /// Opens a session.
  ///
  /// - Parameter version2: what version 2 needs beside them, or nil for version 1.
  /// - Returns: nil if no secret can be agreed on with the device's key.
  init?(_ setup: SessionSetup, _ version2: Version2Setup? = nil) {
    isVersion1 = version2 == nil
    context = SessionContext(setup)
    if let version2 {
      guard let link = Version2Link(setup, version2) else { return nil }
      state = .joiningVersion2(Version2Joining(link: link, version2))
    } else {
      guard let channel = SessionChannel(setup) else { return nil }
      state = .joining(JoiningState(channel))
    }
  }

  /// Takes an event.
  ///
  /// - Parameter event: the event; no message may be handed over while ``isWaiting``.
  /// - Returns: the actions, to be done in order.
  func handle(_ event: SessionEvent) -> SessionActions {
    state.handle(event, &context)
    return context.removeActions()
  }

  /// True if nothing can be received until a reply comes.
  var isWaiting: Bool {
    switch state {
    case .joining(let joining): joining.isWaiting
    case .established(let established): established.isWaiting
    case .joiningVersion2(let joining): joining.isWaiting
    case .establishedVersion2(let established): established.isWaiting
    default: false
    }
  }

  /// True if the connection is closed, or about to be.
  var isOver: Bool {
    switch state {
    case .leaving: true
    case .closed: true
    default: false
    }
  }

  /// Decides whether to read the user's mailbox; to be asked whenever the socket can take more.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  func nextRead() -> MailboxPosition? { state.nextRead() }
}

/// The keys and limits of one session.
struct SessionSetup: Sendable {
  /// The service's key pair for headers and files.
  let encryption: EncryptionKeyPair
  /// The service's public keys.
  let identity: ServiceIdentity
  /// The device's key for this connection, from the query of its URI.
  let ephemeralKey: EncryptionPublicKey
  /// The URI to which the device connected, without a query.
  let uri: String
  let limits: SessionLimits
  /// The time for which the session is silent if it is refused, before it is closed.
  let silence: Duration

  /// Returns whether a user or a forum can have a key. A forum's key needs no more: it cannot log in, and only those
  /// who give the service its secret have anything boxed with it.
  func isFit(_ key: EncryptionPublicKey) -> Bool {
    !key.isLowOrder && key != identity.encryptionKey && key != ephemeralKey
  }
}

/// The limits of what a session takes, and of the time that it waits.
struct SessionLimits: Sendable {
  /// The limits of what a device sends at once.
  var frame = Frame.Limits()
  /// The time in which a device has to log in after the upgrade.
  var loginTime = Duration.seconds(30)
  /// The most entries that a mailbox has, and so the most of its own that a session leaves out.
  var ownEntries = 10_000
  /// The most posts that are gathered while others are being queued.
  var batchPosts = 128
  /// The most bytes that they have.
  var batchBytes = 256 << 10
}

/// The things that all states of a session share: its setup, and the actions of the present event.
struct SessionContext {
  let setup: SessionSetup
  var actions = SessionActions()

  init(_ setup: SessionSetup) { self.setup = setup }

  /// Asks a query.
  mutating func perform(_ query: Query) { actions.append(.perform(query)) }

  /// Counts something.
  mutating func count(_ counted: SessionAction.Counted) { actions.append(.count(counted)) }

  /// Counts a session as refused whose device has not logged in within the time that it had.
  ///
  /// - Returns: the end of the session.
  mutating func late() -> SessionEnd {
    count(.refused)
    return .close(1008)
  }

  mutating func removeActions() -> SessionActions {
    var taken = SessionActions()
    swap(&taken, &actions)
    return taken
  }
}

/// The stage of a session, with all that exists in it and nothing else.
enum SessionState: ~Copyable {
  case joining(JoiningState)
  case established(EstablishedState)
  case joiningVersion2(Version2Joining)
  case establishedVersion2(Version2Established)
  case leaving(LeavingState)
  case refused(RefusedState)
  /// The connection is closed, or about to be, and nothing is left to be done.
  case closed

  mutating func handle(_ event: SessionEvent, _ context: inout SessionContext) {
    do throws(SessionEnd) {
      self =
        switch consume self {
        case .joining(let state): try state.handle(event, &context)
        case .established(let state): state.handle(event, &context)
        case .joiningVersion2(let state): try state.handle(event, &context)
        case .establishedVersion2(let state): state.handle(event, &context)
        case .leaving(let state): state.handle(event, &context)
        case .refused(let state): try state.handle(event, &context)
        case .closed: .closed
        }
    } catch { self = .ended(error, &context) }
  }

  /// Ends a session that has nothing left to be done.
  private static func ended(_ end: SessionEnd, _ context: inout SessionContext) -> SessionState {
    switch end {
    case .close(let code):
      context.actions.append(.close(code))
      return .closed
    case .refuse: return .refused(RefusedState(nil, nil, .done, &context))
    }
  }

  private var wantsRead: Bool {
    switch self {
    case .established(let state): state.cursor.wantsRead
    case .establishedVersion2(let state): state.cursor.wantsRead
    default: false
    }
  }

  mutating func nextRead() -> MailboxPosition? {
    guard wantsRead else { return nil }
    switch consume self {
    case .established(var state):
      let position = state.cursor.nextRead()
      self = .established(state)
      return position
    case .establishedVersion2(var state):
      let position = state.cursor.nextRead()
      self = .establishedVersion2(state)
      return position
    case let state:
      self = state
      return nil
    }
  }
}

/// The connection is closed, or about to be, while posts that came before are still being queued.
struct LeavingState: ~Copyable {
  /// The user of a session of version 1; what came behind the posts of version 2 isn't done: without an answer the
  /// device sends it again.
  var user: SessionUser?
  let posting: Posting

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    guard case .replied = event else { return .leaving(self) }
    guard posting.outcomes.value != nil else { return .closed }
    if let next = posting.next(&context) {
      return .leaving(LeavingState(user: user, posting: next))
    }
    // Nobody gets the answer.
    if case .pdu(let postponed) = posting.postponed { _ = user?.request(for: postponed, &context) }
    return .closed
  }
}

/// The device broke the protocol before it had logged in. Nothing is sent for a while, so that nobody learns anything by
/// trying; then a request of version 2 is answered, and the connection is closed.
struct RefusedState: ~Copyable {
  private var link: Version2Link?
  private let request: OpenRequest?
  private let error: ErrorCode

  /// Begins the silence, which no answer follows without a request.
  init(
    _ link: consuming Version2Link?, _ request: OpenRequest?, _ error: ErrorCode,
    _ context: inout SessionContext
  ) {
    self.link = link
    self.request = request
    self.error = error
    context.count(.refused)
    context.actions.append(.wait(context.setup.silence))
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .timedOut:
      if let request { link?.answer(request, error, &context) }
      throw .close(1008)
    case .evicted: throw .close(1008)
    case .draining(let uri?):
      // In place of the answer.
      if let end = link?.redirect(to: uri, &context) { throw end }
      return .closed
    case .draining, .ended: return .closed
    case .opened, .received, .replied, .news, .read: return .refused(self)
    }
  }
}

/// Something that a session wants done.
enum SessionAction: Sendable {
  /// Send a WebSocket message.
  case send([UInt8], Sent)
  /// Find out the reply to a query.
  case perform(Query)
  /// Notify the session of further entries in the mailbox of the user who has logged in, ask what follows in that user's
  /// name, and take long messages from now on.
  indirect case join(AccountLogin)
  /// Notify the session when some time is over; an earlier such time is forgotten.
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

  /// The store failed, and nothing else can say so (RFC 6455 section 7.4.1).
  static let failed = SessionEnd.close(1011)
}
