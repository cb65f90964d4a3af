internal import Push
internal import Storage

/// The delivery of users' messages where several nodes share the store: those of many users are one transaction of two round
/// trips, one that locks and reads and one that writes and commits. ``DeliveryPlan`` decides in between.
enum PostOperation: BatchOperation {
  struct Input: Sendable {
    let request: DeliveryRequest
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
    /// The number of wakes that were queued, for this input or another of the batch.
    var wakes = 0
  }

  /// A copy counts as one, and so do 16 KiB.
  static func size(of input: Input) -> Int {
    input.request.copies.reduce(0) { $0 + 1 + ($1.data.count >> 14) }
  }

  /// Delivers copies statement by statement, and makes room in full mailboxes.
  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output {
    let mailboxes = input.mailboxes
    let copies = input.request.copies
    try mailboxes.lock(copies.map(\.recipient), transaction)
    var pending = PendingDeliveries()
    let results = try mailboxes.deliver(
      copies, from: input.request.login, &pending, transaction)
    try mailboxes.flushAll(&pending, transaction)
    let outcomes: [Outcome?] = try zip(copies, results).map { copy, result in
      guard case .delivered = result, let user = pending.mailbox(of: copy.recipient)?.user else {
        return Outcome(result: result)
      }
      return Outcome(
        result: result, nodes: try SharedDelivery.nodes(of: user, transaction),
        isClosed: try ApptimistStore.isClosed(user, transaction))
    }
    return Output(outcomes: outcomes, wakes: pending.wakes)
  }

  /// Delivers the copies of many users, but for those whose mailboxes are full.
  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Output, any Error>] {
    guard let mailboxes = inputs.first?.mailboxes else { return [] }
    let requests = inputs.map(\.request)
    var batch = PostBatch(requests, mailboxes)
    try batch.read(transaction)
    let isOutdated = requests.map { !batch.isCurrent($0.forums) }
    let current = zip(requests, isOutdated).map { request, isOutdated in
      isOutdated ? DeliveryRequest(copies: [], login: request.login) : request
    }
    let plan = DeliveryPlan(current, batch.facts, mailboxes.limits)
    let wakes = mailboxes.wakes.map { wakes in
      WakePlan(plan.news, batch.devices, kinds: wakes.queue.kinds, at: batch.now, wakes.limits)
    }
    try batch.write(plan, wakes, transaction)
    var outputs = zip(current, plan.decisions).map { request, decisions in
      let outcomes = zip(request.copies, decisions).map { copy, decision in
        batch.outcome(decision, for: copy.recipient)
      }
      return Output(outcomes: outcomes)
    }
    // Those of all requests are reported once.
    if !outputs.isEmpty { outputs[0].wakes = wakes?.wakes.count ?? 0 }
    return zip(outputs, isOutdated).map { output, isOutdated in
      isOutdated ? .failure(ForumsChanged()) : .success(output)
    }
  }
}
