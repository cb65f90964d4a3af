internal import MsgrProtocol
internal import Threading
internal import Transport

/// The streams of one user, for which the user's inbox is read once.
///
/// News are read after the last message that was read before, whatever the number of streams, and each stream is given
/// the page. A stream that is behind, because it has just begun or because its peer is slow, reads by itself until
/// it has caught up.
final class InboxFeed: Sendable {
  private struct State {
    /// The streams, the oldest first.
    var streams: [MessageStream] = []
    var position: MessageID
    var isReading = false
    var hasNews = false
  }

  /// The name of the user.
  let name: UserName
  private let state: Lock<State>

  /// Makes a feed without streams.
  ///
  /// - Parameters:
  ///   - name: the name of the user.
  ///   - position: the last message of all.
  init(of name: UserName, after position: MessageID) {
    self.name = name
    state = Lock(State(position: position))
  }

  /// The streams, the oldest first.
  var streams: [MessageStream] { state.withLock { $0.streams } }

  /// The position up to which all messages have been read.
  var position: MessageID { state.withLock { $0.position } }

  /// The event loop of one of the streams, or nil if there is none.
  var loop: EventLoop? { state.withLock { $0.streams.first?.loop } }

  /// Adds a stream.
  ///
  /// - Returns: the oldest stream if there are more than a limit.
  func add(_ stream: MessageStream, limit: Int) -> MessageStream? {
    state.withLock { state in
      state.streams.append(stream)
      return state.streams.count > limit ? state.streams.first : nil
    }
  }

  /// Removes a stream, if it is there.
  ///
  /// - Returns: whether there are other streams.
  func remove(_ stream: MessageStream) -> Bool {
    state.withLock { state in
      state.streams.removeAll { $0 === stream }
      return !state.streams.isEmpty
    }
  }

  /// Notes that the inbox has news.
  ///
  /// - Returns: whether the caller has to read, as nobody does.
  func noteNews() -> Bool {
    state.withLock { state in
      state.hasNews = true
      guard !state.isReading else { return false }
      state.isReading = true
      return true
    }
  }

  /// Decides whether to read on, after ``noteNews()`` and each read.
  ///
  /// - Returns: the position to read after, or nil if reading is over.
  func nextRead() -> MessageID? {
    state.withLock { state in
      guard state.hasNews, !state.streams.isEmpty else {
        state.isReading = false
        return nil
      }
      state.hasNews = false
      return state.position
    }
  }

  /// Takes what was read.
  ///
  /// - Returns: the streams that are to be given the page.
  func finishRead(_ page: InboxPage) -> [MessageStream] {
    state.withLock { state in
      guard let last = page.last else { return [] }
      state.position = max(state.position, last)
      if page.mayBeMore { state.hasNews = true }
      return state.streams
    }
  }

  /// Gives up reading.
  ///
  /// - Returns: the streams, which are to end.
  func giveUp() -> [MessageStream] {
    state.withLock { state in
      state.isReading = false
      return state.streams
    }
  }
}
