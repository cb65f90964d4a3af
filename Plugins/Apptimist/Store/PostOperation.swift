internal import ApptimistProtocol
internal import Cryptography
internal import Push
internal import Storage
internal import Platform
internal import Formats

/// The delivery of one user's messages where several nodes share the store: those of many users are one call.
enum PostOperation: BatchOperation {
  struct Input: Sendable {
    let copies: ArraySlice<MessageCopy>
    let login: AccountLogin
    let mailboxes: Mailboxes
  }

  /// The outcome of a copy.
  struct Outcome: Sendable {
    let result: Delivered
    /// The nodes that have sessions of the recipient, if it was delivered.
    var nodes: [NodeID] = []
    /// True if it was delivered to a user who has no version 1 any more.
    var isClosed = false
  }

  struct Output: Sendable {
    /// The outcome of each copy; nil for one whose mailbox is full, which is to be delivered by ``run(_:_:)``.
    var outcomes: [Outcome?] = []
    /// The number of wakes that were queued, for this input or another of the call.
    var wakes = 0
  }

  /// A copy counts as one, and so do 16 KiB.
  static func size(of input: Input) -> Int {
    input.copies.reduce(0) { $0 + 1 + $1.data.count >> 14 }
  }

  /// Delivers copies statement by statement, and makes room in full mailboxes.
  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output {
    let mailboxes = input.mailboxes
    try mailboxes.lock(input.copies.map(\.recipient), transaction)
    var pending = PendingDeliveries()
    let results = try mailboxes.deliver(input.copies, from: input.login, &pending, transaction)
    try mailboxes.flushAll(&pending, transaction)
    let outcomes: [Outcome?] = try zip(input.copies, results).map { copy, result in
      guard case .delivered = result, let user = pending.mailbox(of: copy.recipient)?.user else {
        return Outcome(result: result)
      }
      return Outcome(
        result: result, nodes: try SharedDeliveries.nodes(of: user, transaction),
        isClosed: try ApptimistStore.isClosed(user, transaction))
    }
    return Output(outcomes: outcomes, wakes: pending.wakes)
  }

  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Output, any Error>] {
    var parameters = PostgreSQLParameters()
    try write(inputs, to: &parameters)
    var outputs = inputs.map { _ in Output() }
    let call = PipelinedStatement(sql, parameters) { row in
      let (index, result) = try outcome(of: row)
      outputs[index] = try result.get()
    }
    try transaction.pipeline([call], commits: true)
    return outputs.map { .success($0) }
  }

  static let sql: StaticString = """
    SELECT post, results, wakes
    FROM awd_app_post_v2(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """

  static func write(_ inputs: [Input], to parameters: inout PostgreSQLParameters) throws {
    // The place of each message's input, and those of each copy's message and recipient, counted from 1.
    var posts: [Int64] = []
    var headers: [[UInt8]] = []
    var datas: [[UInt8]] = []
    var messages: [Int64] = []
    var recipients: [Int64] = []
    var ids: [[UInt8]] = []
    var keys: [[UInt8]] = []
    var places: [EncryptionPublicKey: Int64] = [:]
    for (post, input) in inputs.enumerated() {
      var previous: MessageCopy?
      for copy in input.copies {
        if previous.map({ !copy.isSame(as: $0) }) ?? true {
          posts.append(Int64(post + 1))
          headers.append(copy.header)
          datas.append(copy.data)
        }
        previous = copy
        messages.append(Int64(posts.count))
        let place = places[copy.recipient] ?? Int64(keys.count + 1)
        if place > keys.count {
          places[copy.recipient] = place
          keys.append(copy.recipient.bytes)
        }
        recipients.append(place)
        ids.append(copy.id.bytes)
      }
    }
    try parameters.append(blobs: inputs.map { $0.login.user.bytes })
    try parameters.append(blobs: inputs.map { $0.login.authenticationKey.bytes })
    try parameters.append(integers: inputs.map { $0.login.isVersion1 ? 1 : 0 })
    try parameters.append(integers: posts)
    try parameters.append(blobs: headers)
    try parameters.append(blobs: datas)
    try parameters.append(blobs: keys)
    try parameters.append(integers: messages)
    try parameters.append(integers: recipients)
    try parameters.append(blobs: ids)
    let limits = inputs[0].mailboxes.limits
    try parameters.append(limits.mailboxEntries)
    try parameters.append(limits.mailboxBytes)
    let wakes = inputs[0].mailboxes.wakes
    let times = wakes?.limits ?? WakeLimits()
    let now = wakes?.clock() ?? Timestamp.now()
    try parameters.append(wakes?.queue.kinds.mask ?? 0)
    try parameters.append(now)
    try parameters.append(times.again.milliseconds)
    try parameters.append(times.interval.milliseconds)
    try parameters.append(times.hold.milliseconds)
    try parameters.append(now + Wakes.life)
  }

  static func outcome(of row: borrowing Row) throws -> (index: Int, Result<Output, any Error>) {
    let output = Output(outcomes: try outcomes(of: row[1]), wakes: try row[2])
    return (try row[0] - 1, .success(output))
  }

  /// Reads the outcomes of one input's copies.
  private static func outcomes(of results: [UInt8]) throws -> [Outcome?] {
    var reader = ByteReader(results)
    var outcomes: [Outcome?] = []
    while reader.remaining > 0 {
      let state = try reader.read(UInt8.self)
      let position = MailboxPosition(rawValue: Int64(bitPattern: try reader.read(UInt64.self)))
      var nodes: [NodeID] = []
      for _ in 0..<(try reader.read(UInt8.self)) {
        nodes.append(NodeID(rawValue: Int64(bitPattern: try reader.read(UInt64.self))))
      }
      switch state {
      case 0, 4:
        outcomes.append(Outcome(result: .delivered(position), nodes: nodes, isClosed: state == 4))
      case 1: outcomes.append(Outcome(result: .known(position)))
      case 2: outcomes.append(Outcome(result: .unknownRecipient))
      case 3: outcomes.append(nil)
      default: throw InconsistentMailbox()
      }
    }
    return outcomes
  }
}
