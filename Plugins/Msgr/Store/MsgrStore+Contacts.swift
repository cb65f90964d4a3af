internal import Storage

/// The relation of two users after one has added the other.
enum Friendship: String, Sendable {
  case friends
  case requested
}

/// The users that an account has to do with, each list sorted by bytes. The members' names are those in JSON.
struct ContactLists: Sendable, Encodable {
  var Friends: [String] = []
  /// The users who have asked this one.
  var Incoming: [String] = []
  /// The users whom this one has asked.
  var Outgoing: [String] = []
  var Blocked: [String] = []
  /// The number of users who have asked beyond those in the list; nil for none.
  var MoreIncoming: Int?
}

extension MsgrStore {
  /// Returns all users that the caller has to do with.
  ///
  /// Of those who have asked, each site that made accounts has its turns, so that no number of free accounts hides others. A
  /// list has as many as an account may have contacts.
  ///
  /// - Parameter skipped: how many of those who have asked were in lists before.
  func contacts(of caller: Caller, skipping skipped: Int = 0) async throws -> ContactLists {
    try await read(as: caller) { try contacts(of: caller.name, skipping: skipped, $0) }
  }

  /// Returns all users that an account has to do with. See ``contacts(of:skipping:)``.
  func contacts(
    of name: UserName, skipping skipped: Int = 0, _ snapshot: borrowing Snapshot
  ) throws -> ContactLists {
    var lists = ContactLists()
    try snapshot.forEach(
      """
      SELECT friend, EXISTS (
        SELECT 1 FROM msgr_contacts b WHERE b.username = a.friend AND b.friend = a.username)
      FROM msgr_contacts a WHERE username = ? ORDER BY friend
      """, name
    ) { row in
      let friend: String = try row[0]
      if try row[1] { lists.Friends.append(friend) } else { lists.Outgoing.append(friend) }
    }
    var all = 0
    try snapshot.forEach(
      """
      SELECT username, count(*) OVER () FROM (
        SELECT a.username, row_number() OVER (
          PARTITION BY coalesce(u.site, u.username) ORDER BY a.username) AS turn
        FROM msgr_contacts a JOIN msgr_users u ON u.username = a.username
        WHERE a.friend = ?1
          AND NOT EXISTS (
            SELECT 1 FROM msgr_contacts b WHERE b.username = ?1 AND b.friend = a.username)
          AND NOT EXISTS (
            SELECT 1 FROM msgr_blocks WHERE username = ?1 AND blocked = a.username)) AS r
      ORDER BY turn, username LIMIT ?2 OFFSET ?3
      """, name, limits.contacts, skipped
    ) { row in
      lists.Incoming.append(try row[0])
      all = try row[1]
    }
    let rest = all - skipped - lists.Incoming.count
    if rest > 0 { lists.MoreIncoming = rest }
    lists.Incoming.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    lists.Blocked = try snapshot.values(
      "SELECT blocked FROM msgr_blocks WHERE username = ? ORDER BY blocked", name)
    return lists
  }

  /// Returns the names of the caller's friends, sorted by their bytes.
  func friends(of caller: Caller) async throws -> [UserName] {
    try await read(as: caller) { snapshot in
      try snapshot.values(
        """
        SELECT a.friend FROM msgr_contacts a
        JOIN msgr_contacts b ON b.username = a.friend AND b.friend = a.username
        WHERE a.username = ? ORDER BY a.friend
        """, caller.name)
    }
  }

