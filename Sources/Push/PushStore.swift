internal import Budgets
internal import Formats
internal import Platform
internal import Storage

/// The outbox of all services, for those who carry it to the push services.
struct PushStore: Sendable {
  /// The time of the longest attempt.
  static let attempt = Duration.seconds(14)
  /// The time that a push is leased, which is longer than any attempt. After a crash the push is tried again then.
  static let lease = Duration.seconds(15)
  /// The most pushes of an account that are under way at once, so that an account whose push services are slow or dead
  /// delays nobody else.
  static let ofAccount = 8

  /// The pushes of a service to addresses of a kind that wait or are under way.
  struct State: Sendable {
    let service: String
    let kind: PushKind
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
  ///   - order: the order; in another one than that of their times a single push is leased.
  ///   - owner: the random name of the outbox that leases them.
  ///   - services: the services whose pushes are leased.
  /// - Returns: the pushes, and the moment at which the next one is due that can be leased, if there is one.
  func lease(
    atMost count: Int, _ order: LeaseOrder = .due, owner: [UInt8], of kind: PushKind,
    for services: [String]
  ) async throws -> (pushes: [LeasedPush], next: Timestamp?) {
    let now = now
    let names = "," + services.map { "\($0)," }.joined()
    // Most looks find nothing that is due, and need no write.
    let next = try await store.read(isOneQuery: true) { try Self.next(at: now, kind, names, $0) }
    guard let next, next <= now else { return ([], next) }
    return try await store.write(isolation: .rowLocks) { transaction in
      let only = try Self.candidate(in: order, at: now, kind, names, transaction)
      // Without waiting for other nodes that lease pushes. Where one leases an account's at this moment, its pushes aren't
      // seen yet, and so these are left to it; some accounts share a lock, as a server has room for few.
      let leased = try transaction.all(
        """
        UPDATE push_outbox SET lease_owner = ?1, lease_end = ?2, attempts = attempts + 1
        WHERE id IN (
          SELECT id FROM push_outbox o
          WHERE is_next = 1 AND kind = ?5 AND due_at <= ?3 AND lease_end <= ?3
            AND ?6 LIKE '%,' || service || ',%' AND (?8 = 0 OR id = ?8) AND (
              SELECT count(*) FROM push_outbox l
              WHERE l.account = o.account AND l.is_next = 1 AND l.service = o.service
                AND l.lease_end > ?3) < ?7
          ORDER BY due_at LIMIT ?4 /*postgresql FOR UPDATE SKIP LOCKED */)
        RETURNING id, service, device, account, kind, address, push_id, content, urgency,
          collapse_key, created_at, expires_at, attempts, due_at, /*postgresql CASE WHEN
            pg_try_advisory_xact_lock(
              1886745448, hashtext(encode(account, 'hex') || service) & 1023) THEN */
            1 /*postgresql ELSE 0 END */
        """, owner, now + Self.lease, now, count, kind, names, Self.ofAccount,
        only ?? 0
      ) { row in
        (
          push: LeasedPush(
            id: try row[0], service: try row[1], device: try row[2], account: try row[3],
            address: PushAddress(stored: try row[4], try row[5]), pushID: try row[6],
            content: try row[7], urgency: try row[8], collapseKey: try row[9],
            created: try row[10], expires: try row[11], leaseEnd: now + Self.lease,
            attempts: try row[12]),
          due: try row[13] as Timestamp, isLocked: try row[14] as Bool
        )
      }
      let pushes = leased.sorted { ($0.due, $0.push.id) < ($1.due, $1.push.id) }
      let excess = try returnExcess(of: leased, now, transaction)
      return (
        pushes.map(\.push).filter { !excess.contains($0.id) },
        try Self.next(at: now, kind, names, transaction)
      )
    }
  }

