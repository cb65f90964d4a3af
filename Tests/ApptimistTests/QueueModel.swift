@testable import Apptimist

/// What a queue should be, in the simplest words: arrays, gone through from the start each time.
struct QueueModel {
  struct Entry {
    let position: Int64
    let id: Int
    let sender: Int
    var kind: EntryKind
    var content: [UInt8]
    var size: Int
  }

  private(set) var entries: [Entry] = []
  private(set) var last: Int64 = 0
  private var known: [Int: (position: Int64, isTruncated: Bool)] = [:]
  private var dropped: [(position: Int64, id: Int)] = []
  private let owner: Int
  private let limits: ApptimistStore.Limits

  init(owner: Int, limits: ApptimistStore.Limits) {
    self.owner = owner
    self.limits = limits
  }

  mutating func enqueue(_ id: Int, from sender: Int, content: [UInt8]) -> Enqueued {
    if let known = known[id] { return .known(StreamPosition(rawValue: known.position)) }
    // Known before room is made: it is the newest, and never the one that is forgotten.
    known[id] = (last + 1, false)
    append(id, from: sender, .message, content, size: content.count)
    return .queued(StreamPosition(rawValue: last))
  }

  mutating func truncate(_ id: Int) -> Truncation {
    guard let message = known[id] else { return .never }
    guard !message.isTruncated else { return .again }
    known[id] = (message.position, true)
    if let index = entries.firstIndex(where: { $0.position == message.position }) {
      entries[index].kind = .place
      entries[index].content = []
      entries[index].size = 0
    }
    append(id, from: owner, .truncation, [], size: 66)
    return .first(StreamPosition(rawValue: last))
  }

  private mutating func append(
    _ id: Int, from sender: Int, _ kind: EntryKind, _ content: [UInt8], size: Int
  ) {
    while !entries.isEmpty {
      let isCrowded = entries.count >= limits.queueEntries
      let bytes = entries.reduce(0) { $0 + $1.size }
      guard isCrowded || bytes + size > limits.queueBytes else { break }
      var shares: [Int: Int] = [:]
      for entry in entries { shares[entry.sender, default: 0] += isCrowded ? 1 : entry.size }
      let most = shares.values.max()
      guard let index = entries.firstIndex(where: { shares[$0.sender] == most }) else { break }
      let entry = entries.remove(at: index)
      guard entry.kind != .truncation else { continue }
      dropped.append((entry.position, entry.id))
      dropped.sort { $0.position < $1.position }
      while dropped.count > limits.rememberedMessages { known[dropped.removeFirst().id] = nil }
    }
    last += 1
    entries.append(
      Entry(position: last, id: id, sender: sender, kind: kind, content: content, size: size))
  }

  func start(head: Int?, max: Int) -> Int64 {
    let start = head.flatMap { known[$0]?.position } ?? 0
    let places = entries.filter { $0.kind != .truncation }
    guard max > 0, places.count >= max else { return start }
    return Swift.max(start, places[places.count - max].position - 1)
  }

  /// What a stream tells behind a position.
  func stream(after position: Int64) -> [StreamEntry] {
    entries.filter { $0.position > position && $0.kind != .place }.map { entry in
      StreamEntry(
        position: StreamPosition(rawValue: entry.position), id: StoreFixture.id(entry.id),
        content: entry.kind == .truncation
          ? .truncation
          : .message(header: Array(entry.content.prefix(1)), data: Array(entry.content.dropFirst()))
      )
    }
  }
}
