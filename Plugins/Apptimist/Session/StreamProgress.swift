/// How far a session's stream has come: a position in its user's queue.
///
/// News only says that there is something up to a position; what is sent is what follows the
/// cursor, one after the other, so that nothing is sent twice and nothing left out. Positions of a
/// queue are consecutive.
struct StreamProgress: Sendable {
  /// The last entry that was sent, or needed no sending.
  private(set) var cursor: StreamPosition
  /// The last entry that the queue is known to have.
  private var known: StreamPosition
  /// Whether there may be more than is known.
  private var mayBeMore = true
  /// What was known when the present read began; nil: nothing is being read.
  private var reading: StreamPosition?
  /// Whether the device wants no stream for now.
  private(set) var isPaused = false
  /// Whether the next entry waits until it is known whether this session made it.
  private(set) var isHeld = false
  /// Entries behind the cursor that this session made, in runs without gaps, in order.
  private var own: [ClosedRange<Int64>] = []
  private let ownLimit: Int

  /// A stream of what follows a position.
  ///
  /// - Parameters:
  ///   - start: where it begins.
  ///   - ownLimit: how many entries a queue has at most. It drops the oldest of a sender first, so
  ///     older ones of this session's are not there any more.
  init(after start: StreamPosition, ownLimit: Int) {
    cursor = start
    known = start
    self.ownLimit = ownLimit
  }

  /// Decides whether to read on.
  ///
  /// - Returns: the position to read after; nil: not now.
  mutating func nextRead() -> StreamPosition? {
    guard reading == nil, !isPaused, !isHeld, mayBeMore || known > cursor else { return nil }
    reading = known
    mayBeMore = false
    return cursor
  }

  /// Takes note that the queue has an entry.
  ///
  /// - Parameter isReady: whether it could be sent now.
  /// - Returns: whether it is the one to send now.
  mutating func note(_ position: StreamPosition, isReady: Bool) -> Bool {
    known = max(known, position)
    guard position == cursor.next, isReady, !isPaused, !isHeld else { return false }
    return true
  }

  /// Takes note of an entry that this session made and that its stream leaves out.
  mutating func noteOwn(_ position: StreamPosition) {
    known = max(known, position)
    guard position > cursor else { return }
    if let last = own.last, last.upperBound == position.rawValue - 1 {
      own[own.count - 1] = last.lowerBound...position.rawValue
    } else {
      own.append(position.rawValue...position.rawValue)
      if own.count > ownLimit { own.removeFirst() }
    }
    passOwn()
  }

  /// Whether an entry is to be sent: it is neither behind the cursor nor the session's own.
  func wants(_ position: StreamPosition) -> Bool {
    position > cursor && !own.contains { $0.contains(position.rawValue) }
  }

  /// Moves past an entry that was sent, or is not to be.
  mutating func pass(_ position: StreamPosition) {
    cursor = max(cursor, position)
    passOwn()
  }

  private mutating func passOwn() {
    while let first = own.first, first.lowerBound <= cursor.next.rawValue {
      cursor = max(cursor, StreamPosition(rawValue: first.upperBound))
      own.removeFirst()
    }
  }

  /// Stops before an entry of which it is not known yet whether this session made it.
  mutating func hold() {
    isHeld = true
    mayBeMore = true
  }

  /// It is known now.
  mutating func release() { isHeld = false }

  /// Ends a read.
  ///
  /// - Parameters:
  ///   - end: up to where the queue was read; nil: what was read is not used.
  ///   - isLast: whether nothing was behind it.
  mutating func finishRead(end: StreamPosition?, isLast: Bool) {
    defer { reading = nil }
    guard let end else {
      mayBeMore = true
      return
    }
    pass(end)
    // What was known is committed, and so was either read or has been dropped from the queue.
    if isLast { pass(reading ?? end) } else { mayBeMore = true }
  }

  /// The device wants no stream.
  mutating func pause() { isPaused = true }

  /// The device wants the stream again.
  mutating func resume() { isPaused = false }
}
