internal import Formats
internal import Platform
internal import Storage

/// The limits of topics that the store keeps.
struct TopicLimits: Sendable {
  let mode: TopicConfiguration.Access
  let everyone: TopicLevel
  let age: Duration
  let openAge: Duration
  let messages: Int
  let topicsPerAccount: Int
  let topicsPerAddress: Int
  let topics: Int
  let topicsPerSite: Int
  let waiting: Int
  let waitingPerSite: Int
  var subscribers: Int
  var subscribersPerSite: Int
  /// The users whose rights a topic names.
  var named = 1000
  let wakesPhones: Bool

  /// The time for which the name of a deleted account's topic is barred.
  static let barred = Duration.seconds(30 * 86_400)
  /// The time after which an empty topic of nobody's goes.
  static let unused = Duration.seconds(86_400)
  /// The time after which a topic of UnifiedPush's goes that nobody has subscribed to.
  static let unsubscribed = Duration.seconds(30 * 86_400)
  static let day = Duration.seconds(86_400)

  init(_ configuration: TopicConfiguration) {
    mode = configuration.access
    everyone = configuration.everyone
    age = configuration.age
    openAge = configuration.openAge
    messages = configuration.messages
    topicsPerAccount = configuration.topicsPerAccount
    topicsPerAddress = configuration.topicsPerAddress
    topics = configuration.topics
    topicsPerSite = configuration.topicsPerSite
    waiting = configuration.waiting
    waitingPerSite = configuration.waitingPerSite
    subscribers = configuration.subscribers
    subscribersPerSite = configuration.subscribersPerSite
    wakesPhones = configuration.wakesPhones
  }
}

/// A topic that a transaction has locked.
struct LockedTopic: Sendable {
  let name: TopicName
  let facts: TopicFacts
  /// The number of the last entry.
  let last: TopicPosition
  let entries: Int
  let subscribedAt: Timestamp?
}

/// The topics that a service keeps, and who may use them.
struct TopicStore: Sendable {
  let msgr: MsgrStore
  var limits: TopicLimits
  let files: TopicFileLimits

  var store: Store { msgr.store }
  var now: Timestamp { msgr.now }
}

// MARK: - Who may do what

extension TopicStore {
  /// Locks a topic that a caller may use, and makes it if need be.
  ///
  /// - Throws: ``TopicRefusal``.
  func lock(
    _ name: TopicName, for right: TopicRight, by requester: TopicRequester,
    _ transaction: borrowing Transaction
  ) throws -> LockedTopic {
    if let topic = try locked(name, account: requester.caller.account, transaction) {
      let decision = TopicAccess.decide(
        right, name, topic.facts, isBarred: false, by: requester.caller, mode: limits.mode)
      guard decision == .allowed else { throw TopicRefusal.forbidden }
      return topic
    }
    let decision = TopicAccess.decide(
      right, name, nil, isBarred: try isBarred(name, transaction), by: requester.caller,
      mode: limits.mode)
    guard case .makes(let owner) = decision else { throw TopicRefusal.forbidden }
    try make(name, owner: owner, network: requester.site, transaction)
    guard let made = try locked(name, account: requester.caller.account, transaction) else {
      throw TopicRefusal.busy
    }
    // Somebody else may have made it at the same moment.
    let present = TopicAccess.decide(
      right, name, made.facts, isBarred: false, by: requester.caller, mode: limits.mode)
    guard present == .allowed else { throw TopicRefusal.forbidden }
    return made
  }

  /// Records that a topic is in use, for those that are nobody's.
  func markUsed(_ name: TopicName, _ transaction: borrowing Transaction) throws {
    try transaction.execute("UPDATE msgr_topics SET used_at = ? WHERE topic = ?", now, name)
  }

  /// Locks a topic until the end of the transaction; nil if there is none.
  ///
  /// It changes nothing: on SQLite, a transaction that has changed something and is refused then costs all that are committed with it.
  func locked(
    _ name: TopicName, account: UserName?, _ transaction: borrowing Transaction
  ) throws -> LockedTopic? {
    let row: (UserName?, TopicLevel, TopicPosition, Int, Timestamp?)? = try transaction.one(
      """
      SELECT owner, everyone, last_number, entries, subscribed_at FROM msgr_topics
      WHERE topic = ? /*postgresql FOR NO KEY UPDATE */
      """, name
    ) { (try $0[0], try $0[1], try $0[2], try $0[3], try $0[4]) }
    guard let (owner, everyone, last, entries, subscribedAt) = row else { return nil }
    let own = try ownLevel(of: account, name, transaction)
    return LockedTopic(
      name: name, facts: TopicFacts(owner: owner, everyone: everyone, own: own), last: last,
      entries: entries, subscribedAt: subscribedAt)
  }

