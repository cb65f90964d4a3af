internal import ApptimistProtocol
internal import Cluster
internal import HTTPProtocol

/// The cursor of a session's stream, which pauses when the device wants it, and leaves out what the session has made.
struct StreamCursor: Sendable {
  private var cursor: Cursor<MailboxPosition>
  /// True if the device wants no stream for now.
  var isPaused = false
  /// True if the next entry waits until it is known whether this session made it.
  private(set) var isHeld = false

  /// Makes the cursor of a stream.
  ///
  /// - Parameters:
  ///   - start: the position after which the stream begins.
  ///   - ownLimit: the most entries that a mailbox has. It drops the oldest of a sender first, so
  ///     older ones of this session's are not there any more.
  init(after start: MailboxPosition, ownLimit: Int) {
    cursor = Cursor(after: start, runLimit: ownLimit)
  }

  /// The last entry that was sent, or needed no sending.
  var position: MailboxPosition { cursor.position }

  /// True if the session is to read on.
  var wantsRead: Bool { !isPaused && !isHeld && cursor.wantsRead }

  /// Begins to read on, if it is time to.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  mutating func nextRead() -> MailboxPosition? { isPaused || isHeld ? nil : cursor.nextRead() }

  /// Applies news.
  ///
  /// - Parameter isReady: whether an entry could be sent now.
  /// - Returns: the entry that is to be sent now, or nil if there is none.
  mutating func apply(_ news: EntryUpdate<MailboxPosition, MailboxEntry>, isReady: Bool)
    -> MailboxEntry?
  {
    cursor.apply(news, isReady: isReady && !isPaused && !isHeld)?.content
  }

  /// Records an entry that this session made and that its stream leaves out.
  mutating func recordOwn(_ entry: MailboxPosition) { cursor.skip(entry, after: entry.previous) }

  /// Returns whether an entry is to be sent: it is neither behind the cursor nor the session's own.
  func wants(_ entry: MailboxPosition) -> Bool { cursor.wants(entry) }

  /// Moves past an entry that was sent, or is not to be.
  mutating func pass(_ entry: MailboxPosition) { cursor.pass(entry) }

  /// Stops before an entry that this session may have made.
  mutating func hold() {
    isHeld = true
    _ = cursor.apply(
      EntryUpdate<MailboxPosition, MailboxEntry>.rumor(upTo: position.next), isReady: false)
  }

  /// Goes on after ``hold()``.
  mutating func release() { isHeld = false }

  /// Ends a read.
  ///
  /// - Parameters:
  ///   - end: the position up to which the mailbox was read, or nil if the page isn't used.
  ///   - isLast: whether nothing was behind it.
  mutating func finishRead(end: MailboxPosition?, isLast: Bool) {
    cursor.finishRead(end: end, isLast: isLast)
  }
}

/// A session whose stream goes on, in whichever version.
protocol StreamState: ~Copyable {
  /// The place of the stream.
  var cursor: StreamCursor { get set }
  /// The posts or the truncation of the open query, or nil if it is about something else.
  var making: StreamMaking? { get }
  /// True if nothing can be received until a reply comes.
  var isWaiting: Bool { get }
  /// The code with which a session is closed that gives way to later ones.
  static var evictionCode: UInt16 { get }

  /// Sends an entry.
  mutating func send(_ entry: MailboxEntry, _ context: inout SessionContext) throws(SessionEnd)
  /// Receives a message that came.
  mutating func receive(
    _ message: WebSocketMessage, _ context: inout SessionContext) throws(SessionEnd)
  /// Applies the reply to the open query.
  mutating func applyReply(_ context: inout SessionContext) throws(SessionEnd)
  /// Redirects the device to a URI.
  mutating func redirect(to uri: String, _ context: inout SessionContext) -> SessionEnd
}

/// The state of a session after an event.
enum StreamOutcome {
  case goesOn
  /// The connection is over: requests that came are still done.
  case isOver
  /// The session has closed the connection.
  case isClosed
}

/// Something that makes entries of the user's mailbox.
enum StreamMaking {
  case posts([Post])
  case truncation(MessageID)

  /// Returns whether an entry may be one of them.
  func mayMake(_ entry: MailboxEntry) -> Bool {
    switch (self, entry.content) {
    case (.posts(let posts), .message(let header, _)):
      // A copy from a forum differs in its recipient.
      posts.contains { PDU.Message.isSame($0.header, header) }
    case (.truncation(let id), .truncation): entry.id == id
    default: false
    }
  }
}

extension StreamState where Self: ~Copyable {
  /// Processes an event.
  mutating func process(_ event: SessionEvent, _ context: inout SessionContext) -> StreamOutcome {
    do throws(SessionEnd) {
      switch event {
      case .received(let message) where !isWaiting: try receive(message, &context)
      case .replied: try applyReply(&context)
      case .news(let news, let isBackedUp):
        if let entry = cursor.apply(news, isReady: !isBackedUp) { _ = try deliver(entry, &context) }
      case .read(let page): try apply(page, &context)
      case .evicted: throw .close(Self.evictionCode)
      case .draining(let uri?): throw redirect(to: uri, &context)
      case .draining, .ended: return .isOver
      case .opened, .received, .timedOut: break
      }
      return .goesOn
    } catch {
      switch error {
      case .close(let code): context.actions.append(.close(code))
      case .refuse:
        context.count(.refused)
        context.actions.append(.close(1008))
      }
      return .isClosed
    }
  }

  /// Sends a part of the mailbox that was read.
  mutating func apply(_ page: MailboxPage?, _ context: inout SessionContext) throws(SessionEnd) {
    guard let page else { throw .failed }
    guard !page.isForbidden else { throw .close(1008) }
    guard !cursor.isPaused else { return cursor.finishRead(end: nil, isLast: false) }
    for entry in page.entries where cursor.wants(entry.position) {
      guard try deliver(entry, &context) else { return cursor.finishRead(end: nil, isLast: false) }
    }
    cursor.finishRead(end: page.end, isLast: page.isLast)
  }

  /// Sends an entry of the stream, if it is known not to be this session's own.
  ///
  /// - Returns: whether it was sent.
  mutating func deliver(
    _ entry: MailboxEntry, _ context: inout SessionContext
  ) throws(SessionEnd) -> Bool {
    guard making?.mayMake(entry) != true else {
      cursor.hold()
      return false
    }
    // Before it is sent: a session that ends with it has sent it.
    cursor.pass(entry.position)
    try send(entry, &context)
    return true
  }
}
