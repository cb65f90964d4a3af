internal import Storage
internal import Platform

/// The outbox of all services, for those who carry it to the push services.
struct PushStore: Sendable {
  /// The time that a push is leased, which is longer than any attempt. After a crash the push is tried again then.
  static let lease = Duration.seconds(15)
  /// The most pushes of an account that are under way at once, so that an account whose push services are slow or dead
  /// delays nobody else.
  static let ofAccount = 8

  /// The pushes of a service that wait or are under way.
  struct State: Sendable {
    let service: String
    let length: Int
    /// The moment at which the oldest one was queued.
    let oldest: Timestamp
  }

  let store: Store
  let clock: @Sendable () -> Timestamp

  /// The time.
  var now: Timestamp { clock() }

  /// Leases the pushes that are due, those longest due first, of each device the oldest only, and of each account no more
  /// than may be under way.
  ///
  /// - Parameters:
  ///   - count: the most pushes.
  ///   - owner: the random name of the outbox that leases them.
  ///   - kind: the kind of their addresses.
  ///   - services: the services whose pushes are leased.
  /// - Returns: the pushes, and the moment at which the next one is due that can be leased, if there is one.
  func lease(
    atMost count: Int, owner: [UInt8], of kind: PushKind, for services: [String]
  ) async throws -> (pushes: [Push], next: Timestamp?) {
    let now = now
    let names = "," + services.map { "\($0)," }.joined()
    // Most looks find nothing that is due, and need no write.
    let next = try await store.read(isOneQuery: true) { try Self.next(at: now, kind, names, $0) }
    guard let next, next <= now else { return ([], next) }
    return try await store.write(isolation: .rowLocks) { transaction in
      // Without waiting for other nodes that lease pushes. Where one leases an account's at this moment, its pushes aren't
      // seen yet, and so these are left to it; some accounts share a lock, as a server has room for few.
      let leased = try transaction.all(
        """
        UPDATE push_outbox SET lease_owner = ?1, lease_end = ?2, attempts = attempts + 1
        WHERE id IN (
          SELECT id FROM push_outbox o
          WHERE is_next = 1 AND kind = ?5 AND due_at <= ?3 AND lease_end <= ?3
            AND ?6 LIKE '%,' || service || ',%' AND (
              SELECT count(*) FROM push_outbox l
              WHERE l.account = o.account AND l.is_next = 1 AND l.service = o.service
                AND l.lease_end > ?3) < ?7
          ORDER BY due_at LIMIT ?4 /*postgresql FOR UPDATE SKIP LOCKED */)
        RETURNING id, service, device, account, kind, address, push_id, content, urgency,
          collapse_key, created_at, expires_at, attempts, due_at, /*postgresql CASE WHEN
            pg_try_advisory_xact_lock(
              1886745448, hashtext(encode(account, 'hex') || service) & 1023) THEN */
            1 /*postgresql ELSE 0 END */
        """, owner, now + Self.lease, now, count, kind, names, Self.ofAccount
      ) { row in
        (
          push: Push(
            id: try row[0], service: try row[1], device: try row[2], account: try row[3],
            address: PushAddress(stored: try row[4], try row[5]), pushID: try row[6],
            content: try row[7], urgency: try row[8], collapseKey: try row[9],
            created: try row[10], expires: try row[11], attempts: try row[12]),
          due: try row[13] as Timestamp, isLocked: try row[14] as Bool
        )
      }
      let pushes = leased.sorted { ($0.due, $0.push.id) < ($1.due, $1.push.id) }
      let excess = try giveBackExcess(of: leased, now, transaction)
      return (
        pushes.map(\.push).filter { !excess.contains($0.id) },
        try Self.next(at: now, kind, names, transaction)
      )
    }
  }