  private func ownLevel(
    of account: UserName?, _ name: TopicName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> TopicLevel? {
    guard let account else { return nil }
    return try database.value(
      "SELECT level FROM msgr_topic_access WHERE topic = ? AND username = ?", name, account)
  }

  func isBarred(
    _ name: TopicName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.exists(
      "SELECT 1 FROM msgr_barred_topics WHERE topic = ? AND (barred_at IS NULL OR barred_at > ?)",
      name, now - TopicLimits.barred)
  }

  /// Makes a topic, if the account or the network, and the site of either, may have one more.
  func make(
    _ name: TopicName, owner: UserName?, network: String?, _ transaction: borrowing Transaction
  ) throws {
    let count: Int?
    let limit: Int
    let site: String?
    if let owner {
      count = try transaction.value("SELECT count(*) FROM msgr_topics WHERE owner = ?", owner)
      limit = limits.topicsPerAccount
      site = try msgr.site(of: owner, transaction)
    } else {
      count = try transaction.value(
        """
        SELECT count(*) FROM msgr_topics
        WHERE owner IS NULL AND network = ? AND created_at > ?
        """, network ?? "", now - TopicLimits.day)
      limit = limits.topicsPerAddress
      site = network.flatMap { ClientNetwork(words: $0)?.site }
    }
    guard count ?? 0 < limit else { throw TopicRefusal.tooManyTopics }
    let all: Int? = try transaction.value("SELECT count(*) FROM msgr_topics")
    guard all ?? 0 < limits.topics else { throw TopicRefusal.tooManyTopics }
    try requireShare(of: site, transaction)
    let everyone = TopicAccess.everyone(ofNew: name, owner: owner, configured: limits.everyone)
    let isNobodys = owner == nil
    try transaction.execute(
      """
      INSERT INTO msgr_topics (topic, owner, everyone, created_at, used_at, network, site)
      VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6) ON CONFLICT DO NOTHING
      """, name, owner, everyone, now, isNobodys ? network ?? "" : nil, isNobodys ? site : nil)
    try transaction.execute("DELETE FROM msgr_barred_topics WHERE topic = ?", name)
  }

  /// Refuses one more topic to a site that has its part of all topics: those of its accounts, and those that were made from there
  /// without one.
  func requireShare(of site: String?, _ transaction: borrowing Transaction) throws {
    guard let site else { return }
    let ofAccounts: Int? = try transaction.value(
      """
      SELECT count(*) FROM msgr_users u JOIN msgr_topics t ON t.owner = u.username
      WHERE u.site = ?
      """, site)
    let ofNobody: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_topics WHERE owner IS NULL AND site = ?", site)
    guard (ofAccounts ?? 0) + (ofNobody ?? 0) < limits.topicsPerSite else {
      throw TopicRefusal.tooManyTopics
    }
  }

  /// Returns the facts of a topic, without locking it.
  func facts(
    of name: TopicName, account: UserName?, _ database: borrowing some Queryable & ~Copyable
  ) throws -> TopicFacts? {
    let own = try ownLevel(of: account, name, database)
    return try database.one("SELECT owner, everyone FROM msgr_topics WHERE topic = ?", name) {
      TopicFacts(owner: try $0[0], everyone: try $0[1], own: own)
    }
  }

  /// Decides whether a caller may use each of some topics, without making any.
  func decisions(
    _ right: TopicRight, _ names: [TopicName], by caller: TopicCaller
  ) async throws -> [TopicAccess.Decision] {
    try await store.read { snapshot in
      try names.map { name in
        TopicAccess.decide(
          right, name, try facts(of: name, account: caller.account, snapshot),
          isBarred: try isBarred(name, snapshot), by: caller, mode: limits.mode)
      }
    }
  }

  /// Lets a caller read topics, and makes those that are free: reading one is a way to subscribe to it.
  func beginReading(_ names: [TopicName], by requester: TopicRequester) async throws {
    let account = requester.caller.account
    let subscribed = try await store.read { snapshot in
      try names.filter { name in
        let decision = TopicAccess.decide(
          .read, name, try facts(of: name, account: account, snapshot),
          isBarred: try isBarred(name, snapshot), by: requester.caller, mode: limits.mode)
        switch decision {
        case .forbidden: throw TopicRefusal.forbidden
        case .makes(let owner): return owner != nil || name.isUnifiedPush
        case .allowed:
          let known: Timestamp?? = try snapshot.value(
            "SELECT subscribed_at FROM msgr_topics WHERE topic = ?", name)
          guard let last = known ?? nil else { return true }
          // How long ago it was counts for UnifiedPush's alone.
          return name.isUnifiedPush && last < now - TopicLimits.day
        }
      }
    }
    guard !subscribed.isEmpty else { return }
    try await store.write(isolation: .rowLocks) { transaction in
      // In one order, so that two that ask for the same topics don't wait for each other.
      for name in Set(subscribed).sorted(by: { $0.text < $1.text }) {
        _ = try lock(name, for: .read, by: requester, transaction)
        try transaction.execute(
          "UPDATE msgr_topics SET subscribed_at = ?1, used_at = ?1 WHERE topic = ?2", now, name)
      }
    }
  }

  /// Returns whether credentials that were good still are.
  func isGood(
    _ credential: TopicCredential, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    switch credential {
    case .nothing: true
    case .session(let hash):
      try database.exists("SELECT 1 FROM msgr_tokens WHERE hash = ?", hash)
    case .publisher(let hash):
      try database.exists(
        """
        SELECT 1 FROM msgr_publishers
        WHERE hash = coalesce((SELECT publisher FROM msgr_publisher_aliases WHERE hash = ?1), ?1)
          AND (expires_at IS NULL OR expires_at > ?2)
        """, hash, now)
    case .password(let name, let hash):
      try database.exists(
        "SELECT 1 FROM msgr_users WHERE username = ? AND password = ?", name, hash)
    }
  }

  /// Returns the number that rises whenever somebody may have lost the right to read.
  func revision() async throws -> Int64 {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value("SELECT revision FROM store_topic_revision") ?? 0
    }
  }

