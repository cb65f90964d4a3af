internal import Formats
internal import FoundationEssentials
internal import Platform
internal import Storage

// The log of all topics.

/// The result of a message to a topic.
struct TopicReceipt: Sendable {
  /// The entry; of a message that waits, as it will be.
  let entry: TopicEntry
  /// The position before it in the topic's log; nil for a message that waits.
  let predecessor: TopicPosition?
  /// The first copies in the inboxes of those who have subscribed.
  var copies = TopicCopies()
  /// The number of those who get copies later.
  var copiesLeft = 0
  /// The users whose streams are notified that a sequence was deleted or read.
  var subscribers: [UserName] = []
}

extension TopicStore {
  /// The entries of a page.
  static let pageSize = 100
  /// The time for which an entry that open streams alone get is there for them.
  private static let transientAge = Duration.seconds(10)

  // MARK: - Writing

  /// Publishes to a topic.
  ///
  /// - Throws: ``TopicRefusal``, or ``StoreError``.
  func publish(_ post: TopicPost, by requester: TopicRequester) async throws -> TopicReceipt {
    let receipt = try await store.write(isolation: .rowLocks) { transaction in
      try requireGood(requester.credential, transaction)
      let topic = try lock(post.topic, for: .write, by: requester, transaction)
      if post.isUnifiedPush, topic.subscribedAt == nil { throw TopicRefusal.noSubscriber }
      if case .publisher(let token) = requester.caller { try recordUse(of: token, transaction) }
      if let sequence = post.sequence {
        try cancelWaiting(sequence, in: post.topic, transaction)
      }
      if let due = post.due { return try wait(post, until: due, topic, requester, transaction) }
      return try append(post, to: topic, at: now, transaction)
    }
    msgr.storage?.record(receipt.copies.bytes)
    return receipt
  }

  /// Refuses credentials that were good, and have ended since.
  func requireGood(_ credential: TopicCredential, _ transaction: borrowing Transaction) throws {
    guard try isGood(credential, transaction) else { throw TopicRefusal.unauthorized }
  }

  private func recordUse(of token: PublisherToken, _ transaction: borrowing Transaction) throws {
    do { try msgr.recordUse(of: token, transaction) } catch RequestRefusal.forbidden {
      throw TopicRefusal.unauthorized
    }
  }

  /// Returns the moment at which an entry goes.
  private func expiry(of post: TopicPost, in topic: LockedTopic, from moment: Timestamp)
    -> Timestamp
  {
    if post.isTransient { return moment + Self.transientAge }
    return moment + (topic.facts.owner == nil ? limits.openAge : limits.age)
  }

