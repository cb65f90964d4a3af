internal import Budgets
internal import Cluster
internal import Cryptography
internal import Formats
internal import Observability
internal import Platform
internal import ServiceKit
internal import Storage
internal import Synchronization

/// Whether the rights of readers have to be compared with the store again.
private struct RevisionCheck {
  /// The number of the rights' last change that was seen.
  private var known: Int64 = 0
  private var checksLeft = 0
  private var looksSinceCheck = 0

  /// The looks after which a check is due in any case.
  private static let mostLooks = 30

  /// Returns whether a check is due, and counts it as made.
  mutating func isDue(_ present: Int64) -> Bool {
    looksSinceCheck += 1
    if known != present {
      known = present
      // Twice, as where several nodes write, the number rises before the change is there; and from time to time besides, as a
      // transaction may take longer than that.
      checksLeft = 2
    }
    guard checksLeft > 0 || looksSinceCheck >= Self.mostLooks else { return false }
    checksLeft = max(0, checksLeft - 1)
    looksSinceCheck = 0
    return true
  }
}

/// The work of topics: publishing, reading, files, and what comes at its time.
final class TopicService: Sendable {
  /// How often streams are compared with the rights that their readers have.
  private static let checkInterval = Duration.seconds(1)
  private static let deliveryInterval = Duration.milliseconds(400)
  private static let copiesInterval = Duration.milliseconds(500)
  /// The seconds after which somebody whose site has stored enough may try again.
  private static let storageRetry = 600

  let configuration: TopicConfiguration
  let service: MessageService
  let store: TopicStore
  let hub = TopicHub(limit: 1 << 20)
  /// The server's URL as seen from outside; nil to take it from each request.
  let publicURL: String?
  let log: Log
  /// The places for streams: an account has some, and so has an address without one.
  let streamSlots = TopicSlots()
  private let accountStreams: Int
  /// The places for uploads in progress, of which a site has some.
  let uploadSlots = TopicSlots()
  /// The sites whose delayed messages are being moved into logs.
  private let delivering = Lock<Set<String>>([])
  let upstream: UpstreamWaker?
  private let storedLink = LazyReference<NodeLink<TopicRegistry>>()
  private let publishing: RefillTable
  private let reading: RefillTable
  private let fileBytes: AttemptTable
  private let lastStream = Atomic<Int64>(0)
  private let published: Counter
  /// The owners of tokens that were shown to publish.
  let rememberedTokens = RecentValues<
    TokenHash, (caller: TopicCaller, credential: TopicCredential)
  >(
    limit: 8192)
  let statistics: TopicStatistics
  private let expiry: @Sendable () -> Timestamp
  private let node: NodeID
  /// The free disk, of which a part is kept for accounts.
  let disk: DiskReserve
  private let bus: any Bus

  init(
    _ service: MessageService, _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) throws {
    let topics = configuration.topics
    self.configuration = topics
    self.service = service
    store = TopicStore(
      msgr: service.store, limits: TopicLimits(topics), files: TopicFileLimits(topics))
    statistics = TopicStatistics(store, clock: context.clock)
    publicURL = context.publicURL
    log = context.log
    accountStreams = configuration.streams.ofAccount
    upstream = try UpstreamWaker(topics, publicURL: context.publicURL, log: context.log)
    publishing = RefillTable(clock: context.clock)
    reading = RefillTable(clock: context.clock)
    fileBytes = AttemptTable(span: .seconds(86_400), size: 1 << 12, clock: context.clock)
    expiry = context.expiry
    node = context.node
    disk = context.disk
    bus = context.bus
    published = context.metrics.counter(
      "awd_msgr_topic_messages_total", "Messages published to topics")
    context.metrics.gauge("awd_msgr_topic_streams", "Open streams of topics") { [streamSlots] in
      Double(streamSlots.count)
    }
  }

  var isOn: Bool { configuration.access != .off }
  var now: Timestamp { store.now }

  /// The other nodes that share the store, if there are any.
  private var link: NodeLink<TopicRegistry> {
    storedLink.value
      ?? storedLink.keep(
        NodeLink(
          hub, TopicRegistry(service: self), of: "msgr-topics", node: node, bus: bus, log: log))
  }

  // MARK: - Publishing

  /// Counts a message by its account or address.
  func chargePublishing(_ requester: TopicRequester) throws(TopicRefusal) {
    guard requester.caller.account != nil || !disk.refusesStrangers else { throw .busy }
    if let wait = publishing.use(requester.limitKey, at: configuration.publishing) {
      throw .tooManyRequests(retryAfter: wait)
    }
  }

