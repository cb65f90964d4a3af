internal import Cryptography
internal import MsgrProtocol
internal import Storage
internal import Time

/// The state of the outbox.
struct OutboxState: Sendable {
  /// The number of pushes, leased ones included.
  var length = 0
  /// The moment at which the oldest push was queued.
  var oldest: Timestamp?
}

extension MsgrStore {
  /// The time that a push is leased, which is longer than any attempt. After a crash the push is tried again then.
  static let pushLease = Duration.seconds(15)
  /// The most pushes that wait for a browser: its push service is its user's choice, and may never take any.
  static let webPushes = 100

  /// Queues a push, within the transaction that stores its message.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - device: a device of its recipient.
  ///   - badge: the number of messages that the recipient has not seen, this one included.
  ///   - kind: the kind of the device's push service.
  ///   - isHeld: whether the device gets the message by its stream, so that it is pushed only if the stream is not known
  ///     to have delivered it for a while.
  func enqueuePush(
    of message: Message, to device: DeviceID, badge: Int, by kind: PushKind, isHeld: Bool,
    _ transaction: borrowing Transaction
  ) throws {
    let now = message.time
    try transaction.execute(
      """
      INSERT INTO push_outbox (
        device_id, message_id, apns_id, sender, text, is_add_request, badge, created_at, expires_at,
        due_at, title, priority, link, provider, is_next)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
        CASE WHEN EXISTS (SELECT 1 FROM push_outbox WHERE device_id = ?1) THEN 0 ELSE 1 END)
      """, device, message.id, newPushID(), message.sender, message.text,
      message.isAddRequest, badge, now, now + limits.messageAge,
      isHeld ? now + limits.pushHold : now, message.extras.title, message.extras.priority,
      message.extras.link, kind)
  }

