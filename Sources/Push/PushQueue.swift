internal import FoundationEssentials
internal import Observability
package import Storage
package import Platform

/// The outbox of one service, for the service's own transactions.
///
/// The service sees to it that those who queue, drop or release pushes of one device come one after the other: on PostgreSQL by
/// a lock of a row of its own, taken in a statement before. Who queues for several devices does so in the order of their bytes.
package struct PushQueue: Sendable {
  /// The service's name.
  package let service: String
  /// The kinds of addresses that are served. Nothing is queued for another.
  package let kinds: Set<PushKind>
  /// The kinds among them whose pushes are only noted in the log.
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
          ORDER BY id DESC LIMIT 1 /*postgresql FOR KEY SHARE */) THEN 0 ELSE 1 END)
      """, service, device, account, address.kind, address.bytes,
      UUID.random(using: &generator).uuidString.lowercased(), content, urgency, collapseKey,
      position, created, expires, due)
    guard let most else { return }
    try transaction.execute(
      """
      DELETE FROM push_outbox
      WHERE service = ?1 AND device = ?2 AND lease_owner IS NULL AND id <= (
        SELECT id FROM push_outbox WHERE service = ?1 AND device = ?2
        ORDER BY id DESC LIMIT 1 OFFSET ?3)
      """, service, device, most)
    noteDropped(transaction.changes)
  }

  /// Counts pushes that went because too many waited for their devices.
  package func noteDropped(_ count: Int) { dropped?.add(UInt64(count)) }

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