  /// Counts bytes that are to be stored, if the site of the account, or of the client without one, may have them.
  func mayStore(_ bytes: Int, for requester: TopicRequester) async throws -> Bool {
    guard let storage = store.msgr.storage else { return true }
    if let account = requester.caller.account {
      return try await storage.mayStore(bytes, by: account)
    }
    let network = requester.site.flatMap(ClientNetwork.init(words:))
    return try await storage.mayStore(bytes, from: network)
  }

  /// Counts a poll, a stream, a check or a file by its account or address.
  func chargeReading(_ requester: TopicRequester) throws(TopicRefusal) {
    if let wait = reading.use(requester.limitKey, at: configuration.reading) {
      throw .tooManyRequests(retryAfter: wait)
    }
  }

  /// Makes the identifier of an entry.
  func makeID() -> String {
    RandomText.make(TopicEntry.idLength, randomBytes: service.randomBytes)
  }

  /// Publishes a message that was validated.
  func publish(_ post: TopicPost, by requester: TopicRequester) async throws -> TopicEntry {
    guard try await mayStore(post.text.utf8.count + MsgrStore.messageOverhead, for: requester)
    else { throw TopicRefusal.tooManyRequests(retryAfter: Self.storageRetry) }
    let receipt = try await forgettingTokens(of: requester) {
      try await store.publish(post, by: requester)
    }
    chargeCopies(of: receipt, requester)
    await finish(receipt)
    published.add()
    statistics.record(of: requester.limitKey)
    return receipt.entry
  }

  /// Deletes a sequence of messages, or says that it was read.
  func close(
    _ sequence: String, of topic: TopicName, as event: TopicEvent, by requester: TopicRequester
  ) async throws -> TopicEntry {
    var post = TopicPost(topic: topic, id: makeID())
    post.event = event
    post.sequence = sequence
    let receipt = try await forgettingTokens(of: requester) {
      try await store.close(sequence, as: event, post, by: requester)
    }
    publishEffects(receipt)
    return receipt.entry
  }

  /// Forgets the requester's token if it turns out to have ended.
  private func forgettingTokens(
    of requester: TopicRequester, _ work: () async throws -> TopicReceipt
  ) async throws -> TopicReceipt {
    do { return try await work() } catch TopicRefusal.unauthorized {
      if let hash = requester.credential.token { rememberedTokens.remove(hash) }
      throw TopicRefusal.unauthorized
    }
  }

  /// Counts a message's copies as further messages, some of them as one: more work than its burst nobody causes at once.
  private func chargeCopies(of receipt: TopicReceipt, _ requester: TopicRequester) {
    let turns = (receipt.copies.receipts.count + receipt.copiesLeft) / TopicStore.copiesAtOnce
    guard turns > 0 else { return }
    publishing.charge(requester.limitKey, at: configuration.publishing, amount: turns)
  }

  /// Notifies streams and outboxes of an entry, and makes the copies that it lacks.
  private func finish(_ receipt: TopicReceipt) async {
    publishEffects(receipt)
    guard receipt.copiesLeft > 0 else { return }
    do { try await copyOn(in: receipt.entry.topic, through: receipt.entry.number) } catch {
      // The message is published, and what is left is done later.
      log.warning("copies of a topic's message come later", ["cause": "\(error)"])
    }
  }

  /// Makes the copies that a topic's entries lack.
  private func copyOn(
    in topic: TopicName, through last: TopicPosition = TopicPosition(rawValue: .max)
  ) async throws {
    while let inboxes = try await store.copyOn(in: topic, through: last) {
      for inbox in inboxes { service.publishEffects(inbox) }
    }
  }

  /// Notifies streams and outboxes of an entry.
  private func publishEffects(_ receipt: TopicReceipt) {
    guard let predecessor = receipt.predecessor else { return }
    let entry = receipt.entry
    if hub.hasMembers(of: entry.topic) {
      let streamed = StreamedTopicEntry(entry)
      hub.publish([
        (entry.topic, .entry(StreamEntry(streamed, at: entry.number, after: predecessor)))
      ])
    }
    if store.store.isShared {
      link.notifyAll(
        [NotificationKind.entries] + NotificationKind.bytes(entry.number.rawValue), of: entry.topic)
    }
    for inbox in receipt.copies.receipts { service.publishEffects(inbox) }
    guard !receipt.subscribers.isEmpty else { return }
    if store.store.isShared {
      link.notifyAll(TopicRegistry.closing(at: entry.number), of: entry.topic)
    }
    showClosing(by: entry, to: receipt.subscribers)
  }

  /// Notifies the streams that users have on this node that a sequence was deleted or read.
  private func showClosing(by entry: TopicEntry, to users: [UserName]) {
    let name = entry.event == .deletion ? "Deleted" : "Cleared"
    let notice = JSONValue.object([
      name: .object(["Topic": .text(entry.topic.text), "Sequence": .text(entry.sequence)])
    ])
    for user in users {
      for stream in service.hub.members(of: user) { stream.show(notice.bytes) }
    }
  }

