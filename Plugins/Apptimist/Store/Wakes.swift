internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// The limits of wakes.
struct WakeLimits: Sendable {
  /// The time between two wakes of a device.
  var interval = Duration.seconds(10)
  /// The time for which a device with an open session may acknowledge before it is woken.
  var hold = Duration.seconds(15)
  /// The time for which a wake that isn't answered stands for later news too.
  var again = Duration.seconds(900)
  /// The most devices of a user that have an address.
  var devices = 16
  /// The time after which a device that hasn't shown itself has no address any more.
  var age = Duration.seconds(90 * 86_400)
}

/// A device that pushes wake, as it is when news come (page "Wakes").
struct SleepingDevice: Hashable {
  /// The news that the last wake was queued for, or zero if the device has shown itself that far.
  let woken: MailboxPosition
  /// The moment from which the last wake was due.
  let wokenAt: Timestamp
  /// True if a wake waits that isn't under way.
  let isWaiting: Bool
  /// True if a session of the device is open at any node.
  let isOpen: Bool

  /// Decides about a wake for news: one at most in a burst, and none too soon after another.
  ///
  /// - Returns: the moment from which it is due, or nil if there is to be none.
  func wake(at now: Timestamp, _ limits: WakeLimits) -> Timestamp? {
    // A moment further ahead was recorded before the clock was set back.
    let isInTime = wokenAt <= now + limits.hold + limits.interval
    let wokenAt = isInTime ? wokenAt : Timestamp(milliseconds: 0)
    guard !isWaiting, woken == .zero || now >= wokenAt + limits.again else { return nil }
    return max(isOpen ? now + limits.hold : now, wokenAt + limits.interval)
  }
}

/// The wakes for the messages of a batch: they follow from the messages and from the devices as they are, for both engines.
struct WakePlan {
  /// A message that its recipient hasn't sent.
  struct News {
    let user: AccountNumber
    let position: MailboxPosition
    /// The keys of whom the message is for and from, by which devices choose.
    let to: ArraySlice<UInt8>
    let from: ArraySlice<UInt8>

    init(of copy: MessageCopy, at position: MailboxPosition, for user: AccountNumber) {
      self.user = user
      self.position = position
      to = copy.header.dropFirst(42).prefix(32)
      from = copy.header.dropFirst(74).prefix(32)
    }
  }

  /// A device that has a push address.
  struct Device {
    let owner: AccountNumber
    let device: [UInt8]
    let state: SleepingDevice
    /// The outbox's name for the device.
    let outbox: [UInt8]
    let address: PushAddress
    let tag: [UInt8]
    let isChosen: Bool
    let keys: [UInt8]

    /// Reads a row of `apptimist_sleepers`.
    init(_ row: borrowing Row) throws {
      owner = try row[0]
      device = try row[1]
      state = SleepingDevice(
        woken: try row[2], wokenAt: try row[3], isWaiting: try row[4], isOpen: try row[5])
      outbox = try row[6]
      address = PushAddress(stored: try row[7], try row[8])
      tag = try row[9]
      isChosen = try row[10]
      keys = try row[11]
    }

    /// Returns whether the device wants to be woken for a message.
    func wants(_ news: News) -> Bool {
      guard news.user == owner else { return false }
      let isNamed = stride(from: 0, to: keys.count, by: 32).contains { start in
        let key = keys[start..<min(start + 32, keys.count)]
        return key.elementsEqual(news.to) || key.elementsEqual(news.from)
      }
      return isNamed == isChosen
    }
  }

  /// A wake that is queued.
  struct Wake {
    let device: Device
    /// The first and the last message that it is for.
    let first: MailboxPosition
    let last: MailboxPosition
    let due: Timestamp
  }

  /// A wake that waits already, and stands for later messages too.
  struct Renewal {
    let outbox: [UInt8]
    let position: MailboxPosition
  }

  private(set) var wakes: [Wake] = []
  private(set) var renewals: [Renewal] = []

  /// Decides about the wakes for messages, of which each user's stand in order.
  ///
  /// - Parameter kinds: the kinds of addresses that are served.
  init(
    _ news: [News], _ devices: [Device], kinds: Set<PushKind>, at now: Timestamp,
    _ limits: WakeLimits
  ) {
    for device in devices where kinds.contains(device.address.kind) {
      let wanted = news.filter(device.wants)
      guard let first = wanted.first, let last = wanted.last else { continue }
      if device.state.isWaiting {
        renewals.append(Renewal(outbox: device.outbox, position: last.position))
      } else if let due = device.state.wake(at: now, limits) {
        wakes.append(
          Wake(device: device, first: first.position, last: last.position, due: due))
      }
    }
  }
}

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
        due: wake.due, expires: now + Self.life, atMost: nil, transaction)
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

