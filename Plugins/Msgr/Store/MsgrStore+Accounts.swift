internal import Cryptography
internal import ServiceKit
internal import Storage
internal import Platform

/// A device at a login, and the user's name for it.
struct DeviceLogin: Sendable {
  let device: DeviceID
  /// The name, empty if none was given.
  var name = ""
}

/// A login that is in the store.
struct StoredLogin: Sendable {
  /// The name of the account.
  let name: UserName
  /// The tokens that end with it.
  let ended: [BoundToken]
  /// Up to where the user has read before.
  let seen: MsgrMessageID
}

/// An account in the operator's list.
struct AccountSummary: Sendable, Encodable {
  let name: String
  let created: String
  let devices: Int
  let messages: Int
  /// Whether the operator has disabled it.
  let isDisabled: Bool
}

extension MsgrStore {
  /// Makes an account.
  ///
  /// - Parameters:
  ///   - invitation: an invitation that is used once, if one is needed.
  ///   - device: a device that is bound to the account, and its token.
  /// - Returns: the tokens that end because the device was bound to another account.
  /// - Throws: `.forbidden` if the name is taken, `.badInvitation`.
  func register(
    _ name: UserName, _ hash: PasswordHash, site: String? = nil,
    invitation: InvitationHash? = nil, device: (DeviceLogin, TokenHash)?
  ) async throws -> [BoundToken] {
    try await store.write { transaction in
      try add(name, hash: hash.text, site: site, invitation, transaction)
      guard let (device, token) = device else { return [] }
      return try bind(device, token, to: name, transaction)
    }
  }

  /// Makes an account within a transaction.
  func add(
    _ name: UserName, hash: String, site: String?, _ invitation: InvitationHash?,
    _ transaction: borrowing Transaction
  ) throws {
    guard try !exists(name, transaction) else { throw RequestRefusal.forbidden }
    if let invitation { try use(invitation, transaction) }
    try transaction.execute(
      "INSERT INTO msgr_users (username, password, created_at, site) VALUES (?, ?, ?, ?)", name,
      hash, now, site)
  }

  /// Binds a device to the caller's account, so that it leaves any other account.
  func login(_ caller: Caller, device: DeviceLogin, token: TokenHash) async throws -> StoredLogin {
    try await write(as: caller) { transaction in
      try login(caller.name, device, token, transaction)
    }
  }

  /// Binds a device to an account.
  func login(
    _ name: UserName, _ device: DeviceLogin, _ token: TokenHash,
    _ transaction: borrowing Transaction
  ) throws -> StoredLogin {
    StoredLogin(
      name: name,
      ended: try bind(device, token, to: name, transaction),
      seen: try seen(by: name, transaction))
  }

  /// Binds a device to an account within a transaction.
  ///
  /// - Returns: the tokens that end with that.
  func bind(
    _ login: DeviceLogin, _ token: TokenHash, to name: UserName,
    _ transaction: borrowing Transaction
  ) throws -> [BoundToken] {
    let device = login.device.owned(by: name)
    var ended: [BoundToken] = try transaction.all(
      "DELETE FROM msgr_tokens WHERE device_id = ? RETURNING hash, username, device_id", device,
      transform: BoundToken.init)
    // The pushes to the device go with another account's binding.
    try transaction.execute(
      "DELETE FROM msgr_devices WHERE device_id = ? AND username <> ?", device, name)
    try transaction.execute(
      """
      INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, ?)
      ON CONFLICT (device_id) DO UPDATE SET bound_at = excluded.bound_at
      """, device, name, now)
    try transaction.execute(
      """
      INSERT INTO msgr_tokens (hash, device_id, username, used_at, created_at, device_name)
      VALUES (?1, ?2, ?3, ?4, ?4, ?5)
      """, token, device, name, now, login.name)
    let others: [DeviceID] = try transaction.values(
      """
      SELECT device_id FROM msgr_devices WHERE username = ? AND device_id <> ?
      ORDER BY bound_at DESC
      """, name, device)
    for device in others.dropFirst(limits.devices - 1) { ended += try unbind(device, transaction) }
    return ended
  }

  /// Takes a device from its account.
  ///
  /// - Returns: the tokens that end with it.
  func unbind(_ device: DeviceID, _ transaction: borrowing Transaction) throws -> [BoundToken] {
    let ended: [BoundToken] = try transaction.all(
      "DELETE FROM msgr_tokens WHERE device_id = ? RETURNING hash, username, device_id", device,
      transform: BoundToken.init)
    try transaction.execute("DELETE FROM msgr_devices WHERE device_id = ?", device)
    return ended
  }

  /// Ends the caller's token and unbinds its device.
  ///
  /// - Returns: the tokens that end with that.
  /// - Throws: `.denied` if the caller didn't come by a token.
  func logout(_ caller: Caller) async throws -> [BoundToken] {
    try await write(as: caller) { transaction in
      guard let device = caller.device else { throw RequestRefusal.denied(.noSessionToken) }
      return try unbind(device, transaction)
    }
  }

