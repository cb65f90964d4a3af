internal import PushServerResources
internal import Cryptography
internal import Push
internal import Storage
internal import Platform

/// The clients, and the identifiers of the messages that were accepted for them.
struct PushServerStore: PushSource {
  /// The history of the service's tables. Times are milliseconds since 1970.
  static let migrations =
    Pushes.migrations + [
      Migration(
        owner: PushServerService.name, number: 1,
        sqlite: Resource(pushserver_schema_sqlite_sql()).bytes,
        postgreSQL: Resource(pushserver_schema_postgresql_sql()).bytes)
    ]

  /// The most identifiers of a client's messages that are remembered.
  private static let remembered = 1000
  /// The most pushes that wait for a client.
  private static let waiting = 100
  /// The most rows that one transaction deletes.
  private static let piece = 1000

  let store: Store
  let queue: PushQueue
  let clock: @Sendable () -> Timestamp
  /// The life of a push.
  let life: Duration

  /// Registers a client's address, in place of its former one, and moves it here from another client that has it.
  ///
  /// - Parameters:
  ///   - site: the site that the request comes from; nil for a Unix socket, which counts as one.
  ///   - hasRoom: whether there may be one more client without another one's leaving.
  /// - Returns: how many clients there are more.
  /// - Throws: ``ClientRefusal``: `.notSigned` if an unsigned request would undo one that the client has signed, or
  ///   `.noRoom`.
  func register(
    _ client: ClientKey, at address: PushAddress, isRaw: Bool, isSigned: Bool, from site: String?,
    hasRoom: Bool
  ) async throws -> Int {
    let now = clock()
    let site = site ?? ""
    return try await store.write { transaction in
      let isHeld = try transaction.exists(
        "SELECT 1 FROM pushserver_clients WHERE is_signed = 1 AND (client = ? OR token = ?)",
        client.bytes, address.text)
      guard isSigned || !isHeld else { throw ClientRefusal.notSigned }
      let losers: [[UInt8]] = try transaction.values(
        "DELETE FROM pushserver_clients WHERE token = ? AND client <> ? RETURNING client",
        address.text, client.bytes)
      for loser in losers { try queue.drop(loser, evenLeased: true, transaction) }
      let former: PushKind? = try transaction.value(
        "SELECT kind FROM pushserver_clients WHERE client = ?", client.bytes)
      var more = (former == nil ? 1 : 0) - losers.count
      if more > 0, !hasRoom {
        try makeRoom(for: site, transaction)
        more -= 1
      }
      try transaction.execute(
        """
        INSERT INTO pushserver_clients
          (client, kind, token, is_raw, is_signed, registered_at, used_at, site)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (client) DO UPDATE SET kind = excluded.kind, token = excluded.token,
          is_raw = excluded.is_raw, is_signed = excluded.is_signed,
          registered_at = excluded.registered_at, used_at = excluded.used_at
        """, client.bytes, address.kind, address.text, isRaw, isSigned, now, now, site)
      if former == address.kind {
        try queue.readdress(client.bytes, to: address, transaction)
      } else {
        try queue.drop(client.bytes, evenLeased: true, transaction)
      }
      return more
    }
  }

  /// Makes room for one more client: the site that has most loses one, first of those that were never pushed to.
  ///
  /// - Throws: `.noRoom` if the new client's site has most itself, and the relay pushes to all its clients.
  private func makeRoom(for site: String, _ transaction: borrowing Transaction) throws {
    let largest = try transaction.one(
      "SELECT site, clients FROM pushserver_sites ORDER BY clients DESC, site LIMIT 1"
    ) { (site: try $0[0] as String, clients: try $0[1] as Int) }
    let own: Int =
      try transaction.value(
        "SELECT clients FROM pushserver_sites WHERE site = ?", site) ?? 0
    guard let largest else { throw ClientRefusal.noRoom }
    let victim: [UInt8]? = try transaction.value(
      """
      SELECT client FROM pushserver_clients WHERE site = ? AND is_pushed <= ?
      ORDER BY is_pushed, used_at LIMIT 1
      """, largest.site, largest.clients > own ? 1 : 0)
    guard let victim else { throw ClientRefusal.noRoom }
    try transaction.execute("DELETE FROM pushserver_clients WHERE client = ?", victim)
    try queue.drop(victim, evenLeased: true, transaction)
  }

  /// Deletes a client and its waiting messages.
  ///
  /// - Returns: whether there was one.
  /// - Throws: ``ClientRefusal`` `.notSigned` if a signed request made it, and this one isn't signed.
  func delete(_ client: ClientKey, isSigned: Bool) async throws -> Bool {
    try await store.write { transaction in
      let wasSigned: Bool? = try transaction.value(
        "DELETE FROM pushserver_clients WHERE client = ? RETURNING is_signed", client.bytes)
      if wasSigned == true, !isSigned { throw ClientRefusal.notSigned }
      try queue.drop(client.bytes, evenLeased: true, transaction)
      return wasSigned != nil
    }
  }

