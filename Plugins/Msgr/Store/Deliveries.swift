internal import Storage

/// The devices of a user that have streams.
struct StreamingDevices: Sendable {
  /// The message after which the streams of each device bring everything.
  var starts: [DeviceID: MessageID] = [:]
  /// The nodes that have the streams, if several share the store.
  var nodes: Set<NodeID> = []

  /// Returns whether a device gets a message by its stream.
  func bring(_ message: MessageID, to device: DeviceID) -> Bool {
    starts[device].map { $0 < message } ?? false
  }
}

/// The part of ``MsgrStore`` that differs between a store of one's own and one that other nodes share: how messages are
/// sent, and how a transaction finds out who else changes the same rows and who has streams.
protocol Deliveries: Sendable {
  /// Sends a message. See ``MsgrStore/send(_:by:)``.
  func send(_ draft: Draft, by sender: Caller, in store: MsgrStore) async throws -> Delivery

  /// Locks accounts against other transactions until the end of this one; to be called before they are read.
  ///
  /// - Parameter names: the accounts; some may not exist.
  func lock(_ names: [UserName], _ transaction: borrowing Transaction) throws

  /// Waits for others who queue or settle pushes to a device, and keeps them waiting until the end of the transaction.
  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) throws

  /// Returns the devices of a user that have streams, before pushes to any of the user's devices are queued: others who
  /// queue or settle some wait until the end of the transaction.
  func streams(of name: UserName, _ transaction: borrowing Transaction) throws -> StreamingDevices

  /// Returns the nodes that have streams of a user, if several share the store.
  func nodes(of name: UserName, _ transaction: borrowing Transaction) throws -> [NodeID]

  /// Notes a stream of this node, before it brings messages.
  func begin(
    _ stream: Int64, of token: BoundToken, after start: MessageID,
    _ transaction: borrowing Transaction) throws

  /// Forgets a stream of this node, after its last message.
  func end(_ stream: Int64, _ transaction: borrowing Transaction) throws

  /// Returns the message after which the streams of a token's device bring everything, or nil if it has none.
  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) throws -> MessageID?
}

/// Deliveries to a store that is this process's alone, whose writer runs one transaction after the other.
///
/// The streams are those of this process, looked up while the writer waits. Behind one that has ended, a transaction settles
/// what it leaves.
struct OwnDeliveries: Deliveries {
  /// Returns the devices of a user's streams, each with the message after which the stream began.
  var streams: @Sendable (UserName) -> [(device: DeviceID, start: MessageID)] = { _ in [] }

  func send(_ draft: Draft, by sender: Caller, in store: MsgrStore) async throws -> Delivery {
    try await store.sendAlone(draft, by: sender)
  }

  func lock(_ names: [UserName], _ transaction: borrowing Transaction) {}

  func lock(_ device: DeviceID, _ transaction: borrowing Transaction) {}

  func streams(of name: UserName, _ transaction: borrowing Transaction) -> StreamingDevices {
    StreamingDevices(starts: Dictionary(streams(name), uniquingKeysWith: min))
  }

  func nodes(of name: UserName, _ transaction: borrowing Transaction) -> [NodeID] { [] }

  func begin(
    _ stream: Int64, of token: BoundToken, after start: MessageID,
    _ transaction: borrowing Transaction
  ) {}

  func end(_ stream: Int64, _ transaction: borrowing Transaction) {}

  func firstStart(of token: BoundToken, _ transaction: borrowing Transaction) -> MessageID? {
    streams(of: token.name, transaction).starts[token.device]
  }
}
