/// What a poll gives, read piece by piece as the client takes it: the messages of some topics, in one order over all, and
/// behind them those that wait for their time.
actor TopicPoll {
  /// The entries of all topics that are read ahead.
  static let readAhead = 64
  /// The fewest entries that are read of a topic at once.
  private static let shortestPage = 2

  /// The place in a topic's log.
  private struct Cursor {
    let topic: TopicName
    /// The last entry that was there when the poll began.
    let end: TopicPosition
    var position: TopicPosition
    var page: ArraySlice<TopicEntry> = []

    var isOver: Bool { page.isEmpty && position >= end }
  }

  private let store: TopicStore
  private let filter: TopicFilter
  private let pageSize: Int
  private var cursors: [Cursor]
  /// The entries behind all logs.
  private var rest: ArraySlice<TopicEntry>

  /// A poll whose entries are known.
  init(of entries: [TopicEntry], in store: TopicStore) {
    self.store = store
    filter = TopicFilter()
    pageSize = Self.readAhead
    cursors = []
    rest = entries[...]
  }

  /// A poll of topics.
  ///
  /// - Parameters:
  ///   - ends: the topics, with their last entries.
  ///   - start: the positions after which it begins.
  ///   - waiting: the messages that wait for their time.
  init(
    of ends: [(TopicName, TopicPosition)], from start: [TopicName: TopicPosition],
    _ filter: TopicFilter, before waiting: [TopicEntry], in store: TopicStore
  ) {
    self.store = store
    self.filter = filter
    pageSize = max(Self.shortestPage, Self.readAhead / max(1, ends.count))
    cursors = ends.map { topic, end in
      Cursor(topic: topic, end: end, position: start[topic] ?? .zero)
    }
    rest = waiting[...]
  }

  /// Returns the next entry; nil at the end.
  func next() async throws -> TopicEntry? {
    while let index = try await firstCursor() {
      let entry = cursors[index].page.removeFirst()
      if filter.accepts(entry) { return entry }
    }
    return rest.popFirst()
  }

  /// Returns the next entries: fewer than asked for at the end.
  func next(atMost count: Int) async throws -> [TopicEntry] {
    var entries: [TopicEntry] = []
    while entries.count < count, let entry = try await next() { entries.append(entry) }
    return entries
  }

  /// Returns all entries.
  func all() async throws -> [TopicEntry] {
    var entries: [TopicEntry] = []
    while let entry = try await next() { entries.append(entry) }
    return entries
  }

  /// Finds the topic whose next entry comes first; nil if none has any.
  private func firstCursor() async throws -> Int? {
    for index in cursors.indices where cursors[index].page.isEmpty && !cursors[index].isOver {
      let cursor = cursors[index]
      let page = try await store.entries(
        of: cursor.topic, after: cursor.position, isLive: false, atMost: pageSize)
      cursors[index].page = page.prefix { $0.number <= cursor.end }
      let isLast = page.count < pageSize
      cursors[index].position = isLast ? cursor.end : page.last?.number ?? cursor.end
    }
    cursors.removeAll(where: \.isOver)
    return cursors.indices.min { left, right in
      guard let left = cursors[left].page.first else { return false }
      guard let right = cursors[right].page.first else { return true }
      return left.number < right.number
    }.flatMap { cursors[$0].page.isEmpty ? nil : $0 }
  }
}
