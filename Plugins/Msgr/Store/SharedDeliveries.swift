internal import Push
internal import Storage

/// Deliveries to a store that other nodes share: rows are locked, and streams are noted in it.
struct SharedDeliveries: Deliveries {
  /// This node.
  let node: NodeID

  func send(_ draft: Draft, by sender: Caller, in store: MsgrStore) async throws -> Delivery {
    let sent = try await store.store.perform(
      SendOperation.Input(store: store, draft: draft, sender: sender), by: SendOperation.self)
    guard let sent else { return try await store.sendAlone(draft, by: sender) }
    store.pushes.noteDropped(sent.dropped)
    return try sent.delivery(of: draft, by: sender)
  }

  /// All transactions lock accounts in one order.
  func lock(_ names: [UserName], _ transaction: borrowing Transaction) throws {
    guard !names.isEmpty else { return }
    try transaction.forEach(
      """
      SELECT 1 FROM msgr_users WHERE username = ANY (string_to_array(?, chr(10)))
      ORDER BY username FOR NO KEY UPDATE
      """, MsgrStore.list(names)
    ) { _ in }
  }

  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) throws {
    try transaction.forEach(
      "SELECT 1 FROM msgr_devices WHERE device_id = ? FOR NO KEY UPDATE", device
    ) { _ in }
  }

  func streams(of name: UserName, _ transaction: borrowing Transaction) throws -> StreamingDevices {
    try transaction.forEach(
      "SELECT 1 FROM msgr_devices WHERE username = ? ORDER BY device_id FOR NO KEY UPDATE", name
    ) { _ in }
    var streams = StreamingDevices()
    try transaction.forEach(
      """
      SELECT s.device_id, s.start, s.node
      FROM msgr_devices d JOIN msgr_streams s USING (device_id) WHERE d.username = ?
      """, name
    ) { row in
      let (device, start): (DeviceID, MessageID) = (try row[0], try row[1])
      streams.starts[device] = min(streams.starts[device] ?? start, start)
      streams.nodes.insert(try row[2])
    }
    return streams
  }

  func nodes(of name: UserName, _ transaction: borrowing Transaction) throws -> [NodeID] {
    try transaction.values(
      """
      SELECT DISTINCT s.node FROM msgr_devices d JOIN msgr_streams s USING (device_id)
      WHERE d.username = ?
      """, name)
  }

  /// A sender waits for this, and then finds the stream: a message is read when the stream begins, or told to it.
  func begin(
    _ stream: Int64, of token: BoundToken, after start: MessageID,
    _ transaction: borrowing Transaction
  ) throws {
    try lock([token.name], transaction)
    try transaction.execute(
      """
      INSERT INTO msgr_streams (node, number, device_id, start)
      SELECT CAST(?1 AS bigint), CAST(?2 AS bigint), device_id, CAST(?3 AS bigint)
      FROM msgr_devices WHERE device_id = ?4 ON CONFLICT DO NOTHING
      """, node, stream, start, token.device)
  }

  func end(_ stream: Int64, _ transaction: borrowing Transaction) throws {
    try transaction.execute("DELETE FROM msgr_streams WHERE node = ? AND number = ?", node, stream)
  }

  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) throws -> MessageID? {
    try transaction.one("SELECT min(start) FROM msgr_streams WHERE device_id = ?", token.device) {
      try $0[0] as MessageID?
    } ?? nil
  }
}
