internal import Cryptography
internal import Push
internal import Storage
internal import Platform

/// The sending of a message where several nodes share the store: messages of many users are one call.
enum SendOperation: BatchOperation {
  struct Input: Sendable {
    let store: MsgrStore
    let draft: Draft
    let sender: Caller
  }

  /// A row of the call's result; see ``MsgrStore/postgreSQLFunctions``.
  struct Sent: Sendable {
    enum Kind: Int, Sendable {
      case stored = 1
      case blocked, known, otherMessage
    }

    let kind: Kind
    let id: MessageID
    let predecessor: MessageID
    let own: MessageID?
    let ownPredecessor: MessageID?
    let pushes: Set<PushKind>
    let nodes: [NodeID]
    let ownNodes: [NodeID]
    let time: Timestamp
    /// The pushes of the whole batch that went because too many waited for their devices.
    let dropped: Int
  }

  /// The sent message, or nil if the message is to be sent by itself.
  typealias Output = Sent?

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output { nil }

  static let sql: StaticString = """
    SELECT place, kind, id, predecessor, own_id, own_predecessor, providers, nodes, own_nodes,
      sent_at, dropped
    FROM awd_msgr_send_v3(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  static func write(_ inputs: [Input], to parameters: inout PostgreSQLParameters) throws {
    let batch = Batch(inputs)
    try parameters.append(texts: batch.users)
    try parameters.append(blobs: inputs.map { $0.sender.tokenBytes })
    try parameters.append(texts: inputs.map { $0.sender.passwordText })
    try parameters.append(integers: batch.senders)
    try parameters.append(integers: batch.recipients)
    try parameters.append(texts: inputs.map { $0.draft.text.text })
    try parameters.append(texts: inputs.map { $0.draft.clientID?.text })
    try parameters.append(blobs: inputs.map { $0.draft.clientID == nil ? nil : $0.draft.digest })
    try parameters.append(texts: inputs.map { $0.sender.device?.text })
    let store = inputs[0].store
    let (now, limits) = (store.now, store.limits)
    try parameters.append(now)
    try parameters.append(MessageID(earliestAt: now))
    try parameters.append(limits.inbox)
    try parameters.append(now + limits.messageAge)
    try parameters.append(now + limits.pushHold)
    try parameters.append(now - limits.tokenAge)
    try parameters.append(now - MsgrStore.tokenUseStep)
    try parameters.append(store.pushes.kinds.mask)
    try parameters.append(now - MsgrStore.clientIDAge)
    try parameters.append(MsgrStore.clientIDs)
    try parameters.append(store.webPushLimit)
  }

  static func outcome(of row: borrowing Row) throws -> (index: Int, Result<Output, any Error>) {
    (try row[0] - 1, .success(try Sent(row)))
  }

  /// The users of a batch, each once, and the places of each message's users among them, counted from 1.
  private struct Batch {
    var users: [String] = []
    var senders: [Int64] = []
    /// The recipients; nil for a second message of the batch with the same name, as the first may not be stored.
    var recipients: [Int64?] = []
    private var places: [UserName: Int64] = [:]

    init(_ inputs: [Input]) {
      var names: Set<String> = []
      for input in inputs {
        let sender = place(of: input.sender.name)
        senders.append(sender)
        let name = input.draft.clientID.map { "\(sender) \($0.text)" }
        let isNew = name.map { names.insert($0).inserted } ?? true
        recipients.append(isNew ? place(of: input.draft.recipient) : nil)
      }
    }

    private mutating func place(of user: UserName) -> Int64 {
      if let place = places[user] { return place }
      users.append(user.text)
      places[user] = Int64(users.count)
      return Int64(users.count)
    }
  }
}

extension SendOperation.Sent {
  /// Reads a row; nil if the message is to be sent by itself.
  fileprivate init?(_ row: borrowing Row) throws {
    let number: Int? = try row[1]
    guard let number, let kind = Kind(rawValue: number) else { return nil }
    self.kind = kind
    (id, predecessor) = (try row[2], try row[3] as MessageID? ?? .zero)
    (own, ownPredecessor) = (try row[4], try row[5])
    pushes = Set(mask: try row[6])
    (nodes, ownNodes) = (Self.nodes(try row[7]), Self.nodes(try row[8]))
    time = try row[9]
    dropped = try row[10]
  }

  private static func nodes(_ list: String?) -> [NodeID] {
    Set((list ?? "").split(separator: ",").compactMap { Int64($0) }).map(NodeID.init(rawValue:))
  }

  /// Describes the delivery of the message.
  func delivery(of draft: Draft, by sender: Caller) throws(RequestRefusal) -> Delivery {
    guard kind != .otherMessage else { throw .otherMessage }
    var delivery = Delivery(id: id, isStored: kind == .stored, own: own)
    delivery.pushes = pushes
    if kind == .stored {
      let message = Message(
        id: id, sender: sender.name, text: draft.text, time: time, isAddRequest: false)
      delivery.entries.append(
        LogEntry(user: draft.recipient, predecessor: predecessor, message: message, nodes: nodes))
    }
    if let own, let ownPredecessor {
      let copy = Message(ownCopy: draft, of: sender, id: own, time: time)
      delivery.entries.append(
        LogEntry(user: sender.name, predecessor: ownPredecessor, message: copy, nodes: ownNodes))
    }
    return delivery
  }
}

extension Caller {
  fileprivate var tokenBytes: [UInt8]? {
    guard case .token(let token) = self else { return nil }
    return token.hash.digest.bytes
  }

  fileprivate var passwordText: String? {
    guard case .password(_, let hash) = self else { return nil }
    return hash.text
  }
}
