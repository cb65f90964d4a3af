internal import Cluster
internal import Formats
internal import Platform
internal import Transport

/// An entry on its way to streams, of which each form is made once for all of them.
final class StreamedTopicEntry: Sendable {
  let entry: TopicEntry
  private let forms = Lock<[Int: [UInt8]]>([:])

  init(_ entry: TopicEntry) { self.entry = entry }

  /// Returns the entry in a form.
  ///
  /// - Parameters:
  ///   - form: the number of the form, by which the same bytes are found again.
  ///   - make: makes the bytes, if nobody has yet.
  func bytes(in form: Int, _ make: (TopicEntry) -> [UInt8]) -> [UInt8] {
    if let known = forms.withLock({ $0[form] }) { return known }
    // Outside of the lock: two loops may do it at a time, which is no harm.
    let new = make(entry)
    forms.withLock { $0[form] = new }
    return new
  }
}

/// The place of a stream in the log of one of its topics.
///
/// Unchecked because its variables are touched on its stream's event loop only.
final class TopicSeat: HubMember, @unchecked Sendable {
  let id: Int64
  let topic: TopicName
  /// The stream that reads, whose right is checked again.
  let reader: TopicStream
  fileprivate var cursor: Cursor<TopicPosition>

  fileprivate init(of reader: TopicStream, in topic: TopicName, after start: TopicPosition) {
    id = reader.id
    self.topic = topic
    self.reader = reader
    cursor = Cursor(after: start)
  }

  var loop: EventLoop { reader.loop }

  func receive(_ updates: [EntryUpdate<TopicPosition, StreamedTopicEntry>]) {
    reader.receive(updates, in: self)
  }
}

/// The open streams of topics on this node.
typealias TopicHub = Hub<TopicName, TopicSeat>

/// The reason why the server ends a stream.
enum TopicStreamEnd: Sendable {
  /// The right to read has ended.
  case forbidden
  /// The log can't be read.
  case failed
}

/// The connection of a stream, which writes entries in its client's form; touched on its loop only.
protocol TopicStreamConnection: AnyObject {
  var loop: EventLoop { get }
  /// The bytes that wait to be sent.
  var backlog: Int { get }
  /// Writes an entry, unless the client has no use for it.
  func send(_ entry: StreamedTopicEntry)
  func end(_ reason: TopicStreamEnd)
}

/// The beginning of a stream: whose it is, and what it reads from where. Its place is given back with it, unless the stream
/// begins.
struct TopicStreamStart: Sendable {
  let id: Int64
  let topics: [TopicName]
  /// The positions after which it begins.
  let positions: [TopicName: TopicPosition]
  /// What comes in one order over all topics, and the messages that wait; nil if there is nothing to order.
  let backlog: TopicPoll?
  let filter: TopicFilter
  let requester: TopicRequester
  let slot: TopicSlot
  /// The owner of the work that the stream makes.
  let owner: WorkOwner?
}

/// A reader of some topics.
///
/// It has a cursor in each topic, and reads on from there; notifications only make it faster. So each entry comes once, in the
/// order of its topic's log, whatever happens meanwhile. What was there before comes in one order over all topics, as a client
/// that is cut off goes on behind the last one it has got. While the client doesn't read, nothing is kept for it: it is read
/// from the log later.
///
/// Unchecked because its variables are touched on its connection's event loop only.
final class TopicStream: @unchecked Sendable {
  /// The bytes that may wait to be sent while more is sent.
  static let lowWaterMark = 64 << 10

  let id: Int64
  let topics: [TopicName]
  let requester: TopicRequester
  let loop: EventLoop
  /// The entries that are wanted; nil for all.
  private let filter: TopicFilter?
  private let service: TopicService
  private let slot: TopicSlot
  private let owner: WorkOwner?
  /// The connection, until it is over.
  private var connection: (any TopicStreamConnection)?
  private var seats: [TopicSeat] = []
  /// The entries that are read at once: fewer where they are long.
  private var pageSize = PageBounds.firstRows
  private var isReading = false
  /// False while the entries that were there before are read.
  private var isLive = false
  /// What is read over all topics first; nil when that is done.
  private var backlog: TopicPoll?

