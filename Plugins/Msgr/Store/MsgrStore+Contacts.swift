internal import Storage

/// What two users are to each other after one has added the other.
enum Friendship: String, Sendable {
  case friends
  case requested
}

extension MsgrStore {
  /// The names of the caller's friends, sorted by their bytes.
  func friends(of caller: Caller) async throws -> Outcome<[UserName]> {
    try await read(as: caller) { snapshot, identity in
      try snapshot.all(
        """
        SELECT a.friend FROM msgr_contacts a
        JOIN msgr_contacts b ON b.username = a.friend AND b.friend = a.username
        WHERE a.username = ? ORDER BY a.friend
        """, identity.name
      ) { try $0[0] }
    }
  }

  /// Asks a user to become the caller's friend, or agrees to that user's asking.
  ///
  /// - Parameters:
  ///   - friend: the user.
  ///   - mayAsk: takes the caller before a first request is stored; throws to refuse it.
  /// - Returns: what they are now, and whether the user has a new message.
  /// - Throws: `.forbidden` if there is no such user, or the caller blocks it; ``FieldError`` if it
  ///   is the caller.
  func add(
    _ friend: UserName, by caller: Caller, isStreaming: @escaping @Sendable (DeviceID) -> Bool,
    mayAsk: @escaping @Sendable (UserName) throws -> Void
  ) async throws -> Outcome<(Friendship, isNew: Bool)> {
    try await write(as: caller) { transaction, identity in
      let name = identity.name
      guard name != friend else { throw FieldError(.addUser, "is oneself") }
      guard try exists(friend, transaction), try !isBlocked(friend, by: name, transaction) else {
        throw Refusal.forbidden
      }
      let hasAsked = try hasAdded(name, friend, transaction)
      let isAsked = try hasAdded(friend, name, transaction)
      if hasAsked { return (isAsked ? .friends : .requested, false) }
      if try isBlocked(name, by: friend, transaction) { return (.requested, false) }
      if !isAsked { try mayAsk(name) }
      try transaction.execute("INSERT INTO msgr_contacts VALUES (?, ?)", name, friend)
      if isAsked { return (.friends, false) }
      guard let place = try takePlace(in: friend, for: name, transaction) else {
        throw Refusal.forbidden
      }
      _ = try put(
        .addRequest(from: name), from: name, to: friend, place, isAddRequest: true,
        isStreaming: isStreaming, transaction)
      return (.requested, true)
    }
  }

  /// Ends a friendship, or takes back or declines a request.
  func unfriend(_ friend: UserName, by caller: Caller) async throws -> Outcome<Void> {
    try await write(as: caller) { transaction, identity in
      try transaction.execute(
        """
        DELETE FROM msgr_contacts
        WHERE (username = ?1 AND friend = ?2) OR (username = ?2 AND friend = ?1)
        """, identity.name, friend)
    }
  }

  /// Lets nothing of a user through to the caller any more.
  ///
  /// A request of the caller's that the user hasn't agreed to is taken back.
  ///
  /// - Throws: `.forbidden` if there is no such user; ``FieldError`` if it is the caller.
  func block(_ user: UserName, by caller: Caller) async throws -> Outcome<Void> {
    try await write(as: caller) { transaction, identity in
      let name = identity.name
      guard name != user else { throw FieldError(.user, "is oneself") }
      guard try exists(user, transaction) else { throw Refusal.forbidden }
      try transaction.execute("INSERT OR IGNORE INTO msgr_blocks VALUES (?, ?)", name, user)
      if try !hasAdded(user, name, transaction) {
        try transaction.execute(
          "DELETE FROM msgr_contacts WHERE username = ? AND friend = ?", name, user)
      }
    }
  }

  /// Lets a user through again; one that wasn't blocked is.
  func unblock(_ user: UserName, by caller: Caller) async throws -> Outcome<Void> {
    try await write(as: caller) { transaction, identity in
      try transaction.execute(
        "DELETE FROM msgr_blocks WHERE username = ? AND blocked = ?", identity.name, user)
    }
  }

  private func hasAdded(
    _ name: UserName, _ friend: UserName, _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.one(
      "SELECT 1 FROM msgr_contacts WHERE username = ? AND friend = ?", name, friend
    ) { _ in true } ?? false
  }

  /// Whether a user lets nothing of another through.
  func isBlocked(
    _ user: UserName, by name: UserName, _ transaction: borrowing Transaction
  ) throws -> Bool {
    try transaction.one(
      "SELECT 1 FROM msgr_blocks WHERE username = ? AND blocked = ?", name, user
    ) { _ in true } ?? false
  }
}