/// The payloads of wakes, all of which are the same but for the tag (page "Wakes"), and the end of addresses.
struct WakeSource: PushSource {
  private static let alert =
    #""aps":{"alert":{"loc-key":"APPTIMIST_WAKE"},"mutable-content":1,"sound":"default"}"#

  func payload(of push: LeasedPush) -> PushPayload? {
    let wake = #""wake":"\#(Hex.encode(push.content))""#
    return switch push.address.kind {
    case .apns, .apnsSandbox: .apns(Array("{\(Self.alert),\(wake)}".utf8))
    case .fcm: .fcm(data: Array("{\(wake)}".utf8))
    case .web: .web(Array("{\(wake)}".utf8))
    }
  }

  func end(
    _ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      DELETE FROM apptimist_addresses WHERE (owner, device) IN (
        SELECT owner, device FROM apptimist_addresses
        WHERE kind = ? AND address = ? AND bound_at < ?
        ORDER BY owner, device /*postgresql FOR UPDATE */)
      """, push.address.kind, push.address.bytes, moment ?? Timestamp(milliseconds: .max))
  }
}

extension ApptimistStore {
  /// The wakes of devices, or nil if the service pushes nothing.
  private var wakes: Wakes? { mailboxes.wakes }

  /// Returns the binding of a device; nil if it has none.
  func binding(of device: Acknowledgement.Device) async throws -> WakeBinding? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        """
        SELECT a.kind, a.address, a.tag, a.flags, a.keys
        FROM apptimist_users u JOIN apptimist_addresses a ON a.owner = u.id
        WHERE u.key = ? AND a.device = ?
        """, device.user, device.id
      ) { row in
        WakeBinding(
          address: PushAddress(stored: try row[0], try row[1]), tag: try row[2],
          isChosen: try row[3], keys: try row[4])
      }
    }
  }

  /// Binds a device, or unbinds it.
  ///
  /// - Parameters:
  ///   - binding: the binding, or nil for none.
  ///   - login: the session's login; nothing is changed if it holds no more.
  func bind(
    _ binding: WakeBinding?, to device: Version2.DeviceID, in session: NodeSession,
    by login: AccountLogin
  ) async throws {
    try await deliveries.write(isolation: .serializable) { pending, transaction in
      guard let wakes, let user = try account(of: login, transaction) else { return }
      guard let binding else {
        return try transaction.execute(
          "DELETE FROM apptimist_addresses WHERE owner = ? AND device = ?", user, device)
      }
      try deliveries.lock(directoriesOf: user, transaction)
      try wakes.bind(binding, to: device, of: user, transaction)
      try record(session, of: user, device, transaction)
      pending.bind(login.user)
    }
  }

  private func record(
    _ session: NodeSession, of user: AccountNumber, _ device: Version2.DeviceID,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO apptimist_sessions (owner, node, session, device) VALUES (?, ?, ?, ?)
      ON CONFLICT (node, session) DO UPDATE SET device = excluded.device
      """, user, session.node, session.session, device)
  }

  /// Records that a device logs in, and so shows itself: all that is queued is answered for.
  func show(_ device: Acknowledgement.Device, in session: NodeSession) async throws {
    guard let wakes, try await binding(of: device) != nil else { return }
    let cancelled = try await store.write(isolation: .rowLocks) { transaction in
      guard let user = try userNumber(of: device.user, transaction) else { return 0 }
      try record(session, of: user, device.id, transaction)
      return try wakes.show(device.id, of: user, transaction)
    }
    wakes.report(0, cancelled, false)
  }

  /// Forgets a session that is over, and its locks.
  func leave(_ session: NodeSession) async throws {
    guard store.isShared || wakes != nil else { return }
    let isDue = try await store.write(isolation: .rowLocks) { transaction in
      let ended = try transaction.one(
        "DELETE FROM apptimist_sessions WHERE node = ? AND session = ? RETURNING owner, device",
        session.node, session.session
      ) { row in (user: try row[0] as AccountNumber, device: try row[1] as Version2.DeviceID?) }
      if store.isShared {
        try transaction.execute(
          "DELETE FROM apptimist_locks WHERE node = ? AND session = ?", session.node,
          session.session)
      }
      guard let wakes, let ended, let device = ended.device else { return false }
      return try wakes.release(device, of: ended.user, transaction)
    }
    wakes?.report(0, 0, isDue)
  }

  /// Forgets the sessions of an earlier run, in a store that is this process's own.
  func forgetSessions() async throws {
    guard !store.isShared else { return }
    try await store.write { try $0.execute("DELETE FROM apptimist_sessions") }
  }
}