  /// Returns which of some readers may still read their topics.
  func mayStillRead(
    _ readers: [(requester: TopicRequester, topics: [TopicName])]
  ) async throws -> [Bool] {
    try await store.read { snapshot in
      try readers.map { reader in
        guard try isGood(reader.requester.credential, snapshot) else { return false }
        return try reader.topics.allSatisfy { name in
          let facts = try facts(of: name, account: reader.requester.caller.account, snapshot)
          // What has been removed, and could be made anew, is no longer theirs to read.
          guard facts != nil || reader.requester.caller.account == nil else { return false }
          let decision = TopicAccess.decide(
            .read, name, facts, isBarred: try isBarred(name, snapshot),
            by: reader.requester.caller, mode: limits.mode)
          return decision != .forbidden
        }
      }
    }
  }
}

// MARK: - Age

extension TopicStore {
  /// Removes messages and files that are too old, some of them at a time.
  ///
  /// - Returns: whether there may be more.
  func expire(at moment: Timestamp) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      // Topics are locked first, as whoever publishes does.
      try transaction.execute(
        """
        DELETE FROM msgr_topic_entries WHERE number IN (
          SELECT e.number FROM msgr_topic_entries e JOIN msgr_topics t ON t.topic = e.topic
          WHERE e.expires_at <= ? LIMIT 500 /*postgresql FOR NO KEY UPDATE OF t SKIP LOCKED */)
        """, moment)
      var isFull = transaction.changes >= 500
      try transaction.execute(
        """
        DELETE FROM msgr_topic_files WHERE name IN (
          SELECT name FROM msgr_topic_files WHERE expires_at <= ? LIMIT 20)
        """, moment)
      isFull = isFull || transaction.changes >= 20
      try transaction.execute(
        "UPDATE msgr_barred_topics SET barred_at = ? WHERE barred_at IS NULL", moment)
      try transaction.execute(
        "DELETE FROM msgr_barred_topics WHERE barred_at <= ?", moment - TopicLimits.barred)
      return isFull
    }
  }

  /// Removes topics that nobody uses, some of them at a time.
  ///
  /// - Returns: whether there may be more.
  func removeUnused(at moment: Timestamp) async throws -> Bool {
    // They are looked for among all, where nobody's writing has to wait for it.
    let unused: [TopicName] = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.values(
        """
        SELECT topic FROM msgr_topics WHERE owner IS NULL AND entries = 0 AND used_at <= ?
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_waiting w WHERE w.topic = msgr_topics.topic)
        LIMIT 100
        """, moment - TopicLimits.unused)
    }
    let unsubscribed: [TopicName] = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.values(
        """
        SELECT topic FROM msgr_topics WHERE topic >= 'up' AND topic < 'uq' AND length(topic) = 14
          AND replace(replace(topic, '-', ''), '_', '') = topic
          AND coalesce(subscribed_at, created_at) <= ?
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_subscriptions s WHERE s.topic = msgr_topics.topic)
        LIMIT 100
        """, moment - TopicLimits.unsubscribed)
    }
    let names = Set(unused + unsubscribed.filter(\.isUnifiedPush))
    guard !names.isEmpty else { return false }
    let removed = try await store.write(isolation: .rowLocks) { transaction in
      let gone = try names.filter { try isUnused($0, at: moment, transaction) }
      for name in gone { try delete(name, transaction) }
      return gone.count
    }
    return removed >= 100
  }

  /// Locks a topic, and returns whether nobody has used it since it was found.
  private func isUnused(
    _ name: TopicName, at moment: Timestamp, _ transaction: borrowing Transaction
  ) throws -> Bool {
    let isThere = try transaction.exists(
      "SELECT 1 FROM msgr_topics WHERE topic = ? /*postgresql FOR UPDATE SKIP LOCKED */", name)
    guard isThere else { return false }
    // In a statement of its own, which sees what was committed before the lock.
    return try transaction.exists(
      """
      SELECT 1 FROM msgr_topics t WHERE topic = ?1 AND (
        owner IS NULL AND entries = 0 AND used_at <= ?2
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_waiting w WHERE w.topic = ?1)
        OR ?4 = 1 AND coalesce(subscribed_at, created_at) <= ?3
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_subscriptions s WHERE s.topic = ?1))
      """, name, moment - TopicLimits.unused, moment - TopicLimits.unsubscribed,
      name.isUnifiedPush)
  }
}
