internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// A login that lasts, of a device or of a publisher.
struct Session: Sendable {
  /// The kinds of sessions, by the way to their devices.
  enum Kind: String, Sendable, Encodable {
    case apns, fcm, webpush, stream, publish, gotify
  }

  /// The token, or nil for a device whose token has ended; it is pushed to nevertheless.
  let token: TokenHash?
  /// The device, or nil for a publisher.
  let device: DeviceID?
  /// The user's name for the device or publisher; empty if none was given.
  let deviceName: String
  let created: Timestamp
  /// The last use, to the day.
  let used: Timestamp

  let kind: Kind

  /// The name by which the session can be ended: a part of a hash, which tells nothing of the token.
  var name: String {
    let digest = token?.digest ?? SHA256.hash(Array((device?.text ?? "").utf8))
    return Hex.encode(digest.bytes.prefix(8))
  }
}

extension MsgrStore {
  /// Returns the caller's sessions, the newest first.
  func sessions(of caller: Caller) async throws -> [Session] {
    try await read(as: caller) { snapshot in try sessions(of: caller.name, snapshot) }
  }

  /// Ends one of the caller's sessions, and unbinds its device if it has one.
  ///
  /// - Returns: the tokens that end with that, and the other sessions.
  /// - Throws: `.denied` if there is no such session.
  func sessions(
    of caller: Caller, ending name: String
  ) async throws -> (ended: [BoundToken], others: [Session]) {
    try await write(as: caller) { transaction in
      var sessions = try sessions(of: caller.name, transaction)
      guard let index = sessions.firstIndex(where: { $0.name == name }) else {
        throw RequestRefusal.denied(.noSuchSession)
      }
      let session = sessions.remove(at: index)
      if let device = session.device { return (try unbind(device, transaction), sessions) }
      try transaction.execute("DELETE FROM msgr_publishers WHERE hash = ?", session.token)
      return ([], sessions)
    }
  }

  func sessions(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [Session] {
    // As many as the account has devices, and as many publishers at most.
    try database.all(
      """
      SELECT t.hash, d.device_id, coalesce(t.device_name, ''),
        coalesce(t.created_at, d.bound_at) AS created, coalesce(t.used_at, d.bound_at),
        CASE WHEN d.endpoint IS NULL THEN 0 ELSE 1 END
      FROM msgr_devices d LEFT JOIN msgr_tokens t ON t.device_id = d.device_id AND t.used_at > ?2
      WHERE d.username = ?1
      UNION ALL SELECT hash, NULL, name, created_at, used_at, 0 FROM msgr_publishers
      WHERE username = ?1 AND used_at > ?2 ORDER BY created DESC
      """, name, now - limits.tokenAge
    ) { row in
      let device: DeviceID? = try row[1]
      let isWeb: Bool = try row[5]
      let kind: Session.Kind =
        switch device?.pushAddress?.kind {
        case .fcm: .fcm
        case nil: Self.kind(of: device, isWeb: isWeb)
        default: .apns
        }
      return Session(
        token: try row[0], device: device, deviceName: try row[2], created: try row[3],
        used: try row[4], kind: kind)
    }
  }

  /// Returns the kind of a session whose device, if it has one, has no address at a push service of phones.
  private static func kind(of device: DeviceID?, isWeb: Bool) -> Session.Kind {
    guard let device else { return .publish }
    if device.isGotify { return .gotify }
    return isWeb ? .webpush : .stream
  }

  /// Changes the caller's password, and ends every session but one.
  ///
  /// - Parameter token: the token of the session that stays, or nil if none does.
  /// - Returns: the tokens that end with that.
  func changePassword(
    to hash: PasswordHash, by caller: Caller, keeping token: TokenHash?
  ) async throws -> [BoundToken] {
    try await write(as: caller) { transaction in
      try transaction.execute(
        "UPDATE msgr_users SET password = ? WHERE username = ?", hash.text, caller.name)
      return try endSessions(of: caller.name, keeping: token, transaction)
    }
  }

  /// Ends the sessions of a user within a transaction, publishers' too, and unbinds their devices.
  ///
  /// Somebody who knew the password may have bound a device, which would be pushed every message.
  ///
  /// - Parameter token: the token of the session that stays, or nil if none does.
  /// - Returns: the tokens that end with that.
  func endSessions(
    of name: UserName, keeping token: TokenHash?, _ transaction: borrowing Transaction
  ) throws -> [BoundToken] {
    try transaction.execute("DELETE FROM msgr_publishers WHERE username = ?", name)
    let devices: [DeviceID] = try transaction.values(
      """
      SELECT device_id FROM msgr_devices d WHERE username = ?1 AND NOT EXISTS (
        SELECT 1 FROM msgr_tokens t WHERE t.device_id = d.device_id AND t.hash = ?2)
      """, name, token)
    return try devices.flatMap { try unbind($0, transaction) }
  }
}

extension MsgrStore {
  /// Binds a subscription to the caller's device, in place of an earlier one.
  ///
  /// - Throws: `.denied` if the caller didn't come by a token, or the device is a phone's.
  func subscribe(_ subscription: BrowserSubscription, _ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device else { throw RequestRefusal.denied(.noSessionToken) }
      guard !device.isPushable else { throw RequestRefusal.denied(.noBrowser) }
      try transaction.execute(
        """
        UPDATE msgr_devices SET endpoint = ?, p256dh = ?, auth = ?, is_declarative = ?
        WHERE device_id = ?
        """, subscription.way.endpoint.text, subscription.way.key, subscription.way.secret,
        subscription.isDeclarative, device)
      try pushes.readdress(Array(device.text.utf8), to: subscription.way.address, transaction)
    }
  }

  /// Ends the subscription of the caller's device, or does nothing if there is none.
  ///
  /// - Throws: `.denied` if the caller didn't come by a token.
  func unsubscribe(_ caller: Caller) async throws {
    try await write(as: caller) { transaction in
      guard let device = caller.device else { throw RequestRefusal.denied(.noSessionToken) }
      let endpoint: String?? = try transaction.value(
        "SELECT endpoint FROM msgr_devices WHERE device_id = ?", device)
      guard case .some(let endpoint?) = endpoint else { return }
      try unsubscribe(device, from: endpoint, transaction)
    }
  }

  /// Ends a subscription that a device still has, and its pushes, within a transaction.
  func unsubscribe(
    _ device: DeviceID, from endpoint: String, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      UPDATE msgr_devices SET endpoint = NULL, p256dh = NULL, auth = NULL
      WHERE device_id = ? AND endpoint = ?
      """, device, endpoint)
    guard transaction.changes > 0 else { return }
    try pushes.drop(Array(device.text.utf8), evenLeased: true, transaction)
  }
}
