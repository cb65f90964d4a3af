internal import Cluster
internal import Formats
internal import Platform
internal import Synchronization

/// Runs what the hub has for a stream where it is told: streams of topics keep their own lock.
final class TopicDeliveryLoop: DeliveryLoop {
  static let shared = TopicDeliveryLoop()

  func execute(_ body: @escaping @Sendable () -> Void) { body() }
}

/// A stream's place in the log of one of its topics.
final class TopicSeat: HubMember {
  let id: Int64
  let topic: TopicName
  private weak let stream: TopicStream?

  var loop: TopicDeliveryLoop { TopicDeliveryLoop.shared }

  init(id: Int64, topic: TopicName, stream: TopicStream) {
    self.id = id
    self.topic = topic
    self.stream = stream
  }

  func receive(_ updates: [EntryUpdate<TopicPosition, TopicEntry>]) {
    stream?.accept(updates, of: topic)
  }

  /// The stream that reads, whose right is checked again.
  var reader: TopicStream? { stream }
}

/// The open streams of topics on this node.
typealias TopicHub = Hub<TopicName, TopicSeat>

/// A reader of some topics, whose entries wait here until the connection takes them.
///
/// It has a cursor in each topic, and reads on from there; what it is told is only faster. So each entry comes once, in the
/// order of its topic's log, whatever happens meanwhile.
final class TopicStream: Sendable {
  /// An item that a stream sends.
  enum Item: Sendable {
    case entry(TopicEntry)
    case keepalive
  }

  /// The entries that may wait, and their bytes; what comes then is read when there is room.
  private static let longestQueue = 64
  private static let largestQueue = 256 << 10

  private struct State {
    var cursors: [TopicName: Cursor<TopicPosition>]
    var queue: [Item] = []
    /// The bytes of what waits.
    var size = 0
    /// Resumes who waits for an item.
    var waiter: CheckedContinuation<Item?, Never>?
    /// Called when there is something to take, where nobody waits.
    var notify: (@Sendable () -> Void)?
    var isReading = false
    var isOver = false
    /// Nil while the entries that were there before are read.
    var isLive = false
    var lastItem: ContinuousClock.Instant

    /// True if more may wait.
    var hasRoom: Bool {
      queue.count < TopicStream.longestQueue && size < TopicStream.largestQueue
    }

    mutating func append(_ item: Item) {
      queue.append(item)
      size += TopicStream.size(of: item)
    }

    mutating func removeFirst() -> Item? {
      guard !queue.isEmpty else { return nil }
      let item = queue.removeFirst()
      size -= TopicStream.size(of: item)
      return item
    }
  }

  private static func size(of item: Item) -> Int {
    guard case .entry(let entry) = item else { return 0 }
    return entry.text.utf8.count + MsgrStore.messageOverhead
  }

  let id: Int64
  let topics: [TopicName]
  let filter: TopicFilter
  let requester: TopicRequester
  private let service: TopicService
  private let state: Mutex<State>

  init(
    id: Int64, topics: [TopicName], from start: [TopicName: TopicPosition], filter: TopicFilter,
    for requester: TopicRequester, in service: TopicService
  ) {
    self.id = id
    self.topics = topics
    self.filter = filter
    self.requester = requester
    self.service = service
    state = Mutex(
      State(
        cursors: start.mapValues { Cursor(after: $0) }, lastItem: .now))
  }

  /// Joins the hub, and begins to read.
  func begin(notify: (@Sendable () -> Void)? = nil) {
    state.withLock { $0.notify = notify }
    for topic in topics {
      _ = service.hub.join(TopicSeat(id: id, topic: topic, stream: self), of: topic)
    }
    readOn()
  }

  // MARK: - In

  fileprivate func accept(_ news: [EntryUpdate<TopicPosition, TopicEntry>], of topic: TopicName) {
    let wake = state.withLock { state -> (() -> Void)? in
      guard !state.isOver else { return nil }
      var wake: (() -> Void)?
      for news in news {
        let isReady = state.hasRoom && state.isLive && !state.isReading
        let entry = state.cursors[topic]?.apply(news, isReady: isReady)
        guard let entry else { continue }
        state.cursors[topic]?.pass(entry.position)
        if filter.accepts(entry.content) {
          wake = Self.add(.entry(entry.content), to: &state) ?? wake
        }
      }
      return wake
    }
    wake?()
    readOn()
  }

  /// Adds an item, or hands it to who waits.
  ///
  /// - Returns: what is to be called outside the lock.
  private static func add(_ item: Item, to state: inout State) -> (() -> Void)? {
    state.lastItem = .now
    if let waiter = state.waiter.take() { return { waiter.resume(returning: item) } }
    state.append(item)
    return state.notify
  }