  /// Writes an entry, and a copy into the inbox of each who has subscribed.
  private func append(
    _ post: TopicPost, to topic: LockedTopic, at moment: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> TopicReceipt {
    let expires = expiry(of: post, in: topic, from: moment)
    let sequence = post.sequence ?? post.id
    let number: TopicPosition? = try transaction.value(
      """
      INSERT INTO msgr_topic_entries (topic, id, event, time, stored_at, expires_at, is_transient,
        sequence, text, parts, is_base64)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING number
      """, post.topic, post.id, post.event, moment, now, expires, post.isTransient, sequence,
      post.text, post.parts.stored, post.isBase64)
    guard let number else { throw TopicRefusal.busy }
    try transaction.execute(
      """
      UPDATE msgr_topics SET last_number = ?, entries = entries + 1, used_at = ? WHERE topic = ?
      """, number, now, post.topic)
    if let file = post.file { try attach(file, to: post.id, from: moment, topic, transaction) }
    let replaced = try replace(post, transaction)
    try trim(topic, without: replaced, transaction)
    let entry = TopicEntry(
      number: number, topic: post.topic, id: post.id, event: post.event, time: moment,
      expires: expires, isTransient: post.isTransient, sequence: sequence, text: post.text,
      parts: post.parts, isBase64: post.isBase64)
    if limits.wakesPhones, entry.event == .message, !entry.isTransient, !post.isUnifiedPush {
      try queueWake(of: entry, transaction)
    }
    var receipt = TopicReceipt(entry: entry, predecessor: topic.last)
    if entry.event == .message {
      try beginCopying(entry, into: &receipt, transaction)
    } else {
      receipt.subscribers = try transaction.values(
        "SELECT username FROM msgr_topic_subscriptions WHERE topic = ? ORDER BY username",
        entry.topic)
    }
    return receipt
  }

  /// Removes the oldest entries of a topic that has too many.
  ///
  /// - Parameter removed: the entries that are gone since it was locked.
  private func trim(
    _ topic: LockedTopic, without removed: Int, _ transaction: borrowing Transaction
  ) throws {
    let excess = topic.entries - removed + 1 - limits.messages
    guard excess > 0 else { return }
    try transaction.execute(
      """
      DELETE FROM msgr_topic_entries WHERE number IN (
        SELECT number FROM msgr_topic_entries WHERE topic = ?1
          -- What is still being copied stays until it is.
          AND number < coalesce((SELECT min(entry) FROM msgr_topic_copying WHERE topic = ?1), ?2)
        ORDER BY number /*postgresql + 0 */ LIMIT ?3)
      """, topic.name, TopicPosition(rawValue: .max), excess)
  }

  /// Deletes a sequence of messages, or says that it was read, and leaves an entry that says so.
  func close(
    _ sequence: String, as event: TopicEvent, _ post: TopicPost, by requester: TopicRequester
  ) async throws -> TopicReceipt {
    try await store.write(isolation: .rowLocks) { transaction in
      try requireGood(requester.credential, transaction)
      let topic = try lock(post.topic, for: .write, by: requester, transaction)
      if case .publisher(let token) = requester.caller { try recordUse(of: token, transaction) }
      guard event == .deletion else { return try append(post, to: topic, at: now, transaction) }
      try cancelWaiting(sequence, in: post.topic, transaction)
      let numbers: [TopicPosition] = try transaction.values(
        """
        SELECT number FROM msgr_topic_entries
        WHERE topic = ? AND (sequence = ? OR id = ?) AND event = ?
        """, post.topic, sequence, sequence, TopicEvent.message)
      try remove(numbers, from: post.topic, transaction)
      let present = LockedTopic(
        name: topic.name, facts: topic.facts, last: topic.last,
        entries: topic.entries - numbers.count, subscribedAt: topic.subscribedAt)
      return try append(post, to: present, at: now, transaction)
    }
  }

  /// Returns the entry of a deletion or clearing, and the topic's subscribers; nil if it isn't there any more.
  func closing(
    of topic: TopicName, at position: TopicPosition
  ) async throws -> (entry: TopicEntry, subscribers: [UserName])? {
    try await store.read { snapshot in
      let entry: TopicEntry? = try snapshot.one(
        """
        SELECT number, topic, id, event, time, expires_at, is_transient, sequence, text, parts,
          is_base64
        FROM msgr_topic_entries WHERE number = ? AND topic = ?
        """, position, topic, transform: Self.entry)
      guard let entry, entry.event != .message else { return nil }
      let subscribers: [UserName] = try snapshot.values(
        "SELECT username FROM msgr_topic_subscriptions WHERE topic = ? ORDER BY username", topic)
      return (entry, subscribers)
    }
  }

  // MARK: - Waiting

  private func wait(
    _ post: TopicPost, until due: Timestamp, _ topic: LockedTopic, _ requester: TopicRequester,
    _ transaction: borrowing Transaction
  ) throws -> TopicReceipt {
    let account = requester.caller.account
    let network = account == nil ? requester.site ?? "" : nil
    let site =
      if let account { try msgr.site(of: account, transaction) } else { requester.siteName }
    let count: Int? =
      if let account {
        try transaction.value(
          "SELECT count(*) FROM msgr_topic_waiting WHERE account = ?", account)
      } else {
        try transaction.value("SELECT count(*) FROM msgr_topic_waiting WHERE network = ?", network)
      }
    guard count ?? 0 < limits.waiting else { throw TopicRefusal.tooManyWaiting }
    if let site {
      let ofSite: Int? = try transaction.value(
        "SELECT count(*) FROM msgr_topic_waiting WHERE site = ?", site)
      guard ofSite ?? 0 < limits.waitingPerSite else { throw TopicRefusal.tooManyWaiting }
    }
    try markUsed(post.topic, transaction)
    let sequence = post.sequence ?? post.id
    try transaction.execute(
      """
      INSERT INTO msgr_topic_waiting
        (id, topic, due_at, account, network, site, is_transient, sequence, text, parts)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, post.id, post.topic, due, account, network, site, post.isTransient, sequence, post.text,
      post.parts.stored)
    if let file = post.file { try attach(file, to: post.id, from: due, topic, transaction) }
    return TopicReceipt(
      entry: TopicEntry(
        number: .zero, topic: post.topic, id: post.id, event: .message, time: due,
        expires: expiry(of: post, in: topic, from: due), isTransient: post.isTransient,
        sequence: sequence, text: post.text, parts: post.parts),
      predecessor: nil)
  }

  private func cancelWaiting(
    _ sequence: String, in topic: TopicName, _ transaction: borrowing Transaction
  ) throws {
    let ids: [String] = try transaction.values(
      """
      DELETE FROM msgr_topic_waiting WHERE topic = ? AND (sequence = ? OR id = ?) RETURNING id
      """, topic, sequence, sequence)
    for id in ids {
      try transaction.execute("DELETE FROM msgr_topic_files WHERE entry = ?", id)
    }
  }

  /// The messages of one site that are moved into logs in one turn, and those of all sites.
  private static let dueAtOnce = (ofSite: 32, all: 2048)

  /// Returns the first messages of each site whose time has come, by the sites' names; what the operator's accounts have
  /// published is their own.
  func due() async throws -> [String: [(id: String, topic: TopicName)]] {
    let found: [(site: String, message: (id: String, topic: TopicName))] = try await store.read(
      isOneQuery: true
    ) { snapshot in
      try snapshot.all(
        """
        SELECT publisher, id, topic FROM (
          SELECT id, topic, due_at, coalesce(site, account, network) AS publisher, row_number() OVER (
            PARTITION BY coalesce(site, account, network) ORDER BY due_at, id) AS turn
          FROM msgr_topic_waiting WHERE due_at <= ?) w
        WHERE turn <= ? ORDER BY turn, due_at LIMIT ?
        """, now, Self.dueAtOnce.ofSite, Self.dueAtOnce.all
      ) { (try $0[0], (try $0[1], try $0[2])) }
    }
    return Dictionary(grouping: found, by: \.site).mapValues { $0.map(\.message) }
  }

  /// Moves a message whose time has come into its topic's log.
  ///
  /// - Returns: nil if another node has done it, or it was cancelled.
  func deliver(_ id: String, to name: TopicName) async throws -> TopicReceipt? {
    let receipt = try await store.write(isolation: .rowLocks) { transaction -> TopicReceipt? in
      guard let topic = try locked(name, account: nil, transaction) else { return nil }
      let post: (TopicPost, Timestamp)? = try transaction.one(
        """
        DELETE FROM msgr_topic_waiting WHERE id = ?
        RETURNING due_at, is_transient, sequence, text, parts
        """, id
      ) { row in
        let sequence: String = try row[2]
        var post = TopicPost(topic: name, id: id)
        post.isTransient = try row[1]
        post.sequence = sequence == id ? nil : sequence
        post.text = try row[3]
        post.parts = MessageParts(stored: try row[4], topic: nil)
        return (post, try row[0])
      }
      guard let (post, due) = post else { return nil }
      return try append(post, to: topic, at: due, transaction)
    }
    if let receipt { msgr.storage?.record(receipt.copies.bytes) }
    return receipt
  }

  // MARK: - Reading

  /// Reads on in a topic's log.
  ///
  /// - Parameters:
  ///   - isLive: whether what is for open streams alone is read as well.
  ///   - bytes: the room of the page.
  func entries(
    of topic: TopicName, after position: TopicPosition, isLive: Bool, atMost count: Int,
    upTo bytes: Int
  ) async throws -> BoundedPage<TopicEntry> {
    try await store.read(isOneQuery: true) { snapshot in
      try entries(
        of: topic, after: position, through: TopicPosition(rawValue: .max), isLive: isLive,
        atMost: count, upTo: bytes, snapshot)
    }
  }

  /// Reads on in a topic's log, up to a position.
  func entries(
    of topic: TopicName, after position: TopicPosition, through last: TopicPosition, isLive: Bool,
    atMost count: Int, upTo bytes: Int, isFirst: Bool = true, _ snapshot: borrowing Snapshot
  ) throws -> BoundedPage<TopicEntry> {
    try snapshot.page(
      """
      SELECT number, topic, id, event, time, expires_at, is_transient, sequence, text, parts,
        is_base64
      FROM msgr_topic_entries
      WHERE topic = ?1 AND number > ?2 AND number <= ?3 AND expires_at > ?4 AND is_transient <= ?5
      ORDER BY number LIMIT ?6
      """, topic, position, last, now, isLive, count, measuring: Self.longColumns, upTo: bytes,
      isFirst: isFirst, transform: Self.entry)
  }

  /// Returns the numbers of the entries that come next in a topic's log.
  func numbers(
    of topic: TopicName, after position: TopicPosition, through last: TopicPosition,
    atMost count: Int, _ snapshot: borrowing Snapshot
  ) throws -> [TopicPosition] {
    try snapshot.values(
      """
      SELECT number FROM msgr_topic_entries
      WHERE topic = ?1 AND number > ?2 AND number <= ?3 AND expires_at > ?4 AND is_transient = 0
      ORDER BY number LIMIT ?5
      """, topic, position, last, now, count)
  }

  /// Returns the place of an entry by its identifier; nil if it isn't in the log of one of the topics.
  func place(of id: String, in topics: [TopicName]) async throws -> (TopicName, TopicPosition)? {
    let found: (TopicName, TopicPosition)? = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        """
        SELECT topic, number FROM msgr_topic_entries
        WHERE id = ? AND expires_at > ? AND is_transient = 0
        """, id, now
      ) { (try $0[0], try $0[1]) }
    }
    guard let found, topics.contains(found.0) else { return nil }
    return found
  }

  /// Returns the identifiers of the messages of topics that wait, in the order in which they come.
  func waiting(in topics: [TopicName]) async throws -> [String] {
    try await store.read { snapshot in
      var found: [(id: String, due: Timestamp)] = []
      for topic in topics {
        found += try snapshot.all(
          """
          SELECT id, due_at FROM msgr_topic_waiting WHERE topic = ? ORDER BY due_at, id LIMIT 100
          """, topic
        ) { (try $0[0], try $0[1]) }
      }
      return found.sorted { $0.due < $1.due }.map(\.id)
    }
  }

  /// Reads a message that waits, as it will be, if it still does.
  func waiting(
    _ id: String, upTo bytes: Int, isFirst: Bool, _ snapshot: borrowing Snapshot
  ) throws -> BoundedPage<TopicEntry> {
    try snapshot.page(
      """
      SELECT 0, w.topic, w.id, 0, w.due_at,
        w.due_at + CASE WHEN t.owner IS NULL THEN ?2 ELSE ?3 END,
        w.is_transient, w.sequence, w.text, w.parts, 0
      FROM msgr_topic_waiting w JOIN msgr_topics t ON t.topic = w.topic WHERE w.id = ?1
      """, id, limits.openAge.milliseconds, limits.age.milliseconds, measuring: Self.longColumns,
      upTo: bytes, isFirst: isFirst, transform: Self.entry)
  }

  /// The columns with text and parts, in the rows of entries.
  static let longColumns = [8, 9]

  static func entry(_ row: borrowing Row) throws -> TopicEntry {
    TopicEntry(
      number: try row[0], topic: try row[1], id: try row[2], event: try row[3], time: try row[4],
      expires: try row[5], isTransient: try row[6], sequence: try row[7], text: try row[8],
      parts: MessageParts(stored: try row[9], topic: nil), isBase64: try row[10])
  }

  /// Returns the positions after which a reader gets what it asks for, by topic.
  func start(of topics: [TopicName], since: TopicSince) async throws -> [TopicName: TopicPosition] {
    let isShared = store.isShared
    let now = now
    return try await store.read { snapshot in
      let anchor: (topic: TopicName, number: TopicPosition, stored: Timestamp)?
      if case .id(let id) = since {
        anchor = try snapshot.one(
          """
          SELECT topic, number, stored_at FROM msgr_topic_entries WHERE id = ? AND is_transient = 0
          """, id
        ) { (try $0[0], try $0[1], try $0[2]) }
      } else {
        anchor = nil
      }
      var start: [TopicName: TopicPosition] = [:]
      for topic in topics {
        switch since {
        case .all: start[topic] = .zero
        case .none: start[topic] = try Self.last(of: topic, snapshot)
        case .latest:
          let latest: TopicPosition? = try snapshot.value(
            """
            SELECT max(number) FROM msgr_topic_entries
            WHERE topic = ? AND event = 0 AND is_transient = 0 AND expires_at > ?
            """, topic, now)
          start[topic] =
            try latest.map { TopicPosition(rawValue: $0.rawValue - 1) }
            ?? Self.last(of: topic, snapshot)
        case .time(let moment):
          start[topic] = try Self.position(before: moment, in: topic, snapshot)
        case .id:
          guard let anchor, topics.contains(anchor.topic) else {
            start[topic] = .zero
            break
          }
          if anchor.topic == topic || !isShared {
            start[topic] = anchor.number
          } else {
            // Where several nodes write, numbers of different topics may be committed in another order.
            start[topic] = min(
              anchor.number,
              try Self.position(storedBefore: anchor.stored - .seconds(10), in: topic, snapshot))
          }
        }
      }
      return start
    }
  }

  private static func last(
    of topic: TopicName, _ snapshot: borrowing Snapshot
  ) throws -> TopicPosition {
    try snapshot.value("SELECT last_number FROM msgr_topics WHERE topic = ?", topic) ?? .zero
  }

  private static func position(
    before moment: Timestamp, in topic: TopicName, _ snapshot: borrowing Snapshot
  ) throws -> TopicPosition {
    let first: TopicPosition?? = try snapshot.value(
      "SELECT min(number) FROM msgr_topic_entries WHERE topic = ? AND time >= ?", topic, moment)
    return try position(beforeFirst: first ?? nil, in: topic, snapshot)
  }

  private static func position(
    storedBefore moment: Timestamp, in topic: TopicName, _ snapshot: borrowing Snapshot
  ) throws -> TopicPosition {
    let first: TopicPosition?? = try snapshot.value(
      "SELECT min(number) FROM msgr_topic_entries WHERE topic = ? AND stored_at >= ?", topic, moment
    )
    return try position(beforeFirst: first ?? nil, in: topic, snapshot)
  }

  /// Returns the position before an entry; that of the last one if there is none.
  private static func position(
    beforeFirst first: TopicPosition?, in topic: TopicName, _ snapshot: borrowing Snapshot
  ) throws -> TopicPosition {
    guard let first else { return try last(of: topic, snapshot) }
    return TopicPosition(rawValue: first.rawValue - 1)
  }

  /// Returns the numbers of the last entries of topics.
  func lastPositions(of topics: [TopicName]) async throws -> [(TopicName, TopicPosition)] {
    try await store.read { snapshot in
      try topics.map { ($0, try Self.last(of: $0, snapshot)) }
    }
  }

  /// Returns messages of a topic before a place in its log, newest first.
  func history(
    of topic: TopicName, before position: Int64?, atMost count: Int
  ) async throws -> BoundedPage<TopicEntry> {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.page(
        """
        SELECT number, topic, id, event, time, expires_at, is_transient, sequence, text, parts,
          is_base64
        FROM msgr_topic_entries
        WHERE topic = ?1 AND number < ?2 AND expires_at > ?3 AND is_transient = 0 AND event = 0
        ORDER BY number DESC LIMIT ?4
        """, topic, position ?? .max, now, count, measuring: Self.longColumns,
        transform: Self.entry)
    }
  }
}