  /// Returns pushes to the outbox of accounts whose lock another node has, and what is more than an account's share, the latest due
  /// first.
  ///
  /// - Returns: the pushes that were returned.
  private func returnExcess(
    of leased: [(push: LeasedPush, due: Timestamp, isLocked: Bool)], _ now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Set<LeasedPush.ID> {
    var excess = leased.filter { !$0.isLocked }.map(\.push.id)
    // In a store of one node, an account has more than its share only by what was leased together.
    let shares = Dictionary(grouping: leased.filter(\.isLocked).map(\.push)) { PushOwner($0) }
      .values.filter { store.isShared || $0.count > 1 }
    let firsts = JSONWriter.object { object in
      for (index, share) in shares.enumerated() { object["\(index)"] = share[0].id }
    }
    try transaction.forEach(
      """
      SELECT CAST(key AS BIGINT), (
        SELECT (
          SELECT count(*) FROM push_outbox l
          WHERE l.account = o.account AND l.is_next = 1 AND l.service = o.service
            AND l.lease_end > ?2)
        FROM push_outbox o WHERE o.id = CAST(CAST(value AS TEXT) AS BIGINT))
      FROM json_each(?1 /*postgresql ::json */)
      """, String(decoding: firsts, as: UTF8.self), now
    ) { row in
      let share: Int = try row[0]
      let count: Int = try row[1]
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
  func renewLease(of push: LeasedPush, owner: [UInt8]) async throws -> Bool {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        "UPDATE push_outbox SET lease_end = ? WHERE id = ? AND lease_owner = ?",
        now + Self.lease, push.id, owner)
      return transaction.changes == 1
    }
  }

  /// The most pushes among which one is chosen while the push service is in doubt.
  private static let candidates = 1000

  /// Returns the push that is to be leased by itself; nil if all that are due are, in the order of their times.
  private static func candidate(
    in order: LeaseOrder, at now: Timestamp, _ kind: PushKind, _ names: String,
    _ transaction: borrowing Transaction
  ) throws -> LeasedPush.ID? {
    switch order {
    case .due: nil
    case .untriedAccountsNewestFirst:
      try transaction.value(
        """
        SELECT o.id FROM (
          SELECT id, service, account, attempts FROM push_outbox
          WHERE is_next = 1 AND kind = ?2 AND due_at <= ?1 AND lease_end <= ?1
            AND ?3 LIKE '%,' || service || ',%'
          ORDER BY id DESC LIMIT ?4) o
        ORDER BY (
          SELECT count(*) FROM push_outbox t
          WHERE t.account = o.account AND t.service = o.service AND t.is_next = 1
            AND t.attempts > 0), o.attempts, o.id DESC
        LIMIT 1
        """, now, kind, names, candidates)
    case .untriedAccountsOldestFirst:
      try transaction.value(
        """
        SELECT o.id FROM (
          SELECT id, service, account, attempts, due_at FROM push_outbox
          WHERE is_next = 1 AND kind = ?2 AND due_at <= ?1 AND lease_end <= ?1
            AND ?3 LIKE '%,' || service || ',%'
          ORDER BY due_at LIMIT ?4) o
        ORDER BY (
          SELECT count(*) FROM push_outbox t
          WHERE t.account = o.account AND t.service = o.service AND t.is_next = 1
            AND t.attempts > 0), o.attempts, o.due_at, o.id
        LIMIT 1
        """, now, kind, names, candidates)
    }
  }

  /// Deletes pushes that expired while nobody leased them, as those of a push service that isn't configured any more.
  ///
  /// - Parameter most: the number of pushes that one transaction deletes.
  /// - Returns: the service of each push.
  func deleteExpired(atMost most: Int = 1000) async throws -> [String] {
    let now = now
    let isAny = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM push_outbox WHERE expires_at <= ?1 AND lease_end <= ?1 LIMIT 1", now)
    }
    guard isAny else { return [] }
    return try await store.write(isolation: .rowLocks) { transaction in
      // In the order of those who end leases.
      try transaction.values(
        """
        DELETE FROM push_outbox WHERE id IN (
          SELECT id FROM push_outbox WHERE expires_at <= ?1 AND lease_end <= ?1
          ORDER BY service, device LIMIT ?2 /*postgresql FOR UPDATE SKIP LOCKED */)
        RETURNING service
        """, now, most)
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

  /// Returns the state of the outbox, which is counted and so not to be read all the time.
  func states() async throws -> [State] {
    try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT s.service, s.kind, s.length, o.created_at FROM (
          SELECT service, kind, count(*) AS length, min(id) AS oldest FROM push_outbox
          GROUP BY service, kind) s JOIN push_outbox o ON o.id = s.oldest
        """
      ) { row in
        State(
          service: try row[0], kind: try row[1], length: try row[2], oldest: try row[3])
      }
    }
  }

  /// Ends the lease of a push, or does nothing if the lease was lost.
  ///
  /// - Parameters:
  ///   - owner: the name of the outbox that leased it.
  ///   - source: the part of the service that ends addresses.
  func complete(
    _ push: LeasedPush, owner: [UInt8], _ completion: PushCompletion, target: String,
    _ source: any PushSource
  ) async throws {
    switch completion {
    case .delivered: try await end(push, owner, target: target)
    case .logged, .dropped: try await end(push, owner)
    case .retried(let time): try await end(push, owner, retry: time)
    case .unbound(let moment):
      try await store.write(isolation: .rowLocks) { transaction in
        let isLeased = try transaction.exists(
          "SELECT 1 FROM push_outbox WHERE id = ? AND lease_owner = ?", push.id, owner)
        guard isLeased else { return }
        try source.end(push, boundBefore: moment, transaction)
        // The device may have got another address meanwhile, to which the push goes now.
        try transaction.execute(
          """
          UPDATE push_outbox SET due_at = ?, lease_owner = NULL, lease_end = 0
          WHERE id = ? AND lease_owner = ? AND (kind <> ? OR address <> ?)
          """, now, push.id, owner, push.address.kind, push.address.bytes)
        try transaction.execute(
          "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", push.id, owner)
      }
    }
  }

  private func end(
    _ push: LeasedPush, _ owner: [UInt8], target: String? = nil, retry: Timestamp? = nil
  ) async throws {
    try await store.perform(
      CompleteOperation.Input(
        push: push.id, owner: owner, target: target, retry: retry,
        place: CompleteOperation.DevicePlace(service: push.service, device: push.device)),
      by: CompleteOperation.self)
  }

  /// Returns whether a push service has ever accepted a push.
  func hasProven(_ target: String) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.exists("SELECT 1 FROM push_targets WHERE target = ?", target)
    }
  }
}

/// An account of a service, whom pushes count for.
struct PushOwner: BudgetOwner {
  let service: String
  let account: [UInt8]
}

extension PushOwner {
  init(_ push: LeasedPush) { self.init(service: push.service, account: push.account) }
}

/// The end of a push's lease. Where several nodes share the store, many ends are one call.
enum CompleteOperation: BatchOperation {
  struct Input: Sendable {
    let push: Int64
    /// The name of the outbox that leased the push.
    let owner: [UInt8]
    /// The push service, if it has accepted the push.
    let target: String?
    /// The moment from which the push is tried again, or nil if it is done with.
    let retry: Timestamp?
    /// The push's device, by which pushes are locked.
    let place: DevicePlace
  }

  /// The place of a device in the order of the locks.
  struct DevicePlace: Sendable, Comparable {
    let service: String
    let device: [UInt8]

    static func < (left: DevicePlace, right: DevicePlace) -> Bool {
      guard left.service == right.service else {
        return left.service.utf8.lexicographicallyPrecedes(right.service.utf8)
      }
      return left.device.lexicographicallyPrecedes(right.device)
    }
  }

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws {
    if let retry = input.retry {
      try transaction.execute(
        """
        UPDATE push_outbox SET due_at = ?, lease_owner = NULL, lease_end = 0
        WHERE id = ? AND lease_owner = ?
        """, retry, input.push, input.owner)
    } else {
      try transaction.execute(
        "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", input.push, input.owner)
    }
    guard let target = input.target else { return }
    try transaction.execute("INSERT INTO push_targets VALUES (?) ON CONFLICT DO NOTHING", target)
  }

  /// Whoever queues a push behind another one of its device keeps the newest of these until the commit, so that the one that
  /// goes finds the one that is queued. All lock them in the order of the devices.
  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Void, any Error>] {
    var locks = PostgreSQLParameters()
    try locks.append(integers: inputs.sorted { $0.place < $1.place }.map { $0.push })
    // A lost lease is another process's, or nobody's: the outboxes of this one lease pushes of different kinds.
    let owners = Array(Set(inputs.map { $0.owner }))
    var statements = [
      // Nobody waits for it to be on disk: if PostgreSQL loses the last ones, their leases run out as after a crash of awd's.
      PipelinedStatement("SET LOCAL synchronous_commit = off"),
      PipelinedStatement(
        """
        SELECT 1 FROM unnest(?) AS p (id) CROSS JOIN LATERAL (
          SELECT 1 FROM push_outbox WHERE id = p.id FOR UPDATE) o
        """, locks),
    ]
    let retries = inputs.filter { $0.retry != nil }
    if !retries.isEmpty {
      var parameters = PostgreSQLParameters()
      try parameters.append(integers: retries.map { $0.push })
      try parameters.append(integers: retries.map { $0.retry?.milliseconds })
      try parameters.append(blobs: owners)
      statements.append(
        PipelinedStatement(
          """
          UPDATE push_outbox SET due_at = (?2)[array_position(?1, id)], lease_owner = NULL,
            lease_end = 0
          WHERE id = ANY (?1) AND lease_owner = ANY (?3)
          """, parameters))
    }
    let ends = inputs.filter { $0.retry == nil }
    if !ends.isEmpty {
      var parameters = PostgreSQLParameters()
      try parameters.append(integers: ends.map { $0.push })
      try parameters.append(blobs: owners)
      statements.append(
        PipelinedStatement(
          "DELETE FROM push_outbox WHERE id = ANY (?1) AND lease_owner = ANY (?2)", parameters))
    }
    let targets = Set(inputs.compactMap { $0.target }).sorted()
    if !targets.isEmpty {
      var parameters = PostgreSQLParameters()
      try parameters.append(texts: targets)
      statements.append(
        PipelinedStatement(
          """
          INSERT INTO push_targets
          SELECT t FROM unnest(?) t
          WHERE NOT EXISTS (SELECT 1 FROM push_targets p WHERE p.target = t)
          ON CONFLICT DO NOTHING
          """, parameters))
    }
    try transaction.pipeline(statements, commits: true)
    return inputs.map { _ in .success(()) }
  }
}