  /// Reads on in the topics that have more, one after the other.
  private func readOn() {
    let next = state.withLock { state -> (TopicName, TopicPosition, Bool)? in
      guard !state.isOver, !state.isReading, state.hasRoom else { return nil }
      for topic in topics {
        if let position = state.cursors[topic]?.nextRead() {
          state.isReading = true
          return (topic, position, state.isLive)
        }
      }
      // What comes from now on is live.
      state.isLive = true
      return nil
    }
    guard let (topic, position, isLive) = next else { return }
    Task {
      let page = await service.read(topic, after: position, isLive: isLive)
      finishRead(of: topic, page, from: position)
      readOn()
    }
  }

  private func finishRead(of topic: TopicName, _ page: [TopicEntry]?, from position: TopicPosition)
  {
    guard let page else { return end() }
    let wakes = state.withLock { state -> [() -> Void] in
      state.isReading = false
      guard !state.isOver else { return [] }
      var wakes: [() -> Void] = []
      var end = position
      var isWhole = true
      for entry in page {
        // What has no room is read again later.
        guard state.hasRoom else {
          isWhole = false
          break
        }
        end = entry.number
        guard state.cursors[topic]?.wants(entry.number) == true else { continue }
        state.cursors[topic]?.pass(entry.number)
        guard filter.accepts(entry) else { continue }
        if let wake = Self.add(.entry(entry), to: &state) { wakes.append(wake) }
      }
      state.cursors[topic]?.finishRead(
        end: end, isLast: isWhole && page.count < TopicStore.pageSize)
      return wakes
    }
    for wake in wakes { wake() }
  }

  /// Adds a sign of life if nothing was sent for a time.
  func keepAlive(after interval: Duration, at now: ContinuousClock.Instant) {
    let wake = state.withLock { state -> (() -> Void)? in
      guard !state.isOver, state.queue.isEmpty, now - state.lastItem >= interval else { return nil }
      return Self.add(.keepalive, to: &state)
    }
    wake?()
  }

  // MARK: - Out

  /// Returns the next item, which it waits for; nil at the end, and when the task is cancelled.
  func next() async -> Item? {
    let item = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready = state.withLock { state -> Item?? in
          if let item = state.removeFirst() { return .some(.some(item)) }
          if state.isOver { return .some(nil) }
          state.waiter = continuation
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      end()
    }
    readOn()
    return item
  }

  /// Returns the next item if one is there.
  func nextWaiting() -> Item? {
    let item = state.withLock { $0.removeFirst() }
    if item != nil { readOn() }
    return item
  }

  /// True if the stream has ended, and nothing waits to be taken.
  var isOver: Bool { state.withLock { $0.isOver && $0.queue.isEmpty } }

  /// Ends the stream.
  func end() {
    let (waiter, notify) = state.withLock { state in
      let wasOver = state.isOver
      state.isOver = true
      return (state.waiter.take(), wasOver ? nil : state.notify)
    }
    waiter?.resume(returning: nil)
    notify?()
    for topic in topics { service.hub.leave(id, of: topic) }
  }
}

/// Ends a stream when its connection lets it go.
final class TopicStreamLease: Sendable {
  let stream: TopicStream
  private let slot: TopicStreamSlot

  init(_ stream: TopicStream, _ slot: TopicStreamSlot) {
    self.stream = stream
    self.slot = slot
  }

  deinit {
    stream.end()
    slot.leave()
  }
}

/// Compares the streams of this node with the store.
struct TopicRegistry: MemberRegistry {
  /// Unowned, as the service has the link that holds this.
  unowned let service: TopicService

  func key(of topic: TopicName) -> [UInt8] { Array(topic.text.utf8) }

  func user(withKey key: [UInt8]) -> TopicName? {
    TopicName(String(decoding: key, as: UTF8.self))
  }

  /// The first byte of a notification that a sequence was deleted or read; its entry's position follows.
  private static let closing: UInt8 = 1

  /// Returns the bytes of a notification that a sequence was deleted or read.
  static func closing(at position: TopicPosition) -> [UInt8] {
    [closing] + NotificationKind.bytes(position.rawValue)
  }

  func receive(_ content: [UInt8], of key: [UInt8]) async {
    guard content.first == Self.closing, let topic = user(withKey: key),
      let number = NotificationKind.number(content.dropFirst())
    else { return }
    await service.showClosing(of: topic, at: TopicPosition(rawValue: number))
  }

  func entries(
    at places: [(user: TopicName, position: TopicPosition)]
  ) async throws -> [(user: TopicName, entry: Entry<TopicPosition, TopicEntry>)] {
    // The streams read on themselves, as a notice tells nothing of what was before.
    []
  }

  func lastPositions(
    of members: [(user: TopicName, member: TopicSeat)]
  ) async throws -> [(user: TopicName, last: TopicPosition)] {
    let topics = Array(Set(members.map(\.user)))
    return try await service.store.lastPositions(of: topics).map { (user: $0.0, last: $0.1) }
  }

  func registeredMembers() async throws -> Set<Int64>? { nil }

  func register(_ member: TopicSeat, of topic: TopicName, wasRegistered: Bool) async throws {}

  func forget(_ id: Int64) async throws {}
}
