internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// A push address, and whose messages wake its device.
struct WakeBinding: Hashable, Sendable {
  let address: PushAddress
  /// The bytes that come back in each wake.
  let tag: [UInt8]
  /// True if nobody wakes the device but the keys; else everybody but they.
  let isChosen: Bool
  /// The keys, one behind the other.
  let keys: [UInt8]
}

/// The push addresses of devices and their wakes, in transactions.
struct Wakes: Sendable {
  /// The time for which a wake is tried.
  static let life = Duration.seconds(28 * 86_400)

  let queue: PushQueue
  let limits: WakeLimits
  let clock: @Sendable () -> Timestamp
  /// Takes the number of wakes that were queued, and of those that went, and whether one may be due, once that is committed.
  let report: @Sendable (_ queued: Int, _ cancelled: Int, _ isDue: Bool) -> Void

  /// A ninetieth of the age in milliseconds: rounded down to it, a moment rarely changes in its index.
  var step: Int64 { limits.age.milliseconds / 90 + 1 }

  /// Reads the devices of users that may be woken, and queues the wakes for news, in the transaction that queues the messages.
  ///
  /// - Returns: the number of wakes.
  func queue(_ news: [WakePlan.News], _ transaction: borrowing Transaction) throws -> Int {
    let now = clock()
    var devices: [WakePlan.Device] = []
    for owner in Set(news.map(\.user.rawValue)).sorted() {
      devices += try transaction.all(
        """
        SELECT a.owner, a.device, a.woken, a.woken_at, a.is_waiting, a.is_open, a.outbox, a.kind,
          a.address, a.tag, a.flags, a.keys
        FROM apptimist_sleepers a WHERE a.owner = ? ORDER BY a.device
        """, owner
      ) { try WakePlan.Device($0) }
    }
    let plan = WakePlan(news, devices, kinds: queue.kinds, at: now, limits)
    for renewal in plan.renewals {
      try transaction.execute(
        """
        UPDATE push_outbox SET position = ? WHERE service = ? AND device = ? AND lease_owner IS NULL
        """, renewal.position, queue.service, renewal.outbox)
    }
    for wake in plan.wakes {
      let device = wake.device
      try transaction.execute(
        """
        UPDATE apptimist_addresses SET woken = ?, before_at = woken_at, woken_at = ?
        WHERE owner = ? AND device = ?
        """, wake.first, wake.due, device.owner, device.device)
      try queue.queue(
        device.tag, to: device.address, of: device.outbox, for: device.owner.bytes,
        collapseKey: Hex.encode(device.tag), position: wake.last.rawValue, created: now,
        due: wake.due, expires: now + Self.life, transaction)
    }
    return plan.wakes.count
  }

  /// Records that a device shows itself: a wake that isn't under way goes with the newest news that the device has.
  ///
  /// - Parameter position: the news that the device has; by default all that is queued.
  /// - Returns: the number of wakes that go.
  func show(
    upTo position: MailboxPosition = MailboxPosition(rawValue: .max), _ device: Version2.DeviceID,
    of user: AccountNumber, _ transaction: borrowing Transaction
  ) throws -> Int {
    let outbox: [UInt8]? = try transaction.value(
      """
      UPDATE apptimist_addresses SET shown_at = ?1, noted_at = ?1 - ?1 % ?2,
        woken = CASE WHEN woken <= ?3 THEN 0 ELSE woken END
      WHERE owner = ?4 AND device = ?5 RETURNING outbox
      """, clock(), step, position, user, device)
    guard let outbox else { return 0 }
    let cancelled = try queue.drop(outbox, upTo: position.rawValue, transaction)
    guard cancelled > 0 else { return 0 }
    // As if it had never been queued.
    try transaction.execute(
      "UPDATE apptimist_addresses SET woken_at = before_at WHERE owner = ? AND device = ?", user,
      device)
    return cancelled
  }

  /// Makes the wake of a device due that is held, if the device's last session has ended.
  ///
  /// - Returns: whether there was one.
  func release(
    _ device: Version2.DeviceID, of user: AccountNumber, _ transaction: borrowing Transaction
  ) throws -> Bool {
    let held = try transaction.one(
      """
      UPDATE apptimist_addresses
      SET woken_at = CASE WHEN before_at + ?1 > ?2 THEN before_at + ?1 ELSE ?2 END
      WHERE owner = ?3 AND device = ?4 AND woken_at > ?2 AND woken_at > before_at + ?1
        AND NOT EXISTS (SELECT 1 FROM apptimist_sessions s WHERE s.owner = ?3 AND s.device = ?4)
      RETURNING outbox, woken_at
      """, limits.interval.milliseconds, clock(), user, device
    ) { row in (outbox: try row[0] as [UInt8], due: try row[1] as Timestamp) }
    guard let held else { return false }
    try queue.release(held.outbox, at: held.due, transaction)
    return true
  }

  /// Binds an address to a user's device instead of the former one. What was queued before is no news for it.
  func bind(
    _ binding: WakeBinding, to device: Version2.DeviceID, of user: AccountNumber,
    _ transaction: borrowing Transaction
  ) throws {
    let former = try transaction.one(
      "SELECT kind, address, tag FROM apptimist_addresses WHERE owner = ? AND device = ?", user,
      device
    ) { row in
      (address: PushAddress(stored: try row[0], try row[1]), tag: try row[2] as [UInt8])
    }
    _ = try show(device, of: user, transaction)
    if let former, former != (binding.address, binding.tag) {
      // One that is under way would come back to the former address.
      try queue.drop(user.bytes + device.bytes, evenLeased: true, transaction)
    }
    try transaction.execute(
      """
      INSERT INTO apptimist_addresses
        (owner, device, outbox, kind, address, tag, flags, keys, bound_at, shown_at, noted_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?9 - ?9 % ?10)
      ON CONFLICT (owner, device) DO UPDATE SET kind = excluded.kind, address = excluded.address,
        tag = excluded.tag, flags = excluded.flags, keys = excluded.keys,
        bound_at = excluded.bound_at
      """, user, device, user.bytes + device.bytes, binding.address.kind,
      binding.address.bytes, binding.tag, binding.isChosen, binding.keys, clock(), step)
    try transaction.execute(
      """
      DELETE FROM apptimist_addresses WHERE owner = ?1 AND device IN (
        SELECT device FROM apptimist_addresses WHERE owner = ?1 AND device <> ?2
        ORDER BY shown_at DESC, device LIMIT 1000 OFFSET ?3)
      """, user, device, limits.devices - 1)
  }
}
