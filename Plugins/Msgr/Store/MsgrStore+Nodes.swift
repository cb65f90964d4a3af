internal import Cryptography
internal import MsgrProtocol
internal import Storage
internal import Time

// What nodes that share the store look up and keep for each other there.
extension MsgrStore {
  /// Whether other nodes may share the store, so that none may keep in memory what others don't see.
  var isShared: Bool { store.isShared }

  /// Waits for those who change accounts, where there are others, and keeps them waiting until the end of the
  /// transaction. It comes before what is to be changed is read.
  ///
  /// - Parameter names: the accounts, of which some may not exist. All transactions lock them in one order.
  func lock(_ names: [UserName], _ transaction: borrowing Transaction) throws {
    guard isShared, !names.isEmpty else { return }
    try transaction.forEach(
      """
      SELECT 1 FROM msgr_users WHERE username = ANY (string_to_array(?, chr(10)))
      ORDER BY username FOR NO KEY UPDATE
      """, Self.list(names)
    ) { _ in }
  }

  /// Waits for those who queue or settle pushes to a device, like ``lock(_:_:)``.
  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) throws {
    guard isShared else { return }
    try transaction.forEach(
      "SELECT 1 FROM msgr_devices WHERE device_id = ? FOR NO KEY UPDATE", device
    ) { _ in }
  }

  /// Waits for those who queue or settle pushes to a user's devices, like ``lock(_:_:)``.
  func lockDevices(of name: UserName, _ transaction: borrowing Transaction) throws {
    guard isShared else { return }
    try transaction.forEach(
      """
      SELECT 1 FROM msgr_devices WHERE username = ? ORDER BY device_id FOR NO KEY UPDATE
      """, name
    ) { _ in }
  }

  /// No name has a line feed.
  private static func list(_ names: [UserName]) -> String {
    names.map(\.text).joined(separator: "\n")
  }

  // MARK: - Streams

  /// A stream among those of all nodes.
  struct NodeStream: Hashable, Sendable {
    let node: NodeID
    let number: Int64
  }

  /// Notes a stream, so that no node has messages pushed that it brings.
  func begin(_ stream: NodeStream, of token: BoundToken, after start: MessageID) async throws {
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        INSERT INTO msgr_streams (node, number, device_id, start)
        SELECT CAST(?1 AS bigint), CAST(?2 AS bigint), device_id, CAST(?3 AS bigint)
        FROM msgr_devices WHERE device_id = ?4 ON CONFLICT DO NOTHING
        """, stream.node, stream.number, start, token.device)
    }
  }

  /// Forgets a stream.
  func end(_ stream: NodeStream) async throws {
    try await store.write(isolation: .rowLocks) { try end(stream, $0) }
  }

  func end(_ stream: NodeStream, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "DELETE FROM msgr_streams WHERE node = ? AND number = ?", stream.node, stream.number)
  }

  /// The streams that are noted of a node.
  func streams(of node: NodeID) async throws -> Set<Int64> {
    try await store.read { snapshot in
      Set(
        try snapshot.all("SELECT number FROM msgr_streams WHERE node = ?", node) {
          try $0[0] as Int64
        })
    }
  }

  /// Returns a user's devices that get messages by streams of any node.
  ///
  /// - Parameter known: those that this process knows, which are all where no other shares the store.
  func streaming(
    _ known: [DeviceID], of name: UserName, _ transaction: borrowing Transaction
  ) throws -> [DeviceID] {
    guard isShared else { return known }
    return try transaction.all(
      """
      SELECT DISTINCT s.device_id FROM msgr_streams s JOIN msgr_devices d USING (device_id)
      WHERE d.username = ?
      """, name
    ) { try $0[0] }
  }

  /// Returns the message after which the streams of a device, on all nodes, bring everything; nil if it has none.
  func firstStart(
    of device: DeviceID, _ transaction: borrowing Transaction
  ) throws -> MessageID? {
    try transaction.one("SELECT min(start) FROM msgr_streams WHERE device_id = ?", device) {
      try $0[0] as MessageID?
    } ?? nil
  }

  // MARK: - News

  /// Looks up the last identifiers of users' logs.
  func lastIDs(of names: [UserName]) async throws -> [(name: UserName, last: MessageID)] {
    let list = Self.list(names)
    return try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT username, last_id FROM msgr_users
        WHERE username = ANY (string_to_array(?, chr(10)))
        """, list
      ) { (try $0[0], try $0[1]) }
    }
  }

  /// Finds the tokens that have ended, of some that were good, at once.
  func endedAtOnce(of tokens: [TokenHash]) async throws -> [TokenHash] {
    let (limit, hashes) = (now - limits.tokenAge, tokens.flatMap(\.digest.bytes))
    return try await store.read { snapshot in
      try snapshot.all(
        """
        SELECT substr(?1, 32 * i + 1, 32) FROM generate_series(0, length(?1) / 32 - 1) i
        WHERE NOT EXISTS (
          SELECT 1 FROM msgr_tokens WHERE hash = substr(?1, 32 * i + 1, 32) AND used_at > ?2)
        """, hashes, limit
      ) { try $0[0] }
    }
  }
}
