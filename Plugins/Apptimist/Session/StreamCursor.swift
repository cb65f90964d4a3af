/// The cursor of a session's stream: a position in its user's mailbox.
///
/// News only says that there are entries up to a position; the entries that follow the cursor are sent
/// one after the other, so that nothing is sent twice and nothing is left out. The positions of a
/// mailbox are consecutive.
struct StreamCursor: Sendable {
  /// The last entry that was sent, or needed no sending.
  private(set) var position: StreamPosition
  /// The last entry that the mailbox is known to have.
  private var known: StreamPosition
  /// Whether there may be more than is known.
  private var mayBeMore = true
  /// The last entry that was known when the present read began, or nil if nothing is being read.
  private var reading: StreamPosition?
  /// Whether the device wants no stream for now.
  var isPaused = false
  /// Whether the next entry waits until it is known whether this session made it.
  private(set) var isHeld = false
  /// The entries behind the cursor that this session made, in runs without gaps, in order.
  private var own: [ClosedRange<Int64>] = []
  private let ownLimit: Int

  /// Makes the cursor of a stream.
  ///
  /// - Parameters:
  ///   - start: the position after which the stream begins.
  ///   - ownLimit: the most entries that a mailbox has. It drops the oldest of a sender first, so
  ///     older ones of this session's are not there any more.
  init(after start: StreamPosition, ownLimit: Int) {
    position = start
    known = start
    self.ownLimit = ownLimit
  }

  /// Whether to read on.
  var wantsRead: Bool {
    reading == nil && !isPaused && !isHeld && (mayBeMore || known > position)
  }

  /// Begins to read on, if it is time to.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  mutating func nextRead() -> StreamPosition? {
    guard wantsRead else { return nil }
    reading = known
    mayBeMore = false
    return position
  }

  /// Takes note that the mailbox has an entry.
  ///
  /// - Parameters:
  ///   - entry: the entry's position.
  ///   - isReady: whether it could be sent now.
  /// - Returns: whether it is the one to send now.
  mutating func note(_ entry: StreamPosition, isReady: Bool) -> Bool {
    known = max(known, entry)
    return entry == position.next && isReady && !isPaused && !isHeld
  }

  /// Takes note of an entry that this session made and that its stream leaves out.
  mutating func noteOwn(_ entry: StreamPosition) {
    known = max(known, entry)
    guard entry > position else { return }
    if let last = own.last, last.upperBound == entry.rawValue - 1 {
      own[own.count - 1] = last.lowerBound...entry.rawValue
    } else {
      own.append(entry.rawValue...entry.rawValue)
      if own.count > ownLimit { own.removeFirst() }
    }
    passOwn()
  }

  /// Whether an entry is to be sent: it is neither behind the cursor nor the session's own.
  func wants(_ entry: StreamPosition) -> Bool {
    entry > position && !own.contains { $0.contains(entry.rawValue) }
  }

  /// Moves past an entry that was sent, or is not to be.
  mutating func pass(_ entry: StreamPosition) {
    position = max(position, entry)
    passOwn()
  }

  private mutating func passOwn() {
    while let first = own.first, first.lowerBound <= position.next.rawValue {
      position = max(position, StreamPosition(rawValue: first.upperBound))
      own.removeFirst()
    }
  }

  /// Stops before an entry of which it is not known yet whether this session made it.
  mutating func hold() {
    isHeld = true
    mayBeMore = true
  }

  /// Goes on after ``hold()``.
  mutating func release() { isHeld = false }

  /// Ends a read.
  ///
  /// - Parameters:
  ///   - end: the position up to which the mailbox was read, or nil if what was read is not used.
  ///   - isLast: whether nothing was behind it.
  mutating func finishRead(end: StreamPosition?, isLast: Bool) {
    defer { reading = nil }
    guard let end else {
      mayBeMore = true
      return
    }
    pass(end)
    // An entry that was known is committed, so it was either read or has been dropped from the mailbox.
    if isLast { pass(reading ?? end) } else { mayBeMore = true }
  }
}