  /// Asks a user to become the caller's friend, or agrees to that user's asking.
  ///
  /// - Parameter wait: the seconds that the caller has to wait before it may ask somebody anew, or nil if it may now.
  /// - Returns: their relation, and the request that was stored, if one was.
  /// - Throws: `.forbidden` if there is no such user or the caller blocks it, `.tooMany`, `.tooManyContacts`,
  ///   ``FieldError`` if it is the caller, or as ``write(as:_:)``.
  func add(
    _ friend: UserName, by caller: Caller, wait: Int?
  ) async throws -> (Friendship, request: SendReceipt?) {
    let name = caller.name
    return try await write(as: caller, locking: [name, friend]) { transaction in
      guard name != friend else { throw FieldError(.addUser, "is oneself") }
      guard try exists(friend, transaction) else { throw RequestRefusal.forbidden }
      guard try !isBlocked(friend, by: name, transaction) else { throw RequestRefusal.forbidden }
      let hasAsked = try hasAdded(name, friend, transaction)
      let isAsked = try hasAdded(friend, name, transaction)
      if hasAsked { return (isAsked ? .friends : .requested, nil) }
      if try isBlocked(name, by: friend, transaction) { return (.requested, nil) }
      if !isAsked, let wait { throw RequestRefusal.tooMany(retryAfter: wait) }
      let contacts: Int? = try transaction.value(
        "SELECT count(*) FROM msgr_contacts WHERE username = ?", name)
      guard contacts ?? 0 < limits.contacts else { throw RequestRefusal.tooManyContacts }
      try transaction.execute("INSERT INTO msgr_contacts VALUES (?, ?)", name, friend)
      if isAsked { return (.friends, nil) }
      let request = InboxPost(
        sender: name, owner: name, recipient: friend, text: .addRequest(from: name),
        isAddRequest: true)
      guard let receipt = try deliver([request], transaction)[0] else {
        throw RequestRefusal.forbidden
      }
      return (.requested, receipt)
    }
  }

  /// Ends a friendship, or takes back or declines a request.
  func unfriend(_ friend: UserName, by caller: Caller) async throws {
    try await write(as: caller) { transaction in
      try transaction.execute(
        """
        DELETE FROM msgr_contacts
        WHERE (username = ?1 AND friend = ?2) OR (username = ?2 AND friend = ?1)
        """, caller.name, friend)
    }
  }

  /// Blocks a user, so that nothing of the user's reaches the caller any more.
  ///
  /// A request of the caller's that the user hasn't agreed to is taken back.
  ///
  /// - Throws: `.denied` if there is no such user, `.tooManyContacts`, or ``FieldError`` if it is the caller.
  func block(_ user: UserName, by caller: Caller) async throws {
    try await write(as: caller) { transaction in
      let name = caller.name
      guard name != user else { throw FieldError(.user, "is oneself") }
      // A publisher has no account, but its owner has.
      guard
        try exists(PublisherToken.owner(of: user) ?? user, transaction) || exists(user, transaction)
      else { throw RequestRefusal.denied(.noSuchUser) }
      if try !isBlocked(user, by: name, transaction) {
        let blocks: Int? = try transaction.value(
          "SELECT count(*) FROM msgr_blocks WHERE username = ?", name)
        guard blocks ?? 0 < limits.contacts else { throw RequestRefusal.tooManyContacts }
        try transaction.execute("INSERT INTO msgr_blocks VALUES (?, ?)", name, user)
      }
      if try !hasAdded(user, name, transaction) {
        try transaction.execute(
          "DELETE FROM msgr_contacts WHERE username = ? AND friend = ?", name, user)
      }
    }
  }

  /// Unblocks a user, or does nothing if the user wasn't blocked.
  func unblock(_ user: UserName, by caller: Caller) async throws {
    try await write(as: caller) { transaction in
      try transaction.execute(
        "DELETE FROM msgr_blocks WHERE username = ? AND blocked = ?", caller.name, user)
    }
  }

  private func hasAdded(
    _ name: UserName, _ friend: UserName, _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.exists(
      "SELECT 1 FROM msgr_contacts WHERE username = ? AND friend = ?", name, friend)
  }

  /// Returns whether a user is blocked by another.
  func isBlocked(
    _ user: UserName, by name: UserName, _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.exists(
      "SELECT 1 FROM msgr_blocks WHERE username = ? AND blocked = ?", name, user)
  }
}
