internal import Cryptography
internal import MsgrMessages
internal import Storage
internal import Time

/// A login that lasts: the token of a device, or of a publisher.
struct Session: Sendable {
  /// The kinds of sessions, by what reaches their devices.
  enum Kind: String, Sendable, Encodable {
    case apns, webpush, stream, publish
  }

  let token: TokenHash
  /// The device, or nil for a publisher.
  let device: DeviceID?
  /// The user's name for the device or publisher; empty if none was given.
  let deviceName: String
  let created: Timestamp
  /// The last use, to the day.
  let used: Timestamp

  let kind: Kind

  /// The name that the session is ended by: a part of the hash, from which no token follows.
  var name: String { Hex.encode(token.digest.bytes.prefix(8)) }
}

extension MsgrStore {
  /// Returns the caller's sessions, the newest first.
  func sessions(of caller: Caller) async throws -> [Session] {
    try await read(as: caller) { snapshot in try sessions(of: caller.name, snapshot) }
  }

  private func sessions(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [Session] {
    // As many as the account has devices, and as many publishers at most.
    try database.all(
      """
      SELECT t.hash, t.device_id, t.device_name, t.created_at AS created, t.used_at,
        d.endpoint IS NOT NULL
      FROM msgr_devices d JOIN msgr_tokens t USING (device_id)
      WHERE d.username = ?1 AND t.used_at > ?2
      UNION ALL
      SELECT hash, NULL, name, created_at, used_at, 0 FROM msgr_publishers WHERE username = ?1
      ORDER BY created DESC
      """, name, now - limits.tokenAge
    ) { row in
      let device: DeviceID? = try row[1]
      let isWeb: Bool = try row[5]
      let kind: Session.Kind =
        device.map { $0.isPushable ? .apns : isWeb ? .webpush : .stream } ?? .publish
      return Session(
        token: try row[0], device: device, deviceName: try row[2], created: try row[3],
        used: try row[4], kind: kind)
    }
  }

  /// Ends one of the caller's sessions, and unbinds its device if it has one.
  ///
  /// - Returns: the tokens that end with that.
  /// - Throws: `.forbidden` if there is no such session.
  func end(_ session: String, of caller: Caller) async throws -> [TokenHash] {
    try await write(as: caller) { transaction in
      let sessions = try sessions(of: caller.name, transaction)
      guard let found = sessions.first(where: { $0.name == session }) else {
        throw RequestRefusal.forbidden
      }
      if let device = found.device { return try unbind(device, transaction) }
      try transaction.execute("DELETE FROM msgr_publishers WHERE hash = ?", found.token)
      return []
    }
  }

  /// Changes the caller's password, and ends every session but one.
  ///
  /// - Parameters:
  ///   - hash: the hash of the new password.
  ///   - caller: the caller, who has just given the old one.
  ///   - token: the token of the session that stays, or nil if none does.
  /// - Returns: the tokens that end with that. Their devices stay bound, as pushes are no secrets of the password's.
  func changePassword(
    to hash: PasswordHash, by caller: Caller, keeping token: TokenHash?
  ) async throws -> [TokenHash] {
    try await write(as: caller) { transaction in
      try transaction.execute(
        "UPDATE msgr_users SET password = ? WHERE username = ?", hash.text, caller.name)
      return try transaction.all(
        """
        DELETE FROM msgr_tokens WHERE hash <> ? AND device_id IN
          (SELECT device_id FROM msgr_devices WHERE username = ?)
        RETURNING hash
        """, token ?? .none, caller.name
      ) { try $0[0] }
    }
  }
}
