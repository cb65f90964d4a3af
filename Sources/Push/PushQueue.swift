internal import Observability
package import Storage
package import Platform

/// A push that is queued together with others.
package struct QueuedPush: Sendable {
  package let content: [UInt8]
  package let address: PushAddress
  /// The device, in the service's own bytes.
  package let device: [UInt8]
  /// Whom the push counts for, in the service's own bytes.
  package let account: [UInt8]
  package let urgency: PushUrgency
  package let collapseKey: String?
  /// The service's own number, by which it finds the push again.
  package let position: Int64
  /// The moment before which it isn't sent.
  package let due: Timestamp
  /// True if no other one of these is before it for the same device.
  package let isFirst: Bool

  package init(
    _ content: [UInt8], to address: PushAddress, of device: [UInt8], for account: [UInt8],
    urgency: PushUrgency = .high, collapseKey: String? = nil, position: Int64 = 0, due: Timestamp,
    isFirst: Bool
  ) {
    self.content = content
    self.address = address
    self.device = device
    self.account = account
    self.urgency = urgency
    self.collapseKey = collapseKey
    self.position = position
    self.due = due
    self.isFirst = isFirst
  }
}

/// The outbox of one service, for the service's own transactions.
///
/// The service sees to it that those who queue, drop or release pushes of one device come one after the other: on PostgreSQL by
/// a lock of a row of its own, taken in a statement before. Who queues for several devices does so in the order of their bytes.
package struct PushQueue: Sendable {
  /// The service's name.
  package let service: String
  /// The kinds of addresses that are served. Nothing is queued for another.
  package let kinds: Set<PushKind>
  /// The kinds among them whose pushes are only recorded in the log.
  var loggedKinds: Set<PushKind> = []
  /// Counts pushes that go because too many wait.
  var dropped: Counter?
  /// The places for pushes that are leased as they are queued.
  var direct: [PushKind: DirectLeases] = [:]

  /// Queues a push, in the transaction of what it tells of.
  ///
  /// - Parameters:
  ///   - device: the device, in the service's own bytes, of which one push is under way at a time, in order.
  ///   - account: whom the push counts for, in the service's own bytes.
  ///   - collapseKey: the name under which a push service lets a later push replace an earlier one.
  ///   - position: the service's own number, by which it finds the push again.
  ///   - due: the moment before which it isn't sent.
  ///   - expires: the moment from which it isn't sent.
  ///   - mayLease: whether the push may be leased at once. The caller hands it to ``Pushes/send(_:)`` after the commit.
  /// - Returns: the push if it was leased.
  @discardableResult package func queue(
    _ content: [UInt8], to address: PushAddress, of device: [UInt8], for account: [UInt8],
    urgency: PushUrgency = .high, collapseKey: String? = nil, position: Int64 = 0,
    created: Timestamp, due: Timestamp, expires: Timestamp, mayLease: Bool = false,
    _ transaction: borrowing Transaction
  ) throws -> LeasedPush? {
    let push = QueuedPush(
      content, to: address, of: device, for: account, urgency: urgency, collapseKey: collapseKey,
      position: position, due: due, isFirst: true)
    if mayLease, due <= created, let direct = direct[address.kind], direct.claim() {
      return try insert(push, created, expires, for: direct.owner, transaction)
    }
    try insert(push, created, expires, transaction)
    return nil
  }

  /// Drops the oldest pushes of a device for which too many wait.
  ///
  /// - Returns: the number of pushes, for ``countDropped(_:)`` after the commit: the transaction may be rolled back, or run again.
  package func trim(
    _ device: [UInt8], toAtMost most: Int, _ transaction: borrowing Transaction
  ) throws -> Int {
    try transaction.execute(
      """
      DELETE FROM push_outbox
      WHERE service = ?1 AND device = ?2 AND lease_owner IS NULL AND id <= (
        SELECT id FROM push_outbox WHERE service = ?1 AND device = ?2
        ORDER BY id /*postgresql + 0 */ DESC LIMIT 1 OFFSET ?3)
      """, service, device, most)
    return transaction.changes
  }

  /// Writes a push.
  private func insert(
    _ push: QueuedPush, _ created: Timestamp, _ expires: Timestamp,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO push_outbox (
        service, device, account, kind, address, push_id, content, urgency, collapse_key,
        position, created_at, expires_at, due_at, is_next)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        CASE WHEN EXISTS (
          SELECT 1 FROM push_outbox WHERE service = ?1 AND device = ?2
          ORDER BY id /*postgresql + 0 */ DESC LIMIT 1 /*postgresql FOR KEY SHARE */) THEN 0 ELSE 1 END)
      """, service, push.device, push.account, push.address.kind, push.address.bytes,
      Self.newIdentifier(), push.content, push.urgency, push.collapseKey, push.position, created,
      expires, push.due)
  }

  /// Writes a push, and leases it if no other one waits for its device and its account may have one more under way.
  ///
  /// - Returns: the push if it is leased.
  private func insert(
    _ push: QueuedPush, _ created: Timestamp, _ expires: Timestamp, for owner: [UInt8],
    _ transaction: borrowing Transaction
  ) throws -> LeasedPush? {
    let pushID = Self.newIdentifier()
    // The limits keep what they stand in from being evaluated more than once.
    let row = try transaction.one(
      """
      INSERT INTO push_outbox (
        service, device, account, kind, address, push_id, content, urgency, collapse_key,
        position, created_at, expires_at, due_at, is_next, attempts, lease_owner, lease_end)
      SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, n.is_next, n.is_leased,
        CASE WHEN n.is_leased = 1 THEN ?14 END, CASE WHEN n.is_leased = 1 THEN ?15 ELSE 0 END
      FROM (
        SELECT m.is_next, CASE WHEN m.is_next = 1 AND (
          SELECT count(*) FROM push_outbox l
          WHERE l.account = ?3 AND l.is_next = 1 AND l.service = ?1 AND l.lease_end > ?11
        ) < ?16 THEN 1 ELSE 0 END AS is_leased
        FROM (
          SELECT CASE WHEN EXISTS (
            SELECT 1 FROM push_outbox WHERE service = ?1 AND device = ?2
            ORDER BY id /*postgresql + 0 */ DESC LIMIT 1 /*postgresql FOR KEY SHARE */
          ) THEN 0 ELSE 1 END AS is_next LIMIT 1) m LIMIT 1) n
      RETURNING id, attempts
      """, service, push.device, push.account, push.address.kind, push.address.bytes, pushID,
      push.content, push.urgency, push.collapseKey, push.position, created, expires, push.due,
      owner, created + PushStore.lease, PushStore.ofAccount
    ) { row in (id: try row[0] as Int64, isLeased: try row[1] as Bool) }
    guard let row, row.isLeased else { return nil }
    return leasedPush(push, row.id, pushID, created, expires)
  }

  private func leasedPush(
    _ push: QueuedPush, _ id: Int64, _ pushID: String, _ created: Timestamp, _ expires: Timestamp
  ) -> LeasedPush {
    LeasedPush(
      id: id, service: service, device: push.device, account: push.account,
      address: push.address, pushID: pushID, content: push.content, urgency: push.urgency,
      collapseKey: push.collapseKey, created: created, expires: expires,
      leaseEnd: created + PushStore.lease, attempts: 1)
  }

  private static func newIdentifier() -> String { identifiers.next() }

  private static let identifiers = PushIdentifiers()

  /// Makes the statement of PostgreSQL's that queues many pushes.
  ///
  /// - Parameters:
  ///   - pushes: the pushes, in the order of the bytes of their devices, whose newest waiting pushes are locked in it.
  ///   - created: the time.
  ///   - expires: the moment from which they aren't sent.
  ///   - leased: receives the pushes that were leased at once, each with its index, once the statement has run. The caller hands
  ///     them to ``Pushes/send(_:)`` after the commit. Nil to lease none.
  package func insertion(
    of pushes: [QueuedPush], created: Timestamp, expires: Timestamp,
    leased: ((Int, LeasedPush) -> Void)? = nil
  ) throws(StoreError) -> PipelinedStatement {
    let identifiers = pushes.map { _ in Self.newIdentifier() }
    let owners = pushes.map { push -> [UInt8]? in
      guard leased != nil, push.isFirst, push.due <= created,
        let direct = direct[push.address.kind], direct.claim()
      else { return nil }
      return direct.owner
    }
    var parameters = PostgreSQLParameters()
    try parameters.append(service)
    try parameters.append(created)
    try parameters.append(expires)
    try parameters.append(blobs: pushes.map(\.device))
    try parameters.append(blobs: pushes.map(\.account))
    try parameters.append(integers: pushes.map { Int64($0.address.kind.rawValue) })
    try parameters.append(blobs: pushes.map(\.address.bytes))
    try parameters.append(texts: identifiers)
    try parameters.append(blobs: pushes.map(\.content))
    try parameters.append(integers: pushes.map { Int64($0.urgency.rawValue) })
    try parameters.append(texts: pushes.map(\.collapseKey))
    try parameters.append(integers: pushes.map(\.position))
    try parameters.append(integers: pushes.map(\.due.milliseconds))
    try parameters.append(booleans: pushes.map(\.isFirst))
    guard let leased, owners.contains(where: { $0 != nil }) else { return insertion(parameters) }
    // The pushes of its account that are before it, and may be leased with it.
    var before: [[UInt8]: Int64] = [:]
    var ranks: [Int64] = []
    for (push, owner) in zip(pushes, owners) {
      ranks.append(before[push.account] ?? 0)
      if owner != nil { before[push.account, default: 0] += 1 }
    }
    try parameters.append(blobs: owners)
    try parameters.append(integers: ranks)
    try parameters.append(created + PushStore.lease)
    try parameters.append(PushStore.ofAccount)
    let indices = Dictionary(uniqueKeysWithValues: zip(identifiers, pushes.indices))
    return PipelinedStatement(
      """
      INSERT INTO push_outbox (
        service, created_at, expires_at, device, account, kind, address, push_id, content, urgency,
        collapse_key, position, due_at, is_next, attempts, lease_owner, lease_end)
      SELECT ?1, ?2, ?3, p.device, p.account, p.kind, p.address, p.push_id, p.content, p.urgency,
        p.collapse_key, p.position, p.due_at, n.is_next, l.is_leased,
        CASE WHEN l.is_leased = 1 THEN p.owner END,
        CASE WHEN l.is_leased = 1 THEN ?17 ELSE 0 END
      FROM (
        SELECT unnest(?4) AS device, unnest(?5) AS account, unnest(?6) AS kind, unnest(?7) AS address,
          unnest(?8) AS push_id, unnest(?9) AS content, unnest(?10) AS urgency,
          unnest(?11) AS collapse_key, unnest(?12) AS position, unnest(?13) AS due_at,
          unnest(?14) AS is_first, unnest(?15) AS owner, unnest(?16) AS rank) AS p
      CROSS JOIN LATERAL (
        SELECT CASE WHEN p.is_first AND NOT EXISTS (
          SELECT 1 FROM push_outbox o WHERE o.service = ?1 AND o.device = p.device
          ORDER BY o.id + 0 DESC LIMIT 1 FOR KEY SHARE) THEN 1 ELSE 0 END AS is_next OFFSET 0) n
      CROSS JOIN LATERAL (
        SELECT CASE WHEN p.owner IS NOT NULL AND n.is_next = 1 AND p.rank + (
          SELECT count(*) FROM push_outbox a
          WHERE a.account = p.account AND a.is_next = 1 AND a.service = ?1 AND a.lease_end > ?2
        ) < ?18 THEN 1 ELSE 0 END AS is_leased OFFSET 0) l
      RETURNING id, push_id, attempts
      """, parameters
    ) { row in
      guard try row[2] as Bool, let index = indices[try row[1]] else { return }
      leased(index, leasedPush(pushes[index], try row[0], identifiers[index], created, expires))
    }
  }

  /// Makes the statement that queues pushes of which none is leased.
  private func insertion(_ parameters: PostgreSQLParameters) -> PipelinedStatement {
    PipelinedStatement(
      """
      INSERT INTO push_outbox (
        service, created_at, expires_at, device, account, kind, address, push_id, content, urgency,
        collapse_key, position, due_at, is_next)
      SELECT ?1, ?2, ?3, p.device, p.account, p.kind, p.address, p.push_id, p.content, p.urgency,
        p.collapse_key, p.position, p.due_at, CASE WHEN p.is_first AND NOT EXISTS (
          SELECT 1 FROM push_outbox o WHERE o.service = ?1 AND o.device = p.device
          ORDER BY o.id + 0 DESC LIMIT 1 FOR KEY SHARE) THEN 1 ELSE 0 END
      FROM (
        SELECT unnest(?4) AS device, unnest(?5) AS account, unnest(?6) AS kind, unnest(?7) AS address,
          unnest(?8) AS push_id, unnest(?9) AS content, unnest(?10) AS urgency,
          unnest(?11) AS collapse_key, unnest(?12) AS position, unnest(?13) AS due_at,
          unnest(?14) AS is_first) AS p
      """, parameters)
  }

  /// Makes the statement of PostgreSQL's that drops the oldest pushes of devices for which too many wait. They are found for each
  /// device by itself: a join that was planned while the outbox was empty would begin with all that waits.
  ///
  /// - Parameter dropped: receives the number of pushes once the statement has run, for ``countDropped(_:)`` after the commit.
  package func trimming(
    of devices: [[UInt8]], toAtMost most: Int, dropped: @escaping (Int) -> Void
  ) throws(StoreError) -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(service)
    try parameters.append(blobs: devices)
    try parameters.append(most)
    return PipelinedStatement(
      """
      WITH dropped AS (
        DELETE FROM push_outbox WHERE id = ANY (ARRAY(
          SELECT p.id FROM unnest(?2) AS d (device) CROSS JOIN LATERAL (
            SELECT o.id FROM push_outbox o WHERE o.service = ?1 AND o.device = d.device
            ORDER BY o.id + 0 DESC LIMIT 1 OFFSET ?3) l
          CROSS JOIN LATERAL (
            SELECT o.id FROM push_outbox o WHERE o.service = ?1 AND o.device = d.device
              AND o.lease_owner IS NULL AND o.id <= l.id OFFSET 0) p))
        RETURNING 1)
      SELECT count(*) FROM dropped
      """, parameters
    ) { row in dropped(try row[0]) }
  }

  /// Counts pushes that went because too many waited for their devices.
  package func countDropped(_ count: Int) { dropped?.add(UInt64(count)) }

  /// Deletes the pushes to a device whose positions are above one and not above another.
  ///
  /// - Parameters:
  ///   - first: the position that they are above.
  ///   - evenLeased: whether those go too that are under way.
  /// - Returns: the number of pushes.
  @discardableResult package func drop(
    _ device: [UInt8], after first: Int64 = .min, upTo last: Int64 = .max,
    evenLeased: Bool = false, _ transaction: borrowing Transaction
  ) throws -> Int {
    try transaction.execute(
      """
      DELETE FROM push_outbox WHERE service = ? AND device = ? AND position > ? AND position <= ?
        AND (lease_owner IS NULL OR ? = 1)
      """, service, device, first, last, evenLeased)
    return transaction.changes
  }

  /// Makes pushes to a device due that were never tried, unless they are due earlier.
  package func release(
    _ device: [UInt8], upTo last: Int64 = .max, at due: Timestamp,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      // A push that waits after a failure goes on waiting.
      """
      UPDATE push_outbox SET due_at = ?1
      WHERE service = ?2 AND device = ?3 AND position <= ?4 AND attempts = 0 AND due_at > ?1
      """, due, service, device, last)
  }

  /// Sends what waits for a device to another address of the same kind.
  package func readdress(
    _ device: [UInt8], to address: PushAddress, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "UPDATE push_outbox SET address = ? WHERE service = ? AND device = ? AND kind = ?",
      address.bytes, service, device, address.kind)
  }
}