  /// Deletes the caller's account and everything that belongs to it.
  ///
  /// - Returns: the tokens that end with it.
  func delete(_ caller: Caller) async throws -> [BoundToken] {
    let name = caller.name
    // The caller is confirmed once, as a wallet's proof is good for one request.
    let ended = try await write(as: caller) { transaction -> [BoundToken]? in
      try emptyTopics(of: name, transaction) ? nil : remove(name, transaction)
    }
    if let ended { return ended }
    return try await removeInPieces(name) ?? []
  }

  /// Deletes an account.
  ///
  /// - Throws: `.forbidden` if there is no such account.
  func remove(_ name: UserName) async throws {
    guard try await removeInPieces(name) != nil else { throw RequestRefusal.forbidden }
  }

  /// Deletes the messages of an account's topics, some at a time, and then the account.
  ///
  /// - Returns: the tokens that end with it; nil if there is no such account.
  private func removeInPieces(_ name: UserName) async throws -> [BoundToken]? {
    while try await store.write({ try emptyTopics(of: name, $0) }) {}
    return try await store.write { transaction in
      guard try exists(name, transaction) else { return nil }
      return try remove(name, transaction)
    }
  }

  /// The messages of topics that are deleted in one transaction.
  static let emptiedAtOnce = 500

  /// Deletes some messages of an account's topics, before the account: all at once they would let everybody else wait.
  ///
  /// - Returns: whether there may be more.
  func emptyTopics(of name: UserName, _ transaction: borrowing Transaction) throws -> Bool {
    try transaction.execute(
      """
      DELETE FROM msgr_topic_entries WHERE number IN (
        SELECT e.number FROM msgr_topics t JOIN msgr_topic_entries e ON e.topic = t.topic
        WHERE t.owner = ? LIMIT ? /*postgresql FOR NO KEY UPDATE OF t */)
      """, name, Self.emptiedAtOnce)
    return transaction.changes == Self.emptiedAtOnce
  }

  private func remove(
    _ name: UserName, _ transaction: borrowing Transaction
  ) throws -> [BoundToken] {
    let ended: [BoundToken] = try transaction.all(
      """
      SELECT hash, d.username, device_id FROM msgr_tokens JOIN msgr_devices d USING (device_id)
      WHERE d.username = ?
      """, name, transform: BoundToken.init)
    try transaction.execute("DELETE FROM msgr_users WHERE username = ?", name)
    return ended
  }

  /// Changes an account's password, and ends its sessions, as they may be in wrong hands as well. A disabled account has the
  /// password once it is enabled.
  ///
  /// - Throws: `.forbidden` if there is no such account.
  func setPassword(_ hash: PasswordHash, of name: UserName) async throws {
    try await store.write { transaction in
      guard try exists(name, transaction) else { throw RequestRefusal.forbidden }
      try transaction.execute(
        """
        UPDATE msgr_users SET
          password = CASE WHEN disabled_password IS NULL THEN ?1 ELSE password END,
          disabled_password = CASE WHEN disabled_password IS NULL THEN NULL ELSE ?1 END
        WHERE username = ?2
        """, hash.text, name)
      _ = try endSessions(of: name, keeping: nil, transaction)
    }
  }

  /// Replaces a hash by one of the same password but another cost, if the old one is still stored.
  func replace(_ old: PasswordHash, by new: PasswordHash, of name: UserName) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_users SET password = ? WHERE username = ? AND password = ?",
        new.text, name, old.text)
    }
  }

  /// Returns the tokens that have ended, of some that were good.
  func ended(of tokens: [TokenHash]) async throws -> [TokenHash] {
    let limit = now - limits.tokenAge
    return try await store.read { snapshot in
      try tokens.filter { token in
        try !snapshot.exists(
          "SELECT 1 FROM msgr_tokens WHERE hash = ? AND used_at > ?", token, limit)
      }
    }
  }

  /// Records that tokens are in use, if that was last recorded longer than a day ago.
  func recordUse(of tokens: [TokenHash]) async throws {
    let now = now
    try await store.write { transaction in
      for token in tokens {
        try transaction.execute(
          "UPDATE msgr_tokens SET used_at = ? WHERE hash = ? AND used_at < ?",
          now, token, now - Self.tokenUseStep)
      }
    }
  }

  /// Returns all accounts, sorted by name.
  func accounts() async throws -> [AccountSummary] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT username, created_at,
          (SELECT count(*) FROM msgr_devices d WHERE d.username = u.username),
          (SELECT count(*) FROM msgr_messages WHERE recipient = u.username),
          disabled_password IS NOT NULL
        FROM msgr_users u ORDER BY username
        """
      ) { row in
        AccountSummary(
          name: try row[0], created: (try row[1] as Timestamp).description,
          devices: try row[2], messages: try row[3], isDisabled: try row[4])
      }
    }
  }
}

extension BoundToken {
  /// Reads a row of hash, name and device.
  fileprivate init(_ row: borrowing Row) throws {
    self.init(hash: try row[0], name: try row[1], device: try row[2])
  }
}
