internal import FoundationEssentials
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

  /// Queues a push, in the transaction of what it tells of.
  ///
  /// - Parameters:
  ///   - device: the device, in the service's own bytes, of which one push is under way at a time, in order.
  ///   - account: whom the push counts for, in the service's own bytes.
  ///   - collapseKey: the name under which a push service lets a later push replace an earlier one.
  ///   - position: the service's own number, by which it finds the push again.
  ///   - due: the moment before which it isn't sent.
  ///   - expires: the moment from which it isn't sent.
  ///   - most: the pushes that may wait for the device, of which the oldest go first; nil to look at none.
  package func queue(
    _ content: [UInt8], to address: PushAddress, of device: [UInt8], for account: [UInt8],
    urgency: PushUrgency = .high, collapseKey: String? = nil, position: Int64 = 0,
    created: Timestamp, due: Timestamp, expires: Timestamp, atMost most: Int?,
    _ transaction: borrowing Transaction
  ) throws {
    // Without it, each identifier would open the system's source of randomness.
    var generator = SystemRandomNumberGenerator()
    try transaction.execute(
      """
      INSERT INTO push_outbox (
        service, device, account, kind, address, push_id, content, urgency, collapse_key,
        position, created_at, expires_at, due_at, is_next)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        CASE WHEN EXISTS (
          SELECT 1 FROM push_outbox WHERE service = ?1 AND device = ?2
          ORDER BY id /*postgresql + 0 */ DESC LIMIT 1 /*postgresql FOR KEY SHARE */) THEN 0 ELSE 1 END)
      """, service, device, account, address.kind, address.bytes,
      UUID.random(using: &generator).uuidString.lowercased(), content, urgency, collapseKey,
      position, created, expires, due)
    guard let most else { return }
    try transaction.execute(
      """
      DELETE FROM push_outbox
      WHERE service = ?1 AND device = ?2 AND lease_owner IS NULL AND id <= (
        SELECT id FROM push_outbox WHERE service = ?1 AND device = ?2
        ORDER BY id /*postgresql + 0 */ DESC LIMIT 1 OFFSET ?3)
      """, service, device, most)
    countDropped(transaction.changes)
  }

  /// Makes the statement of PostgreSQL's that queues many pushes.
  ///
  /// - Parameters:
  ///   - pushes: the pushes, in the order of the bytes of their devices, whose newest waiting pushes are locked in it.
  ///   - created: the time.
  ///   - expires: the moment from which they aren't sent.
  package func insertion(
    of pushes: [QueuedPush], created: Timestamp, expires: Timestamp
  ) throws(StoreError) -> PipelinedStatement {
    var generator = SystemRandomNumberGenerator()
    var identifiers: [String] = []
    for _ in pushes {
      identifiers.append(UUID.random(using: &generator).uuidString.lowercased())
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
    return PipelinedStatement(
      """
      INSERT INTO push_outbox (
        service, created_at, expires_at, device, account, kind, address, push_id, content, urgency,
        collapse_key, position, due_at, is_next)
      SELECT ?1, ?2, ?3, p.device, p.account, p.kind, p.address, p.push_id, p.content, p.urgency,
        p.collapse_key, p.position, p.due_at, CASE WHEN p.is_first AND NOT EXISTS (
          SELECT 1 FROM push_outbox o WHERE o.service = ?1 AND o.device = p.device
          ORDER BY o.id + 0 DESC LIMIT 1 FOR KEY SHARE) THEN 1 ELSE 0 END
      FROM unnest(?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) AS p (
        device, account, kind, address, push_id, content, urgency, collapse_key, position, due_at,
        is_first)
      """, parameters)
  }

  /// Makes the statement of PostgreSQL's that drops the oldest pushes of devices for which too many wait.
  package func trimming(
    of devices: [[UInt8]], atMost most: Int
  ) throws(StoreError) -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(service)
    try parameters.append(blobs: devices)
    try parameters.append(most)
    return PipelinedStatement(
      """
      WITH dropped AS (
        DELETE FROM push_outbox p USING unnest(?2) AS d (device)
        WHERE p.service = ?1 AND p.device = d.device AND p.lease_owner IS NULL AND p.id <= (
          SELECT o.id FROM push_outbox o WHERE o.service = ?1 AND o.device = d.device
          ORDER BY o.id + 0 DESC LIMIT 1 OFFSET ?3)
        RETURNING 1)
      SELECT count(*) FROM dropped
      """, parameters
    ) { row in countDropped(try row[0]) }
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
