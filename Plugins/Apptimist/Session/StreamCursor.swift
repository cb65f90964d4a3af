internal import Cluster

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