  /// Makes a stream that begins at once; to be called on the connection's loop.
  init(
    _ start: TopicStreamStart, of service: TopicService,
    to connection: any TopicStreamConnection
  ) {
    id = start.id
    topics = start.topics
    requester = start.requester
    filter = start.filter == TopicFilter() ? nil : start.filter
    slot = start.slot
    owner = start.owner
    backlog = start.backlog
    loop = connection.loop
    self.service = service
    self.connection = connection
    seats.reserveCapacity(topics.count)
    for topic in topics {
      let seat = TopicSeat(of: self, in: topic, after: start.positions[topic] ?? .zero)
      seats.append(seat)
      _ = service.hub.join(seat, of: topic)
    }
    readOn()
  }

  /// Sends the entries that come next, and reads on if others are between.
  fileprivate func receive(
    _ updates: [EntryUpdate<TopicPosition, StreamedTopicEntry>], in seat: TopicSeat
  ) {
    for update in updates {
      let isReady = isLive && !isReading && !isBackedUp
      guard let entry = seat.cursor.apply(update, isReady: isReady) else { continue }
      seat.cursor.pass(entry.position)
      send(entry.content)
    }
    readOn()
  }

  private func send(_ entry: StreamedTopicEntry) {
    guard filter?.accepts(entry.entry) ?? true else { return }
    connection?.send(entry)
  }

  private var isBackedUp: Bool { room < 0 }

  /// The bytes that may be sent before the client reads on.
  private var room: Int { Self.lowWaterMark - (connection?.backlog ?? 0) }

  /// Called when the client has read what waited.
  func drained() { readOn() }

  /// Reads on in the topics that have more, one after the other.
  private func readOn() {
    guard connection != nil, !isReading, !isBackedUp else { return }
    if let backlog { return read(backlog) }
    for seat in seats {
      guard let position = seat.cursor.nextRead() else { continue }
      isReading = true
      Task(executorPreference: loop) { [self] in
        let page = await WorkOwner.$current.withValue(owner) {
          await service.read(
            seat.topic, after: position, isLive: isLive, atMost: pageSize, upTo: room)
        }
        finishRead(page, in: seat, from: position)
      }
      return
    }
    // What comes from now on is live.
    isLive = true
  }

  /// Reads on in all topics at once.
  private func read(_ backlog: TopicPoll) {
    isReading = true
    Task(executorPreference: loop) { [self] in
      finishRead(await service.read(backlog, upTo: room))
    }
  }

  /// Ends a read.
  ///
  /// - Returns: the page; nil if the stream is over meanwhile, or ends because nothing could be read.
  private func ended<Page>(_ page: Page?) -> Page? {
    isReading = false
    guard let connection else { return nil }
    if page == nil { connection.end(.failed) }
    return page
  }

  /// Sends an entry that was read, unless it was sent already.
  private func send(_ entry: TopicEntry, in seat: TopicSeat) {
    guard seat.cursor.wants(entry.number) else { return }
    seat.cursor.pass(entry.number)
    send(StreamedTopicEntry(entry))
  }

  private func finishRead(_ page: TopicPoll.Page?) {
    guard let page = ended(page) else { return }
    for entry in page.entries {
      guard entry.number > .zero else {
        // It waits for its time, and comes once more then.
        send(StreamedTopicEntry(entry))
        continue
      }
      if let seat = seats.first(where: { $0.topic == entry.topic }) { send(entry, in: seat) }
    }
    if let ends = page.ends {
      for seat in seats {
        if let end = ends.first(where: { $0.0 == seat.topic })?.1 { seat.cursor.pass(end) }
      }
      backlog = nil
    }
    readOn()
  }

  private func finishRead(
    _ page: BoundedPage<TopicEntry>?, in seat: TopicSeat, from position: TopicPosition
  ) {
    guard let page = ended(page) else { return }
    for entry in page.entries { send(entry, in: seat) }
    seat.cursor.finishRead(
      end: page.entries.last?.number ?? position,
      isLast: !page.isCut && page.entries.count < pageSize)
    pageSize = PageBounds.rows(after: page, of: pageSize, atMost: TopicStore.pageSize)
    readOn()
  }

  /// Ends the stream, from any thread.
  func end(_ reason: TopicStreamEnd) {
    loop.execute { [self] in connection?.end(reason) }
  }

  /// Called when the connection is over.
  func closed() {
    guard connection != nil else { return }
    connection = nil
    backlog = nil
    for topic in topics { service.hub.leave(id, of: topic) }
    seats = []
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
  ) async throws -> [(user: TopicName, entry: StreamEntry<TopicPosition, StreamedTopicEntry>)] {
    // The streams read on themselves, as a notification says nothing of what was before.
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
