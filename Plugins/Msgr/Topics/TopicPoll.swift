internal import Platform
internal import Storage

/// What a poll gives, read piece by piece as the client takes it: the messages of some topics, in one order over all, and
/// behind them those that wait for their time.
///
/// It keeps places only: what is long is read when its turn has come.
actor TopicPoll {
  /// The entries that come next.
  struct Page: Sendable {
    /// The entries that are wanted; there may be none although others follow.
    var entries: [TopicEntry] = []
    /// The last entries that the topics had when the poll began, once it is over.
    var ends: [(TopicName, TopicPosition)]?
  }

  private let store: TopicStore
  private let filter: TopicFilter
  private let ends: [(TopicName, TopicPosition)]
  /// The owner of the reads.
  private let owner = WorkOwner.current
  private var place: TopicPollPlace

  /// - Parameters:
  ///   - ends: the topics, with their last entries.
  ///   - start: the positions after which it begins.
  ///   - waiting: the identifiers of messages that wait for their time.
  init(
    of ends: [(TopicName, TopicPosition)], from start: [TopicName: TopicPosition],
    _ filter: TopicFilter, before waiting: [String], in store: TopicStore
  ) {
    self.store = store
    self.filter = filter
    self.ends = ends
    place = TopicPollPlace(of: ends, from: start, before: waiting)
  }

  /// Reads the entries that come next, which have room together unless one alone has none.
  func next(upTo bytes: Int = PageBounds.bytes) async throws -> Page {
    let (entries, next) = try await WorkOwner.$current.withValue(owner) {
      try await store.store.read { [store, place] snapshot -> ([TopicEntry], TopicPollPlace) in
        var place = place
        let entries = try place.read(upTo: bytes, in: store, snapshot)
        return (entries, place)
      }
    }
    place = next
    return Page(entries: entries.filter(filter.accepts), ends: place.isOver ? ends : nil)
  }

  /// Returns all entries.
  func all() async throws -> [TopicEntry] {
    var entries: [TopicEntry] = []
    while true {
      let page = try await next()
      entries += page.entries
      if page.ends != nil { return entries }
    }
  }
}

/// How far a poll has come.
private struct TopicPollPlace: Sendable {
  /// The numbers of entries that are read ahead, of all topics together.
  private static let readAhead = 64
  private static let mostRows = 256

  /// The place in a topic's log.
  private struct Cursor {
    let topic: TopicName
    /// The last entry that was there when the poll began.
    let end: TopicPosition
    var position: TopicPosition
    /// The numbers of the entries that come next; none are known of a single topic.
    var numbers: ArraySlice<TopicPosition> = []

    var isOver: Bool { position >= end }

    mutating func pass(_ number: TopicPosition) {
      position = number
      numbers = numbers.drop { $0 <= number }
    }
  }

  private var cursors: [Cursor]
  private var waiting: ArraySlice<String>
  /// The rows of the next query.
  private var rows = PageBounds.firstRows

  init(
    of ends: [(TopicName, TopicPosition)], from start: [TopicName: TopicPosition],
    before waiting: [String]
  ) {
    cursors = ends.map { topic, end in
      Cursor(topic: topic, end: end, position: start[topic] ?? .zero)
    }.filter { !$0.isOver }
    self.waiting = waiting[...]
  }

  var isOver: Bool { cursors.isEmpty && waiting.isEmpty }

  /// Reads the entries that come next.
  mutating func read(
    upTo bytes: Int, in store: TopicStore, _ snapshot: borrowing Snapshot
  ) throws -> [TopicEntry] {
    var entries: [TopicEntry] = []
    var room = bytes
    while room > 0 || entries.isEmpty, let (index, last) = try nextRun(in: store, snapshot) {
      let cursor = cursors[index]
      let page = try store.entries(
        of: cursor.topic, after: cursor.position, through: last, isLive: false, atMost: rows,
        upTo: room, isFirst: entries.isEmpty, snapshot)
      entries += page.entries
      room -= page.bytes
      let isWhole = !page.isCut && page.entries.count < rows
      cursors[index].pass(isWhole ? last : page.entries.last?.number ?? cursor.position)
      cursors.removeAll(where: \.isOver)
      rows = PageBounds.rows(after: page, of: rows, atMost: Self.mostRows)
      if page.isCut { return entries }
    }
    while room > 0 || entries.isEmpty, cursors.isEmpty, let id = waiting.first {
      let page = try store.waiting(id, upTo: room, isFirst: entries.isEmpty, snapshot)
      if page.isCut { return entries }
      waiting.removeFirst()
      entries += page.entries
      room -= page.bytes
    }
    return entries
  }

  /// Finds the topic whose entries come next, and the last position before another's come; nil at the end of all logs.
  private mutating func nextRun(
    in store: TopicStore, _ snapshot: borrowing Snapshot
  ) throws -> (index: Int, last: TopicPosition)? {
    if cursors.count > 1 {
      let count = max(2, Self.readAhead / cursors.count)
      for index in cursors.indices where cursors[index].numbers.isEmpty {
        let cursor = cursors[index]
        let numbers = try store.numbers(
          of: cursor.topic, after: cursor.position, through: cursor.end, atMost: count, snapshot)
        cursors[index].numbers = numbers[...]
        if numbers.isEmpty { cursors[index].pass(cursor.end) }
      }
      cursors.removeAll(where: \.isOver)
    }
    guard cursors.count > 1 else { return cursors.first.map { (0, $0.end) } }
    let order = cursors.indices.sorted { left, right in
      cursors[left].numbers.first ?? .zero < cursors[right].numbers.first ?? .zero
    }
    let next = cursors[order[1]].numbers.first ?? .zero
    let last = min(cursors[order[0]].end, TopicPosition(rawValue: next.rawValue - 1))
    return (order[0], last)
  }
}