  /// Notifies the streams on this node of what another node has announced. Where the store can't be read,
  /// they aren't notified.
  func showClosing(of topic: TopicName, at position: TopicPosition) async {
    guard service.hub.count > 0,
      let (entry, users) = try? await store.closing(of: topic, at: position)
    else { return }
    showClosing(by: entry, to: users)
  }

  // MARK: - Reading

  /// Opens a stream.
  ///
  /// - Throws: ``TopicRefusal``.
  func open(
    _ topics: [TopicName], since: TopicSince, _ filter: TopicFilter, withWaiting: Bool = false,
    by requester: TopicRequester
  ) async throws -> TopicStreamStart {
    try chargeReading(requester)
    let slot = try streamSlot(for: requester)
    try await store.beginReading(topics, by: requester)
    let positions = try await store.start(of: topics, since: since)
    // Before the logs, so that no message is missed that comes between.
    let waiting = withWaiting ? try await store.waiting(in: topics) : []
    // What comes live is in this order by itself, and so is a single topic.
    let hasBacklog = !waiting.isEmpty || (topics.count > 1 && since != .none)
    let backlog =
      hasBacklog
      ? TopicPoll(
        of: try await store.lastPositions(of: topics), from: positions, filter, before: waiting,
        in: store)
      : nil
    return TopicStreamStart(
      id: lastStream.wrappingAdd(1, ordering: .relaxed).newValue, topics: topics,
      positions: positions, backlog: backlog, filter: filter, requester: requester, slot: slot,
      owner: WorkOwner.current)
  }

  /// Takes a place for a stream.
  func streamSlot(for requester: TopicRequester) throws(TopicRefusal) -> TopicSlot {
    let limit =
      requester.caller.account == nil ? configuration.streamsPerAddress : accountStreams
    guard let slot = streamSlots.acquire(requester.limitKey, upTo: limit) else {
      throw .tooManyStreams(retryAfter: 60)
    }
    return slot
  }

  /// Takes a place for an upload; nil for one over a Unix socket, which needs none.
  func uploadSlot(for requester: TopicRequester) throws(TopicRefusal) -> TopicSlot? {
    guard let site = requester.siteName else { return nil }
    guard let slot = uploadSlots.acquire(site, upTo: configuration.uploadsPerSite) else {
      throw .tooManyUploads
    }
    return slot
  }

  /// Begins a poll, which gives what is there, oldest first.
  func poll(
    _ topics: [TopicName], since: TopicSince, _ filter: TopicFilter, withWaiting: Bool,
    by requester: TopicRequester
  ) async throws -> TopicPoll {
    try chargeReading(requester)
    try await store.beginReading(topics, by: requester)
    // Before the logs, so that no message is missed that comes between.
    var waiting = withWaiting ? try await store.waiting(in: topics) : []
    if let id = filter.id {
      let place = try await store.place(of: id, in: topics)
      waiting = place == nil ? waiting.filter { $0 == id } : []
      let ends = place.map { [$0] } ?? []
      let start = ends.map { ($0, TopicPosition(rawValue: $1.rawValue - 1)) }
      return TopicPoll(
        of: ends, from: Dictionary(uniqueKeysWithValues: start), filter, before: waiting, in: store)
    }
    let ends = try await store.lastPositions(of: topics)
    let start = try await store.start(of: topics, since: since)
    return TopicPoll(of: ends, from: start, filter, before: waiting, in: store)
  }

  /// Reads on for a stream; nil if that can't be done, which is logged.
  func read(
    _ topic: TopicName, after position: TopicPosition, isLive: Bool, atMost count: Int,
    upTo bytes: Int
  ) async -> BoundedPage<TopicEntry>? {
    do {
      return try await store.entries(
        of: topic, after: position, isLive: isLive, atMost: count, upTo: bytes)
    } catch {
      log.error("stream of a topic ended: its log can't be read", ["cause": "\(error)"])
      return nil
    }
  }

  /// Reads on in some topics' logs at once, in one order; nil if that can't be done, which is logged.
  func read(_ poll: TopicPoll, upTo bytes: Int) async -> TopicPoll.Page? {
    do { return try await poll.next(upTo: bytes) } catch {
      log.error("stream of topics ended: their logs can't be read", ["cause": "\(error)"])
      return nil
    }
  }

  /// Checks whether a caller may read topics, or make them.
  func mayRead(_ topics: [TopicName], by requester: TopicRequester) async throws {
    try chargeReading(requester)
    let decisions = try await store.decisions(.read, topics, by: requester.caller)
    guard !decisions.contains(.forbidden) else { throw TopicRefusal.forbidden }
  }

  // MARK: - Background