  /// Drops the oldest pushes to a device if more wait than an inbox keeps messages, or than ``webPushes``, within a
  /// transaction.
  ///
  /// To a phone that can only be if the inbox is full, and happens if the push service takes none for long.
  func dropOldPushes(
    to device: DeviceID, by kind: PushKind, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      DELETE FROM push_outbox WHERE device_id = ?1 AND lease_owner IS NULL AND id <= (
        SELECT id FROM push_outbox WHERE device_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
      """, device, kind == .web ? webPushLimit : limits.inbox)
  }

  /// The most pushes that wait for a browser.
  var webPushLimit: Int { min(limits.inbox, Self.webPushes) }

  /// A random UUID (RFC 9562 section 5.4) in lower case.
  private func newPushID() -> String {
    var bytes = randomBytes(16)
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(bytes[$0]) }
      .joined(separator: "-")
  }

  /// Removes the pushes that a stream has made needless, within a transaction.
  ///
  /// - Parameters:
  ///   - device: the device of the stream.
  ///   - start: the message after which the stream began.
  ///   - confirmed: the last message that the device is known to have.
  func dropPushes(
    to device: DeviceID, after start: MessageID, confirmed: MessageID,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM push_outbox WHERE device_id = ? AND message_id > ? AND message_id <= ?",
      device, start, confirmed)
  }

  /// Makes held pushes due that no stream of the device brings, within a transaction.
  ///
  /// - Parameters:
  ///   - device: the device.
  ///   - last: the last message whose push is made due.
  func releasePushes(
    to device: DeviceID, upTo last: MessageID, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      // A push that waits after a failure is not held, and goes on waiting.
      """
      UPDATE push_outbox SET due_at = ?1
      WHERE device_id = ?2 AND message_id <= ?3 AND attempts = 0 AND due_at > ?1
      """, now, device, last)
  }

  /// Leases the pushes that are due, those longest due first, and of each device the oldest only.
  ///
  /// - Parameters:
  ///   - count: the most pushes.
  ///   - owner: the random name of the outbox that leases them.
  ///   - kind: the kind of push services whose pushes are leased.
  /// - Returns: the pushes, and the moment at which the next one is due that is not leased, if there is one.
  func leasePushes(
    atMost count: Int, owner: [UInt8], of kind: PushKind = .apns
  ) async throws -> (pushes: [Push], next: Timestamp?) {
    let now = now
    let next = try await store.read { snapshot in try nextPush(at: now, kind, snapshot) }
    guard let next, next <= now else { return ([], next) }
    return try await store.write(isolation: .rowLocks) { transaction in
      // Without waiting for other nodes that lease pushes.
      var pushes = try transaction.all(
        """
        UPDATE push_outbox SET lease_owner = ?1, lease_end = ?2, attempts = attempts + 1
        WHERE id IN (
          SELECT id FROM push_outbox
          WHERE is_next = 1 AND provider = ?5 AND due_at <= ?3 AND lease_end <= ?3
          ORDER BY due_at LIMIT ?4 /*postgresql FOR UPDATE SKIP LOCKED */)
        RETURNING id, device_id, apns_id, message_id, sender, text, is_add_request, badge,
          expires_at, attempts, title, priority, link, created_at
        """, owner, now + Self.pushLease, now, count, kind
      ) { row in
        Push(
          id: try row[0], device: try row[1], apnsID: try row[2], message: try row[3],
          sender: try row[4], text: try row[5], isAddRequest: try row[6], badge: try row[7],
          expires: try row[8], attempts: try row[9], created: try row[13],
          extras: .init(title: try row[10], priority: try row[11], link: try row[12]))
      }
      if kind == .web {
        for index in pushes.indices {
          pushes[index].subscription = try subscription(of: pushes[index].device, transaction)
        }
      }
      return (pushes, try nextPush(at: now, kind, transaction))
    }
  }

  /// Makes the lease of a push as long as it was at first, for another attempt.
  ///
  /// - Returns: false if the lease was lost.
  func renewLease(of push: Push, owner: [UInt8]) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "UPDATE push_outbox SET lease_end = ? WHERE id = ? AND lease_owner = ?",
        now + Self.pushLease, push.id, owner)
      return transaction.changes == 1
    }
  }

  private func nextPush(
    at now: Timestamp, _ kind: PushKind, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Timestamp? {
    try database.one(
      """
      SELECT due_at FROM push_outbox WHERE is_next = 1 AND provider = ?2 AND lease_end <= ?1
      ORDER BY due_at LIMIT 1
      """, now, kind
    ) { try $0[0] }
  }

  /// Returns the state of the outbox, which is counted and so not to be asked for all the time.
  func outboxState() async throws -> OutboxState {
    try await store.read { snapshot in
      OutboxState(
        length: try snapshot.one("SELECT count(*) FROM push_outbox") { try $0[0] } ?? 0,
        oldest: try snapshot.one("SELECT created_at FROM push_outbox ORDER BY id LIMIT 1") {
          try $0[0]
        })
    }
  }

  /// Ends the lease of a push, or does nothing if the lease was lost.
  ///
  /// - Parameters:
  ///   - push: the push.
  ///   - owner: the name of the outbox that leased it.
  ///   - settlement: the end of the lease.
  ///   - target: the push service.
  func settle(
    _ push: Push, owner: [UInt8], _ settlement: PushSettlement, target: String
  ) async throws {
    if settlement == .delivered || settlement == .dropped {
      return try await store.perform(
        SettleOperation.Input(
          push: push.id, owner: owner, target: settlement == .delivered ? target : nil),
        by: SettleOperation.self)
    }
    try await store.write(isolation: .rowLocks) { transaction in
      try deliveries.lock(push.device, transaction)
      if case .retried(let time) = settlement {
        return try transaction.execute(
          """
          UPDATE push_outbox SET due_at = ?, lease_owner = NULL, lease_end = 0
          WHERE id = ? AND lease_owner = ?
          """, time, push.id, owner)
      }
      try transaction.execute(
        "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", push.id, owner)
      switch settlement {
      case .unbound(let moment):
        // The other pushes to the device go with it.
        try transaction.execute(
          "DELETE FROM msgr_devices WHERE device_id = ? AND bound_at < ?", push.device,
          moment ?? Timestamp(milliseconds: .max))
      case .unsubscribed:
        guard let endpoint = push.subscription?.endpoint.text else { break }
        try unsubscribe(push.device, from: endpoint, transaction)
      case .delivered, .dropped, .retried: break
      }
    }
  }

  /// Returns whether a push service has ever taken a push.
  func hasProven(_ target: String) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.one("SELECT 1 FROM push_targets WHERE target = ?", target) { _ in true } ?? false
    }
  }
}