  func payload(of push: LeasedPush) -> PushPayload? {
    RelayedMessage(content: push.content)?.payload(for: push.address.kind)
  }

  /// Deletes a client whose address has ended, if it still has it.
  func end(_ push: LeasedPush, boundBefore: Timestamp?, _ transaction: borrowing Transaction) throws
  {
    try transaction.execute(
      "DELETE FROM pushserver_clients WHERE client = ? AND token = ? AND registered_at < ?",
      push.device, push.address.text, boundBefore ?? Timestamp(milliseconds: .max))
    guard transaction.changes > 0 else { return }
    try queue.drop(push.device, evenLeased: true, transaction)
  }

  /// Queues a message for a client in the one of its two forms that the client wants, unless it was queued before.
  ///
  /// - Throws: ``ClientRefusal`` if the message lacks that form.
  func accept(_ request: RelayRequest, for client: ClientKey) async throws -> RequestOutcome {
    let now = clock()
    let (outcome, dropped) = try await store.write(isolation: .rowLocks) {
      transaction -> (RequestOutcome, Int) in
      // Locks the client as well.
      let found = try transaction.one(
        """
        UPDATE pushserver_clients SET used_at = ?, is_pushed = 1 WHERE client = ? RETURNING kind, token, is_raw
        """, now, client.bytes
      ) { row -> (kind: PushKind, token: String, isRaw: Bool) in
        (try row[0], try row[1], try row[2])
      }
      // A client whose push service isn't served any more is none that could be pushed to.
      guard let (kind, token, isRaw) = found, queue.kinds.contains(kind) else {
        return (.unknown, 0)
      }
      guard let (id, message) = request.message(isRaw: isRaw) else {
        let names = isRaw ? "missing topic, tag, or message field" : "missing id or payload field"
        throw ClientRefusal.missing(names)
      }
      guard message.words != nil else { throw ClientRefusal.noWords }
      try transaction.execute(
        "INSERT INTO pushserver_messages VALUES (?, ?, ?) ON CONFLICT DO NOTHING", client.bytes,
        SHA256.hash(Array(id.utf8)).bytes, now)
      guard transaction.changes > 0 else { return (.repeated, 0) }
      try transaction.execute(
        """
        DELETE FROM pushserver_messages WHERE client = ? AND accepted_at < (
          SELECT accepted_at FROM pushserver_messages WHERE client = ?
          ORDER BY accepted_at DESC LIMIT 1 OFFSET ?)
        """, client.bytes, client.bytes, Self.remembered - 1)
      try queue.queue(
        message.content, to: PushAddress(stored: kind, Array(token.utf8)), of: client.bytes,
        for: client.bytes, created: now, due: now, expires: now + life, transaction)
      return (.accepted, try queue.trim(client.bytes, toAtMost: Self.waiting, transaction))
    }
    queue.countDropped(dropped)
    return outcome
  }

  /// Deletes clients that nobody used, and identifiers of messages that would be too old today.
  ///
  /// - Parameters:
  ///   - idle: the moment of the last use before which a client goes.
  ///   - unpushed: the moment of registration before which a client goes that was never pushed to.
  ///   - stale: the moment before which a message was accepted.
  /// - Returns: how many clients there are.
  func tidy(idle: Timestamp, unpushed: Timestamp, stale: Timestamp) async throws -> Int {
    let steps: [(sql: StaticString, limit: Timestamp)] = [
      (
        """
        DELETE FROM pushserver_clients WHERE client IN (
          SELECT client FROM pushserver_clients WHERE used_at < ? LIMIT ?)
        """, idle
      ),
      (
        """
        DELETE FROM pushserver_clients WHERE client IN (
          SELECT client FROM pushserver_clients WHERE is_pushed = 0 AND used_at < ? LIMIT ?)
        """, unpushed
      ),
      (
        """
        DELETE FROM pushserver_messages WHERE (client, message) IN (
          SELECT client, message FROM pushserver_messages WHERE accepted_at < ? LIMIT ?)
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

/// The reason why the store refuses a request.
enum ClientRefusal: Error, Hashable {
  /// The unsigned request would undo one that the client has signed.
  case notSigned
  /// There are as many clients as there may be.
  case noRoom
  /// The message lacks the form that the client wants; the text says which.
  case missing(String)
  /// The message isn't sealed, and has no words to show.
  case noWords
}