  /// Does what has to be done again and again, until cancelled.
  func run() async {
    guard isOn else { return }
    let link = link
    await withTaskGroup { group in
      group.addTask { await link.run() }
      group.addTask { [self] in await deliverDue() }
      group.addTask { [self] in
        await repeatWork(
          every: Self.copiesInterval, orLog: "copies of topics' messages aren't up to date"
        ) { [self] in
          while try await store.removeCopies() {}
          for topic in try await store.abandonedCopying() { try await copyOn(in: topic) }
        }
      }
      group.addTask { [self] in
        await repeatWork(
          every: Self.checkInterval, orLog: "streams of topics aren't checked", checkReaders)
      }
      if let upstream {
        group.addTask { [self] in
          await repeatWork(every: .seconds(1), orLog: "phones aren't woken yet") {
            try await upstream.run(self.store)
          }
        }
      }
      await group.waitForAll()
    }
  }

  private func repeatWork(
    every interval: Duration, orLog failure: String,
    _ work: @escaping @Sendable () async throws -> Void
  ) async {
    await MsgrService.repeatWork(every: interval, orLog: failure, in: log, work)
  }

  /// Delivers messages whose time has come, those of each site beside those of others, so that none waits for another's.
  private func deliverDue() async {
    await withDiscardingTaskGroup { group in
      await MsgrService.repeatWork(
        every: Self.deliveryInterval, orLog: "delayed messages wait", in: log
      ) {
        for (site, messages) in try await store.due()
        where delivering.withLock({ $0.insert(site).inserted }) {
          group.addTask { [self] in
            let owner =
              ClientNetwork(words: site).flatMap { WorkOwner(client: $0) }
              ?? WorkOwner(client: Int?.none, account: site)
            await WorkOwner.$current.withValue(owner) { await deliver(messages) }
            _ = delivering.withLock { $0.remove(site) }
          }
        }
      }
    }
  }

  private func deliver(_ messages: [(id: String, topic: TopicName)]) async {
    do {
      for (id, topic) in messages {
        guard let receipt = try await store.deliver(id, to: topic) else { continue }
        await finish(receipt)
      }
    } catch { log.warning("delayed messages wait", ["cause": "\(error)"]) }
  }

  private let revision = Lock(RevisionCheck())

  /// Ends the streams of those who may no longer read.
  private func checkReaders() async throws {
    let streams = openStreams()
    guard !streams.isEmpty else { return }
    let present = try await store.revision()
    guard revision.withLock({ $0.isDue(present) }) else { return }
    for start in stride(from: 0, to: streams.count, by: 500) {
      let some = Array(streams[start...].prefix(500))
      let good = try await store.mayStillRead(some.map { ($0.requester, $0.topics) })
      for (stream, isGood) in zip(some, good) where !isGood { stream.end(.forbidden) }
    }
  }

  private func openStreams() -> [TopicStream] {
    var seen: Set<Int64> = []
    return hub.members.compactMap { item in
      seen.insert(item.member.id).inserted ? item.member.reader : nil
    }
  }

  /// Removes what is too old.
  func tidy() async throws {
    while try await store.expire(at: expiry()) {}
    while try await store.removeUnused(at: expiry()) {}
  }

  // MARK: - Files

  /// Counts the bytes of a file for its uploader.
  ///
  /// - Returns: the seconds to wait if these are too many; nil if they were counted.
  func chargeBandwidth(_ bytes: Int, for key: String) -> Int? {
    let unit = 1 << 10
    let amount = max(1, (bytes + unit - 1) / unit)
    return fileBytes.count(key, amount: amount, upTo: configuration.bandwidth / unit)
  }
}

/// Places of which each of those who take them has some.
final class TopicSlots: Sendable {
  private let counts = Lock<[String: Int]>([:])

  /// The number of places that are taken.
  var count: Int { counts.withLock { $0.values.reduce(0, +) } }

  /// Takes a place; nil if there is none.
  func acquire(_ key: String, upTo limit: Int) -> TopicSlot? {
    let isTaken = counts.withLock { counts in
      guard counts[key, default: 0] < limit else { return false }
      counts[key, default: 0] += 1
      return true
    }
    return isTaken ? TopicSlot(key, in: self) : nil
  }

  fileprivate func release(_ key: String) {
    counts.withLock { counts in
      let left = (counts[key] ?? 1) - 1
      counts[key] = left > 0 ? left : nil
    }
  }
}

/// A place that was taken.
final class TopicSlot: Sendable {
  private let key: String
  private let slots: TopicSlots
  private let isLeft = Atomic<Bool>(false)

  fileprivate init(_ key: String, in slots: TopicSlots) {
    self.key = key
    self.slots = slots
  }

  deinit { leave() }

  /// Gives the place back, once.
  func leave() {
    if !isLeft.exchange(true, ordering: .relaxed) { slots.release(key) }
  }
}
