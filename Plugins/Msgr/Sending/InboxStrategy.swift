internal import Storage

/// The devices of a user that have streams.
struct StreamingDevices: Sendable {
  /// The message after which the streams of each device bring everything.
  var starts: [DeviceID: MsgrMessageID] = [:]
  /// The nodes that have the streams, if several share the store.
  var nodes: Set<NodeID> = []
}

/// How a transaction keeps others from the rows that it goes by, and finds out who has streams: the part of ``MsgrStore``
/// that differs between a store of one's own and one that other nodes share.
protocol InboxStrategy: Sendable {
  /// Locks accounts against other transactions until the end of this one; to be called before they are read.
  ///
  /// - Parameter names: the accounts; some may not exist.
  func lock(_ names: [UserName], _ transaction: borrowing Transaction) throws

  /// Waits for others who queue or end pushes to a device, and keeps them waiting until the end of the transaction.
  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) throws

  /// Returns the devices of a user that have streams, before pushes to any of the user's devices are queued: others who
  /// queue or end some wait until the end of the transaction.
  func streams(of name: UserName, _ transaction: borrowing Transaction) throws -> StreamingDevices

  /// Returns the nodes that have streams of a user, if several share the store.
  func nodes(of name: UserName, _ transaction: borrowing Transaction) throws -> [NodeID]

  /// Records a stream of this node, before it brings messages.
  func begin(
    _ stream: Int64, of token: BoundToken, after start: MsgrMessageID,
    _ transaction: borrowing Transaction) throws

  /// Forgets a stream of this node, after its last message.
  func end(_ stream: Int64, _ transaction: borrowing Transaction) throws

  /// Returns the message after which the streams of a token's device bring everything, or nil if it has none.
  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) throws
    -> MsgrMessageID?
}

/// A store that is this process's alone, whose writer runs one transaction after the other.
///
/// The streams are those of this process, looked up while the writer waits. Behind one that has ended, a transaction
/// makes the pushes due that it leaves.
struct LocalInboxStrategy: InboxStrategy {
  /// Returns the devices of a user's streams, each with the message after which the stream began.
  var streams: @Sendable (UserName) -> [(device: DeviceID, start: MsgrMessageID)] = { _ in [] }

  func lock(_ names: [UserName], _ transaction: borrowing Transaction) {}

  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) {}

  func streams(of name: UserName, _ transaction: borrowing Transaction) -> StreamingDevices {
    let streams = streams(name)
    guard !streams.isEmpty else { return StreamingDevices() }
    return StreamingDevices(starts: Dictionary(streams, uniquingKeysWith: min))
  }

  func nodes(of name: UserName, _ transaction: borrowing Transaction) -> [NodeID] { [] }

  func begin(
    _ stream: Int64, of token: BoundToken, after start: MsgrMessageID,
    _ transaction: borrowing Transaction
  ) {}

  func end(_ stream: Int64, _ transaction: borrowing Transaction) {}

  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) -> MsgrMessageID? {
    streams(of: token.name, transaction).starts[token.device]
  }
}

/// A store that other nodes share: rows are locked, and streams are recorded in it.
struct SharedInboxStrategy: InboxStrategy {
  /// This node.
  let node: NodeID

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
      let device: DeviceID = try row[0]
      let start: MsgrMessageID = try row[1]
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

  /// A sender waits for this, and then finds the stream: a message is read when the stream begins, or the stream is
  /// notified of it.
  func begin(
    _ stream: Int64, of token: BoundToken, after start: MsgrMessageID,
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

  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) throws
    -> MsgrMessageID?
  {
    try transaction.one("SELECT min(start) FROM msgr_streams WHERE device_id = ?", token.device) {
      try $0[0] as MsgrMessageID?
    } ?? nil
  }
}
