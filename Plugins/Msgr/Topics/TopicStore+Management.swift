internal import Platform
internal import Storage

// Topics as their owners and subscribers manage them.

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
          try requireShare(of: try msgr.site(of: account, transaction), transaction)
          try transaction.execute(
            """
            UPDATE msgr_topics SET owner = ?, network = NULL, site = NULL, everyone = ?
            WHERE topic = ?
            """, account, everyone ?? limits.everyone, name)
        }
      } else {
        guard limits.mode != .off, try !isBarred(name, transaction) else {
          throw TopicRefusal.forbidden
        }
        try make(name, owner: account, network: nil, transaction)
        // Somebody else may have made it at the same moment.
        let made = try locked(name, account: account, transaction)
        guard made?.facts.owner == account else { throw TopicRefusal.forbidden }
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
      let topic = try lock(name, for: .read, by: requester, transaction)
      try requireShare(of: account, among: topic, transaction)
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
        "UPDATE msgr_topics SET subscribed_at = ?1, used_at = ?1 WHERE topic = ?2", now, name)
      guard let summary = try summary(of: name, for: account, transaction) else {
        throw TopicRefusal.busy
      }
      return summary
    }
  }

  /// Refuses one more subscriber of a site that has its part of a topic's, even where there is room, as each costs a copy of
  /// every message. The owner's own site has no part, so that accounts behind one address share their topics.
  private func requireShare(
    of account: UserName, among topic: LockedTopic, _ transaction: borrowing Transaction
  ) throws {
    guard let site = try msgr.site(of: account, transaction) else { return }
    if let owner = topic.facts.owner, try msgr.site(of: owner, transaction) == site { return }
    let count: Int? = try transaction.value(
      """
      SELECT count(*) FROM msgr_topic_subscriptions s JOIN msgr_users u ON u.username = s.username
      WHERE s.topic = ? AND u.site = ? AND s.username <> ?
      """, topic.name, site, account)
    guard count ?? 0 < limits.subscribersPerSite else { throw TopicRefusal.tooManySubscribers }
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
      ORDER BY created_at DESC, username DESC LIMIT 1
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
      let hadSubscribed = transaction.changes > 0
      guard let summary = try summary(of: name, for: account, transaction),
        summary.Owner == account.text || summary.Access != .deny || hadSubscribed
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
    let others: Int? = try transaction.value(
      "SELECT count(*) FROM msgr_topic_access WHERE topic = ? AND username <> ?", name, user)
    guard others ?? 0 < limits.named else { throw TopicRefusal.tooManyNamed }
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
    // Its messages go some at a time, as nobody else writes meanwhile.
    var isEmpty = false
    while !isEmpty {
      isEmpty = try await store.write(isolation: .rowLocks) { transaction in
        guard let topic = try locked(name, account: owner, transaction),
          owner == nil || topic.facts.owner == owner
        else { throw TopicRefusal.forbidden }
        try transaction.execute(
          """
          DELETE FROM msgr_topic_entries WHERE number IN (
            SELECT number FROM msgr_topic_entries WHERE topic = ? LIMIT ?)
          """, name, MsgrStore.emptiedAtOnce)
        guard transaction.changes < MsgrStore.emptiedAtOnce else { return false }
        try delete(name, transaction)
        return true
      }
    }
  }

  /// Deletes a topic, entries first, so that their files go as well.
  func delete(_ name: TopicName, _ transaction: borrowing Transaction) throws {
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
}
