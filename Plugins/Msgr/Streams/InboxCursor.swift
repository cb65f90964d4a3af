internal import MsgrProtocol

/// The position of a stream in an inbox: which messages to send next, and which the peer is known to have.
///
/// A stream is given pages that were read for all streams of its user. One that can't send such a page, as it is behind,
/// is busy reading or has a slow peer, reads on from its own position, in order, as fast as its peer takes it.
struct InboxCursor: Sendable {
  /// The message after which the stream began.
  let start: MessageID
  /// The last message that was sent.
  private(set) var streamed: MessageID
  /// The last message that the peer is known to have.
  private(set) var confirmed: MessageID
  /// The position up to which every message has been sent.
  private var complete: MessageID
  /// The last message that was sent before the last ping.
  private var pinged: MessageID
  private var isReading = false
  /// The position up to which there may be messages to read, or nil if there are none.
  private var news: MessageID? = .last

  /// Makes a cursor after a message, which begins by reading.
  init(after position: MessageID) {
    start = position
    streamed = position
    confirmed = position
    complete = position
    pinged = position
  }

  /// Notes that the inbox has news up to a position.
  mutating func noteNews(upTo position: MessageID = .last) {
    news = max(news ?? .zero, position)
  }

  /// Decides whether to send a page that was read for all of the user's streams; if not, its messages are news.
  ///
  /// - Parameters:
  ///   - position: the position after which the page was read.
  ///   - last: the last message of the page.
  ///   - isBackedUp: whether the peer is slow to take what was sent.
  /// - Returns: the position after which the page's messages are to be sent now, or nil if the page isn't taken.
  mutating func takePage(
    after position: MessageID, upTo last: MessageID, isBackedUp: Bool
  ) -> MessageID? {
    guard !isReading, news == nil, !isBackedUp, position <= complete else {
      noteNews(upTo: last)
      return nil
    }
    let previous = streamed
    streamed = max(streamed, last)
    complete = max(complete, last)
    return previous
  }

  /// Decides whether to read on.
  ///
  /// - Parameter isBackedUp: whether the peer is slow to take what was sent.
  /// - Returns: the position to read after, or nil if nothing is to be read now.
  mutating func nextRead(isBackedUp: Bool) -> MessageID? {
    guard news != nil, !isReading, !isBackedUp else { return nil }
    isReading = true
    news = nil
    return streamed
  }

  /// Takes the end of a read whose messages are now being sent.
  ///
  /// - Parameters:
  ///   - last: the last message, or nil if there was none or the read failed.
  ///   - mayBeMore: whether there may be more after it.
  ///   - tail: a position up to which all messages were there when the read began.
  mutating func finishRead(last: MessageID?, mayBeMore: Bool, tail: MessageID = .zero) {
    isReading = false
    if let last { streamed = max(streamed, last) }
    complete = max(complete, streamed)
    if mayBeMore {
      news = .last
    } else {
      complete = max(complete, tail)
      if let position = news, position <= complete { news = nil }
    }
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
