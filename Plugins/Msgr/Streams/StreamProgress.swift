/// How far a stream has come: which messages to read next, and which the peer is known to have.
///
/// A stream is a position in an inbox. What is new is only told, not handed over: the stream reads
/// on from its position, in order, as fast as its peer takes it.
struct StreamProgress: Sendable {
  /// The message that the stream began behind.
  let start: MessageID
  /// The last message that was sent.
  private(set) var streamed: MessageID
  /// The last message that the peer is known to have.
  private(set) var confirmed: MessageID
  /// The last message that was sent before the last ping.
  private var pinged: MessageID
  private var isReading = false
  private var hasNews = true

  /// A stream that begins behind a message.
  init(behind position: MessageID) {
    start = position
    streamed = position
    confirmed = position
    pinged = position
  }

  /// There is something new in the inbox.
  mutating func noteNews() { hasNews = true }

  /// Decides whether to read on.
  ///
  /// - Parameter isBackedUp: whether the peer is slow to take what was sent.
  /// - Returns: the position to read behind; nil: not now.
  mutating func nextRead(isBackedUp: Bool) -> MessageID? {
    guard hasNews, !isReading, !isBackedUp else { return nil }
    isReading = true
    hasNews = false
    return streamed
  }

  /// Takes what was read, and is now being sent.
  ///
  /// - Parameters:
  ///   - last: the last message; nil if there was none, or reading failed.
  ///   - mayBeMore: whether there may be more behind it.
  mutating func finishRead(last: MessageID?, mayBeMore: Bool) {
    isReading = false
    if let last { streamed = max(streamed, last) }
    if mayBeMore { hasNews = true }
  }

  /// A ping was sent behind all that was sent before.
  mutating func notePing() { pinged = streamed }

  /// The peer answered the last ping.
  ///
  /// - Returns: whether it is known to have more than before.
  mutating func notePong() -> Bool {
    guard pinged > confirmed else { return false }
    confirmed = pinged
    return true
  }

  /// The stream is over.
  ///
  /// - Parameter inOrder: whether the peer took part in closing it: then it has seen all before.
  mutating func finish(inOrder: Bool) {
    if inOrder { confirmed = streamed }
  }
}
