/// The place of a stream among its user's entries, which are sent in order, each once.
///
/// A stream that stands at an entry's predecessor sends the entry when it is notified of it. Another one reads on from its
/// cursor. So nothing depends on the order of notifications, or on whether they arrive.
package struct Cursor<Position: EntryPosition>: Sendable {
  /// Entries ahead of the cursor that need no sending, each the predecessor of the next one.
  private struct Run {
    let predecessor: Position
    var last: Position
  }

  /// The last entry that was sent, or needed no sending.
  package private(set) var position: Position
  /// The last position up to which entries are known to be in the store.
  private var known: Position
  /// True if there may be more entries than is known.
  private var mayBeMore = true
  /// The position that was known when the present read began, or nil if nothing is being read.
  private var reading: Position?
  private var runs: [Run] = []
  private let runLimit: Int

  /// Makes the cursor of a stream, which begins by reading.
  ///
  /// - Parameters:
  ///   - start: the position after which the stream begins.
  ///   - runLimit: the most runs of entries ahead of the cursor that are known to need no sending. The oldest is forgotten
  ///     with one more.
  package init(after start: Position, runLimit: Int = 0) {
    position = start
    known = start
    self.runLimit = runLimit
  }

  // MARK: - Updates

  /// Applies an update.
  ///
  /// - Parameter isReady: whether something could be sent now.
  /// - Returns: the entry that is to be sent now, before ``pass(_:)``, or nil if there is none.
  package mutating func apply<Content>(
    _ update: EntryUpdate<Position, Content>, isReady: Bool
  ) -> StreamEntry<Position, Content>? {
    switch update {
    case .entry(let entry):
      known = max(known, entry.position)
      let isNext = entry.predecessor <= position && position < entry.position
      return isNext && isReady ? entry : nil
    case .stored(let last): known = max(known, last)
    case .rumor(let last): mayBeMore = mayBeMore || last > position
    }
    return nil
  }

  /// Records an entry that needs no sending, because the device has made it.
  package mutating func skip(_ entry: Position, after predecessor: Position) {
    known = max(known, entry)
    guard entry > position else { return }
    if let last = runs.last, last.last == predecessor {
      runs[runs.count - 1].last = entry
    } else {
      runs.append(Run(predecessor: predecessor, last: entry))
      if runs.count > runLimit { runs.removeFirst() }
    }
    passRuns()
  }

  // MARK: - Sending

  /// Returns whether an entry is to be sent: it is ahead of the cursor, and isn't known to need no sending.
  package func wants(_ entry: Position) -> Bool {
    entry > position && !runs.contains { $0.predecessor < entry && entry <= $0.last }
  }

  /// Moves to an entry that is being sent.
  package mutating func pass(_ entry: Position) {
    position = max(position, entry)
    passRuns()
  }

  private mutating func passRuns() {
    while let first = runs.first, first.predecessor <= position {
      position = max(position, first.last)
      runs.removeFirst()
    }
  }

  // MARK: - Reading

  /// True if there is something to read, and nothing is being read.
  package var wantsRead: Bool { reading == nil && (mayBeMore || known > position) }

  /// Begins to read on, if there is something to read.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  package mutating func nextRead() -> Position? {
    guard wantsRead else { return nil }
    reading = known
    mayBeMore = false
    return position
  }

  /// Ends a read, whose entries were sent as far as ``wants(_:)`` said so.
  ///
  /// - Parameters:
  ///   - end: the position up to which entries were read, or nil if they aren't used.
  ///   - isLast: whether nothing was behind it.
  package mutating func finishRead(end: Position?, isLast: Bool) {
    defer { reading = nil }
    guard let end else {
      mayBeMore = true
      return
    }
    pass(end)
    // What was known when the read began was either read or isn't there any more.
    if isLast { pass(reading ?? end) } else { mayBeMore = true }
  }
}

/// A place in the order of a user's entries.
///
/// The positions of a user rise; whether without gaps is the service's affair.
@usableFromInline
package protocol EntryPosition: RawRepresentable, Comparable, Hashable, Sendable
where RawValue == Int64 {}

/// An entry of a user's, such as a message in an inbox, that is on the disk.
@usableFromInline
package struct StreamEntry<Position: EntryPosition, Content: Sendable>: Sendable {
  /// The entry's position.
  @usableFromInline package let position: Position
  /// The last position before it that was given away: no other entry is between the two, and none will be.
  package let predecessor: Position
  /// The content that the service sends.
  package let content: Content

  /// Describes an entry.
  package init(_ content: Content, at position: Position, after predecessor: Position) {
    self.content = content
    self.position = position
    self.predecessor = predecessor
  }
}

/// A notification to a stream about a user's entries.
@usableFromInline
package enum EntryUpdate<Position: EntryPosition, Content: Sendable>: Sendable {
  /// An entry was made.
  case entry(StreamEntry<Position, Content>)
  /// All entries up to a position are in the store.
  case stored(upTo: Position)
  /// There may be entries up to a position, as another node says; nothing else is believed.
  case rumor(upTo: Position)
}
