internal import PushServerResources
internal import Cryptography
internal import HTTPProtocol
internal import Push
internal import Routing
internal import Storage
internal import Platform

/// The clients, and the identifiers of the messages that were taken for them.
struct PushServerStore: PushSource {
  /// The history of the service's tables. Times are milliseconds since 1970.
  static let migrations =
    Pushes.migrations + [
      Migration(
        owner: PushServerService.name, number: 1,
        sqlite: Resource(pushserver_schema_sqlite_sql()).bytes,
        postgreSQL: Resource(pushserver_schema_postgresql_sql()).bytes)
    ]

  /// The messages of a client that are remembered, and the most pushes that wait for it.
  private static let (remembered, waiting) = (1000, 100)
  /// The most rows that one transaction deletes.
  private static let piece = 1000

  let store: Store
  let queue: PushQueue
  let clock: @Sendable () -> Timestamp
  /// The life of a push.
  let life: Duration

  /// Registers a client's address, in place of its former one, and takes it from another client that has it.
  ///
  /// - Parameter hasRoom: whether there may be one more client.
  /// - Returns: how many clients there are more.
  /// - Throws: 401 if what the client has signed would be undone without its signature, or 503 without room.
  func register(
    _ client: ClientKey, at address: PushAddress, isRaw: Bool, isSigned: Bool, hasRoom: Bool
  ) async throws -> Int {
    let now = clock()
    return try await store.write { transaction in
      let isHeld = try transaction.exists(
        "SELECT 1 FROM pushserver_clients WHERE is_signed = 1 AND (client = ? OR token = ?)",
        client.bytes, address.text)
      guard isSigned || !isHeld else { throw HTTPError.authentication }
      let losers: [[UInt8]] = try transaction.values(
        "DELETE FROM pushserver_clients WHERE token = ? AND client <> ? RETURNING client",
        address.text, client.bytes)
      for loser in losers { try queue.drop(loser, transaction) }
      let former: PushKind? = try transaction.value(
        "SELECT kind FROM pushserver_clients WHERE client = ?", client.bytes)
      let more = (former == nil ? 1 : 0) - losers.count
      guard more < 1 || hasRoom else {
        throw HTTPError(
          .serviceUnavailable, "there are as many clients as there may be", retryAfter: 60)
      }
      try transaction.execute(
        """
        INSERT INTO pushserver_clients VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (client) DO UPDATE SET kind = excluded.kind, token = excluded.token,
          is_raw = excluded.is_raw, is_signed = excluded.is_signed,
          registered_at = excluded.registered_at, used_at = excluded.used_at
        """, client.bytes, address.kind, address.text, isRaw, isSigned, now, now)
      if former == address.kind {
        try queue.readdress(client.bytes, to: address, transaction)
      } else {
        try queue.drop(client.bytes, transaction)
      }
      return more
    }
  }

  /// Deletes a client and what waits for it.
  ///
  /// - Returns: whether there was one.
  /// - Throws: 401 if a signed request made it, and this one isn't signed.
  func delete(_ client: ClientKey, isSigned: Bool) async throws -> Bool {
    try await store.write { transaction in
      let wasSigned: Bool? = try transaction.value(
        "DELETE FROM pushserver_clients WHERE client = ? RETURNING is_signed", client.bytes)
      if wasSigned == true, !isSigned { throw HTTPError.authentication }
      try queue.drop(client.bytes, transaction)
      return wasSigned != nil
    }
  }

  func payload(of push: Push) -> PushPayload? {
    RelayedMessage(content: push.content)?.payload(for: push.address.kind)
  }

  /// Deletes a client whose address has ended, if it still has it.
  func end(_ push: Push, boundBefore: Timestamp?, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "DELETE FROM pushserver_clients WHERE client = ? AND token = ? AND registered_at < ?",
      push.device, push.address.text, boundBefore ?? Timestamp(milliseconds: .max))
    guard transaction.changes > 0 else { return }
    try queue.drop(push.device, evenLeased: true, transaction)
  }

  /// Queues a message for a client, of its two forms the one that the client takes, unless it came before.
  ///
  /// - Throws: the refusal of a message that lacks what the client takes.
  func take(_ request: RelayRequest, for client: ClientKey) async throws -> RequestOutcome {
    let now = clock()
    return try await store.write(isolation: .rowLocks) { transaction in
      // Locks the client as well.
      let found = try transaction.one(
        """
        UPDATE pushserver_clients SET used_at = ? WHERE client = ? RETURNING kind, token, is_raw
        """, now, client.bytes
      ) { row -> (kind: PushKind, token: String, isRaw: Bool) in
        (try row[0], try row[1], try row[2])
      }
      guard let (kind, token, isRaw) = found else { return .unknown }
      guard let (id, message) = request.message(isRaw: isRaw) else {
        let names = isRaw ? "missing topic, tag, or message field" : "missing id or payload field"
        throw HTTPError.field(names, "missing from request")
      }
      guard message.words != nil else {
        throw HTTPError(.accepted, "json", "blob isn't the base64 of JSON with a title and a body")
      }
      try transaction.execute(
        "INSERT INTO pushserver_messages VALUES (?, ?, ?) ON CONFLICT DO NOTHING", client.bytes,
        SHA256.hash(Array(id.utf8)).bytes, now)
      guard transaction.changes > 0 else { return .repeated }
      try transaction.execute(
        """
        DELETE FROM pushserver_messages WHERE client = ? AND taken_at < (
          SELECT taken_at FROM pushserver_messages WHERE client = ?
          ORDER BY taken_at DESC LIMIT 1 OFFSET ?)
        """, client.bytes, client.bytes, Self.remembered - 1)
      try queue.queue(
        message.content, to: PushAddress(stored: kind, Array(token.utf8)), of: client.bytes,
        for: client.bytes, created: now, due: now, expires: now + life, atMost: Self.waiting,
        transaction)
      return .accepted
    }
  }

  /// Deletes clients that nobody used, and identifiers of messages that would be too old today.
  ///
  /// - Parameters:
  ///   - idle: the moment of the last use before which a client goes.
  ///   - stale: the moment before which a message was taken.
  /// - Returns: how many clients there are.
  func tidy(idle: Timestamp, stale: Timestamp) async throws -> Int {
    let steps: [(sql: StaticString, limit: Timestamp)] = [
      (
        """
        DELETE FROM pushserver_clients WHERE client IN (
          SELECT client FROM pushserver_clients WHERE used_at < ? LIMIT ?)
        """, idle
      ),
      (
        """
        DELETE FROM pushserver_messages WHERE (client, message) IN (
          SELECT client, message FROM pushserver_messages WHERE taken_at < ? LIMIT ?)
        """, stale
      ),
    ]
    for (sql, limit) in steps {
      while try await store.write({ transaction in
        try transaction.execute(sql, limit, Self.piece)
        return transaction.changes == Self.piece
      }) {}
    }
    return try await store.read(isOneQuery: true) { snapshot in
      try snapshot.value("SELECT count(*) FROM pushserver_clients") ?? 0
    }
  }
}
