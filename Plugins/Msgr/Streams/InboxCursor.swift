internal import MsgrMessages

/// The position of a stream in an inbox: which messages to read next, and which the peer is known to have.
///
/// A stream is told only that there is news. It reads on from its position, in order, as fast as its peer takes it.
struct InboxCursor: Sendable {
  /// The message after which the stream began.
  let start: MessageID
  /// The last message that was sent.
  private(set) var streamed: MessageID
  /// The last message that the peer is known to have.
  private(set) var confirmed: MessageID
  /// The last message that was sent before the last ping.
  private var pinged: MessageID
  private var isReading = false
  private var hasNews = true

  /// Makes a cursor after a message.
  init(after position: MessageID) {
    start = position
    streamed = position
    confirmed = position
    pinged = position
  }

  /// Notes that the inbox has news.
  mutating func noteNews() { hasNews = true }

  /// Decides whether to read on.
  ///
  /// - Parameter isBackedUp: whether the peer is slow to take what was sent.
  /// - Returns: the position to read after, or nil if nothing is to be read now.
  mutating func nextRead(isBackedUp: Bool) -> MessageID? {
    guard hasNews, !isReading, !isBackedUp else { return nil }
    isReading = true
    hasNews = false
    return streamed
  }

  /// Takes the end of a read whose messages are now being sent.
  ///
  /// - Parameters:
  ///   - last: the last message, or nil if there was none or the read failed.
  ///   - mayBeMore: whether there may be more after it.
  mutating func finishRead(last: MessageID?, mayBeMore: Bool) {
    isReading = false
    if let last { streamed = max(streamed, last) }
    if mayBeMore { hasNews = true }
  }

  /// Notes that a ping was sent after all messages so far.
  mutating func notePing() { pinged = streamed }

  /// Notes that the peer answered the last ping.
  ///
  /// - Returns: whether the peer is known to have more than before.
  mutating func notePong() -> Bool {
    guard pinged > confirmed else { return false }
    confirmed = pinged
    return true
  }

  /// Notes the end of the stream.
  ///
  /// - Parameter inOrder: whether the peer took part in closing it, and so has seen everything before.
  mutating func finish(inOrder: Bool) {
    if inOrder { confirmed = streamed }
  }
}