  /// Gives back pushes of accounts whose lock another node has, and what is more than an account's share, the latest due
  /// first.
  ///
  /// - Returns: the pushes that were given back.
  private func giveBackExcess(
    of leased: [(push: Push, due: Timestamp, isLocked: Bool)], _ now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Set<Push.ID> {
    var excess = leased.filter { !$0.isLocked }.map(\.push.id)
    // In a store of one node, an account has more than its share only by what was leased together.
    let shares = Dictionary(grouping: leased.filter(\.isLocked).map(\.push)) { PushOwner($0) }
      .values.filter { store.isShared || $0.count > 1 }
    let firsts = shares.enumerated().map { "\"\($0)\":\($1[0].id)" }
    try transaction.forEach(
      """
      SELECT CAST(key AS BIGINT), (
        SELECT (
          SELECT count(*) FROM push_outbox l
          WHERE l.account = o.account AND l.is_next = 1 AND l.service = o.service
            AND l.lease_end > ?2)
        FROM push_outbox o WHERE o.id = CAST(CAST(value AS TEXT) AS BIGINT))
      FROM json_each(?1 /*postgresql ::json */)
      """, "{\(firsts.joined(separator: ","))}", now
    ) { row in
      let (share, count): (Int, Int) = (try row[0], try row[1])
      excess += shares[share].suffix(max(0, count - Self.ofAccount)).map(\.id)
    }
    for push in excess {
      try transaction.execute(
        """
        UPDATE push_outbox SET lease_owner = NULL, lease_end = 0, attempts = attempts - 1
        WHERE id = ?
        """, push)
    }
    return Set(excess)
  }

  /// Makes the lease of a push as long as it was at first, for another attempt.
  ///
  /// - Returns: false if the lease was lost.
  func renewLease(of push: Push, owner: [UInt8]) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "UPDATE push_outbox SET lease_end = ? WHERE id = ? AND lease_owner = ?",
        now + Self.lease, push.id, owner)
      return transaction.changes == 1
    }
  }

  private static func next(
    at now: Timestamp, _ kind: PushKind, _ names: String,
    _ database: borrowing some Queryable & ~Copyable
  ) throws -> Timestamp? {
    try database.value(
      """
      SELECT due_at FROM push_outbox o
      WHERE is_next = 1 AND kind = ?2 AND lease_end <= ?1 AND ?3 LIKE '%,' || service || ',%' AND (
        SELECT count(*) FROM push_outbox l
        WHERE l.account = o.account AND l.is_next = 1 AND l.service = o.service
          AND l.lease_end > ?1) < ?4
      ORDER BY due_at LIMIT 1
      """, now, kind, names, ofAccount)
  }

  /// Returns the state of the outbox, which is counted and so not to be asked for all the time.
  func states() async throws -> [State] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT s.service, s.length, o.created_at FROM (
          SELECT service, count(*) AS length, min(id) AS oldest FROM push_outbox
          GROUP BY service) s JOIN push_outbox o ON o.id = s.oldest
        """
      ) { State(service: try $0[0], length: try $0[1], oldest: try $0[2]) }
    }
  }

  /// Ends the lease of a push, or does nothing if the lease was lost.
  ///
  /// - Parameters:
  ///   - push: the push.
  ///   - owner: the name of the outbox that leased it.
  ///   - settlement: the end of the lease.
  ///   - target: the push service.
  ///   - source: the part of the service that ends addresses.
  func settle(
    _ push: Push, owner: [UInt8], _ settlement: PushSettlement, target: String,
    _ source: any PushSource
  ) async throws {
    switch settlement {
    case .delivered: try await end(push, owner, target: target)
    case .logged, .dropped: try await end(push, owner)
    case .retried(let time): try await end(push, owner, retry: time)
    case .unbound(let moment):
      try await store.write(isolation: .rowLocks) { transaction in
        let isLeased = try transaction.exists(
          "SELECT 1 FROM push_outbox WHERE id = ? AND lease_owner = ?", push.id, owner)
        guard isLeased else { return }
        try source.end(push, boundBefore: moment, transaction)
        try transaction.execute(
          "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", push.id, owner)
      }
    }
  }

  private func end(
    _ push: Push, _ owner: [UInt8], target: String? = nil, retry: Timestamp? = nil
  ) async throws {
    try await store.perform(
      SettleOperation.Input(push: push.id, owner: owner, target: target, retry: retry),
      by: SettleOperation.self)
  }

  /// Returns whether a push service has ever taken a push.
  func hasProven(_ target: String) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.exists("SELECT 1 FROM push_targets WHERE target = ?", target)
    }
  }
}

/// An account of a service, whom pushes count for.
struct PushOwner: Hashable {
  let service: String
  let account: [UInt8]
}

extension PushOwner {
  init(_ push: Push) { self.init(service: push.service, account: push.account) }
}
