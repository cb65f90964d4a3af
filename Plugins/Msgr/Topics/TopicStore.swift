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
  let waiting: Int
  var subscribers = 1000
  let wakesPhones: Bool

  /// The number of sites that it takes to have all topics, or all room for files.
  static let sites = 10
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
    waiting = configuration.waiting
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
    try make(name, owner: owner, site: requester.site, transaction)
    guard let made = try locked(name, account: requester.caller.account, transaction) else {
      throw TopicRefusal.busy
    }
    return made
  }

  /// Locks a topic until the end of the transaction, and notes that it is in use; nil if there is none.
  func locked(
    _ name: TopicName, account: UserName?, _ transaction: borrowing Transaction
  ) throws -> LockedTopic? {
    let row: (UserName?, TopicLevel, TopicPosition, Int, Timestamp?)? = try transaction.one(
      """
      UPDATE msgr_topics SET used_at = ?1 WHERE topic = ?2
      RETURNING owner, everyone, last_number, entries, subscribed_at
      """, now, name
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

  private func isBarred(
    _ name: TopicName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.exists(
      "SELECT 1 FROM msgr_barred_topics WHERE topic = ? AND (barred_at IS NULL OR barred_at > ?)",
      name, now - TopicLimits.barred)
  }

  /// Makes a topic, if the account or the address may have one more.
  private func make(
    _ name: TopicName, owner: UserName?, site: String?, _ transaction: borrowing Transaction
  ) throws {
    let count: Int?
    let limit: Int
    if let owner {
      count = try transaction.value("SELECT count(*) FROM msgr_topics WHERE owner = ?", owner)
      limit = limits.topicsPerAccount
    } else {
      count = try transaction.value(
        """
        SELECT count(*) FROM msgr_topics
        WHERE owner IS NULL AND site = ? AND created_at > ?
        """, site ?? "", now - TopicLimits.day)
      limit = limits.topicsPerAddress
    }
    guard count ?? 0 < limit else { throw TopicRefusal.tooManyTopics }
    let all: Int? = try transaction.value("SELECT count(*) FROM msgr_topics")
    guard all ?? 0 < limits.topics else { throw TopicRefusal.tooManyTopics }
    if let owner { try requireShare(of: owner, transaction) }
    let everyone = TopicAccess.everyone(ofNew: name, owner: owner, configured: limits.everyone)
    try transaction.execute(
      """
      INSERT INTO msgr_topics (topic, owner, everyone, created_at, used_at, site)
      VALUES (?1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT DO NOTHING
      """, name, owner, everyone, now, owner == nil ? site ?? "" : nil)
    try transaction.execute("DELETE FROM msgr_barred_topics WHERE topic = ?", name)
  }

  /// Refuses one more topic to a site whose accounts have their part of all topics.
  private func requireShare(of owner: UserName, _ transaction: borrowing Transaction) throws {
    let ofSite: Int? = try transaction.value(
      """
      SELECT count(*) FROM msgr_users o JOIN msgr_users u ON u.site = o.site
        JOIN msgr_topics t ON t.owner = u.username
      WHERE o.username = ?
      """, owner)
    let share = max(limits.topicsPerAccount, limits.topics / TopicLimits.sites)
    guard ofSite ?? 0 < share else { throw TopicRefusal.tooManyTopics }
  }

  /// Returns the facts of a topic, without locking it.
  private func facts(
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
    let needsWrite = try await store.read { snapshot in
      var needsWrite = false
      for name in names {
        let decision = TopicAccess.decide(
          .read, name, try facts(of: name, account: account, snapshot),
          isBarred: try isBarred(name, snapshot), by: requester.caller, mode: limits.mode)
        switch decision {
        case .forbidden: throw TopicRefusal.forbidden
        case .makes(let owner): needsWrite = needsWrite || owner != nil || name.isUnifiedPush
        case .allowed:
          guard name.isUnifiedPush else { break }
          let subscribed: Timestamp?? = try snapshot.value(
            "SELECT subscribed_at FROM msgr_topics WHERE topic = ?", name)
          let limit = now - TopicLimits.day
          if (subscribed ?? nil).map({ $0 < limit }) ?? true { needsWrite = true }
        }
      }
      return needsWrite
    }
    guard needsWrite else { return }
    try await store.write(isolation: .rowLocks) { transaction in
      // In one order, so that two that ask for the same topics don't wait for each other.
      for name in Set(names).sorted(by: { $0.text < $1.text }) {
        guard account != nil || name.isUnifiedPush else { continue }
        _ = try lock(name, for: .read, by: requester, transaction)
        try transaction.execute(
          "UPDATE msgr_topics SET subscribed_at = ? WHERE topic = ?", now, name)
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
        SELECT 1 FROM msgr_publishers WHERE hash = ?1 AND (expires_at IS NULL OR expires_at > ?2)
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

// MARK: - For accounts

extension TopicStore {
  /// Returns the topics that an account owns, may use by name, or has subscribed to.
  func topics(of account: UserName) async throws -> [TopicSummary] {
    try await store.read { snapshot in
      let names: [TopicName] = try snapshot.values(
        """
        SELECT topic FROM msgr_topics WHERE owner = ?1
        UNION SELECT topic FROM msgr_topic_access WHERE username = ?1
        UNION SELECT topic FROM msgr_topic_subscriptions WHERE username = ?1
        ORDER BY topic
        """, account)
      return try names.compactMap { try summary(of: $0, for: account, snapshot) }
    }
  }

  private func summary(
    of name: TopicName, for account: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> TopicSummary? {
    guard let facts = try facts(of: name, account: account, database) else { return nil }
    let isPushed: Bool? = try database.value(
      "SELECT is_pushed FROM msgr_topic_subscriptions WHERE topic = ? AND username = ?", name,
      account)
    let access = facts.owner == account ? .readWrite : facts.own ?? facts.everyone
    return TopicSummary(
      Topic: name.text, Owner: facts.owner?.text, Access: access, Everyone: facts.everyone,
      Subscribed: isPushed != nil, Push: isPushed ?? false)
  }

  /// Makes a topic an account's own; nothing to do if it is.
  func make(
    _ name: TopicName, everyone: TopicLevel?, by account: UserName
  ) async throws -> TopicSummary {
    try await store.write(isolation: .rowLocks) { transaction in
      if let topic = try locked(name, account: account, transaction) {
        guard topic.facts.owner == account || topic.facts.owner == nil else {
          throw TopicRefusal.forbidden
        }
        if topic.facts.owner == nil {
          try requireRoom(for: account, transaction)
          try transaction.execute(
            "UPDATE msgr_topics SET owner = ?, site = NULL, everyone = ? WHERE topic = ?", account,
            everyone ?? limits.everyone, name)
        }
      } else {
        guard limits.mode != .off, try !isBarred(name, transaction) else {
          throw TopicRefusal.forbidden
        }
        try make(name, owner: account, site: nil, transaction)
      }
      if let everyone {
        try transaction.execute(
          "UPDATE msgr_topics SET everyone = ? WHERE topic = ? AND owner = ?", everyone, name,
          account)
      }
      guard let summary = try summary(of: name, for: account, transaction) else {
        throw TopicRefusal.busy
      }
      return summary
    }
  }

  private func requireRoom(
    for account: UserName, _ transaction: borrowing Transaction
  ) throws {
    let count: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_topics WHERE owner = ?", account)
    guard count ?? 0 < limits.topicsPerAccount else { throw TopicRefusal.tooManyTopics }
  }

  /// Lets later messages of a topic come to an account's inbox.
  func subscribe(
    _ account: UserName, to name: TopicName, isPushed: Bool, by requester: TopicRequester
  ) async throws -> TopicSummary {
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try lock(name, for: .read, by: requester, transaction)
      let count: Int? = try transaction.value(
        "SELECT count(*) FROM msgr_topic_subscriptions WHERE topic = ? AND username <> ?", name,
        account)
      if count ?? 0 >= limits.subscribers {
        try makeRoom(for: account, among: name, transaction)
      }
      try transaction.execute(
        """
        INSERT INTO msgr_topic_subscriptions (topic, username, is_pushed) VALUES (?, ?, ?)
        ON CONFLICT (topic, username) DO UPDATE SET is_pushed = excluded.is_pushed
        """, name, account, isPushed)
      try transaction.execute(
        "UPDATE msgr_topics SET subscribed_at = ? WHERE topic = ?", now, name)
      guard let summary = try summary(of: name, for: account, transaction) else {
        throw TopicRefusal.busy
      }
      return summary
    }
  }

  /// Ends a subscription of the site that has most of a topic's: that of the account that was made last.
  ///
  /// - Throws: `.tooManySubscribers` if the account's own site would have as many.
  private func makeRoom(
    for account: UserName, among topic: TopicName, _ transaction: borrowing Transaction
  ) throws {
    let victim: UserName? = try transaction.value(
      """
      WITH subscribers AS (
        SELECT u.username, u.created_at, coalesce(u.site, u.username) AS site
        FROM msgr_topic_subscriptions s JOIN msgr_users u ON u.username = s.username
        WHERE s.topic = ?1),
      own AS (
        SELECT count(*) AS subscribers FROM subscribers
        WHERE site = (SELECT coalesce(site, username) FROM msgr_users WHERE username = ?2)),
      largest AS (
        SELECT site FROM subscribers GROUP BY site
        HAVING count(*) > (SELECT subscribers FROM own) + 1 ORDER BY count(*) DESC, site LIMIT 1)
      SELECT username FROM subscribers WHERE site = (SELECT site FROM largest)
      ORDER BY created_at DESC, username LIMIT 1
      """, topic, account)
    guard let victim else { throw TopicRefusal.tooManySubscribers }
    try transaction.execute(
      "DELETE FROM msgr_topic_subscriptions WHERE topic = ? AND username = ?", topic, victim)
  }

  /// Ends an account's subscription.
  func unsubscribe(_ account: UserName, from name: TopicName) async throws -> TopicSummary {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "DELETE FROM msgr_topic_subscriptions WHERE topic = ? AND username = ?", name, account)
      guard let summary = try summary(of: name, for: account, transaction),
        summary.Owner == account.text || summary.Access != .deny || transaction.changes > 0
      else { throw TopicRefusal.forbidden }
      return summary
    }
  }

  /// Sets what a user, or everyone, may do with a topic, and returns what is allowed.
  ///
  /// - Parameters:
  ///   - user: the user, or nil for everyone.
  ///   - level: what is allowed, or nil to change nothing.
  ///   - owner: the owner who asks; nil for the operator.
  func allow(
    _ user: UserName?, _ level: TopicLevel?, on name: TopicName, by owner: UserName?
  ) async throws -> TopicPermissions {
    try await store.write(isolation: .rowLocks) { transaction in
      guard let topic = try locked(name, account: owner, transaction),
        owner == nil || topic.facts.owner == owner
      else { throw TopicRefusal.forbidden }
      if let level {
        try set(level, for: user, on: name, transaction)
        try endSubscriptions(without: topic, transaction)
      }
      return try permissions(of: name, transaction)
    }
  }

  private func set(
    _ level: TopicLevel, for user: UserName?, on name: TopicName,
    _ transaction: borrowing Transaction
  ) throws {
    guard let user else {
      return try transaction.execute(
        "UPDATE msgr_topics SET everyone = ? WHERE topic = ?", level, name)
    }
    guard try msgr.exists(user, transaction) else { throw TopicRefusal.forbidden }
    try transaction.execute(
      """
      INSERT INTO msgr_topic_access (topic, username, level) VALUES (?, ?, ?)
      ON CONFLICT (topic, username) DO UPDATE SET level = excluded.level
      """, name, user, level)
  }

  /// Ends the subscriptions of those who may no longer read.
  private func endSubscriptions(
    without topic: LockedTopic, _ transaction: borrowing Transaction
  ) throws {
    let users: [UserName] = try transaction.values(
      "SELECT username FROM msgr_topic_subscriptions WHERE topic = ?", topic.name)
    for user in users {
      let facts = try facts(of: topic.name, account: user, transaction)
      let decision = TopicAccess.decide(
        .read, topic.name, facts, isBarred: false, by: .account(user), mode: limits.mode)
      guard decision == .forbidden else { continue }
      try transaction.execute(
        "DELETE FROM msgr_topic_subscriptions WHERE topic = ? AND username = ?", topic.name, user)
    }
  }

  private func permissions(
    of name: TopicName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> TopicPermissions {
    let users: [(UserName, TopicLevel)] = try database.all(
      "SELECT username, level FROM msgr_topic_access WHERE topic = ? ORDER BY username LIMIT 10000",
      name
    ) { (try $0[0], try $0[1]) }
    let facts = try facts(of: name, account: nil, database)
    return TopicPermissions(
      Topic: name.text, Owner: facts?.owner?.text, Everyone: facts?.everyone ?? .deny,
      Users: Dictionary(users.map { ($0.0.text, $0.1) }, uniquingKeysWith: { $1 }))
  }

  /// Removes a topic with all that is in it.
  ///
  /// - Parameter owner: the owner who asks; nil for the operator.
  func remove(_ name: TopicName, by owner: UserName?) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      guard let topic = try locked(name, account: owner, transaction),
        owner == nil || topic.facts.owner == owner
      else { throw TopicRefusal.forbidden }
      try delete(name, transaction)
    }
  }

  /// Deletes a topic, entries first, so that their files go as well.
  private func delete(_ name: TopicName, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      """
      DELETE FROM msgr_topic_files
      WHERE entry IN (SELECT id FROM msgr_topic_waiting WHERE topic = ?)
      """, name)
    try transaction.execute("DELETE FROM msgr_topic_entries WHERE topic = ?", name)
    try transaction.execute("DELETE FROM msgr_topics WHERE topic = ?", name)
  }

  /// Returns all topics, sorted by name.
  func listing() async throws -> [TopicListing] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT topic, owner, everyone, entries,
          (SELECT count(*) FROM msgr_topic_subscriptions s WHERE s.topic = t.topic),
          created_at, used_at
        FROM msgr_topics t ORDER BY topic
        """
      ) { row in
        let owner: UserName? = try row[1]
        let created: Timestamp = try row[5]
        let used: Timestamp = try row[6]
        return TopicListing(
          topic: try row[0], owner: owner?.text, everyone: try row[2], messages: try row[3],
          subscribers: try row[4], created: created.description, used: used.description)
      }
    }
  }

  // MARK: - Age

  /// Removes what is too old, some of it at a time.
  ///
  /// - Returns: whether there may be more.
  func expire(at moment: Timestamp) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        DELETE FROM msgr_topic_entries WHERE number IN (
          SELECT number FROM msgr_topic_entries WHERE expires_at <= ? LIMIT 500)
        """, moment)
      var isFull = transaction.changes >= 500
      try transaction.execute(
        """
        DELETE FROM msgr_topic_files WHERE name IN (
          SELECT name FROM msgr_topic_files WHERE expires_at <= ? LIMIT 20)
        """, moment)
      isFull = isFull || transaction.changes >= 20
      let unused: [TopicName] = try transaction.values(
        """
        SELECT topic FROM msgr_topics WHERE owner IS NULL AND entries = 0 AND used_at <= ?
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_waiting w WHERE w.topic = msgr_topics.topic)
        LIMIT 100
        """, moment - TopicLimits.unused)
      let unsubscribed: [TopicName] = try transaction.values(
        """
        SELECT topic FROM msgr_topics WHERE length(topic) = 14 AND substr(topic, 1, 2) = 'up'
          AND coalesce(subscribed_at, created_at) <= ?
          AND NOT EXISTS (SELECT 1 FROM msgr_topic_subscriptions s WHERE s.topic = msgr_topics.topic)
        LIMIT 100
        """, moment - TopicLimits.unsubscribed)
      for name in Set(unused + unsubscribed.filter(\.isUnifiedPush)) {
        try delete(name, transaction)
      }
      try transaction.execute(
        "UPDATE msgr_barred_topics SET barred_at = ? WHERE barred_at IS NULL", moment)
      try transaction.execute(
        "DELETE FROM msgr_barred_topics WHERE barred_at <= ?", moment - TopicLimits.barred)
      return isFull || unused.count >= 100
    }
  }
}
