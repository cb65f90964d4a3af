internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Platform
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
    input.request.copies.reduce(0) { $0 + 1 + $1.data.count >> 14 }
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
    var batch = PostBatch(requests, wakes: mailboxes.wakes)
    try batch.read(transaction)
    let plan = DeliveryPlan(requests, batch.facts, mailboxes.limits)
    let wakes = mailboxes.wakes.map { wakes in
      WakePlan(plan.news, batch.devices, kinds: wakes.queue.kinds, at: batch.now, wakes.limits)
    }
    try batch.write(plan, wakes, transaction)
    let count = wakes?.wakes.count ?? 0
    return zip(requests, plan.decisions).enumerated().map { index, request in
      let outcomes = zip(request.0.copies, request.1).map { copy, decision in
        batch.outcome(decision, for: copy.recipient)
      }
      return .success(Output(outcomes: outcomes, wakes: index == 0 ? count : 0))
    }
  }
}

/// The statements of a ``PostOperation`` for many inputs.
private struct PostBatch {
  /// A recipient and a sender, to whose share in the recipient's mailbox the messages belong.
  private struct Pair: Hashable {
    let recipient: EncryptionPublicKey
    let sender: EncryptionPublicKey
  }

  private(set) var facts = DeliveryFacts()
  private(set) var devices: [WakePlan.Device] = []
  /// The time, as the wakes go by it.
  let now: Timestamp
  private let requests: [DeliveryRequest]
  private let wakes: Wakes?
  private let recipients: [EncryptionPublicKey]
  private let pairs: [Pair]
  private var nodes: [AccountNumber: [NodeID]] = [:]
  private var closed: Set<AccountNumber> = []
  private var holders: [Pair: ShareHolder] = [:]
  private var numbers: [LogNumber] = []

  init(_ requests: [DeliveryRequest], wakes: Wakes?) {
    self.requests = requests
    self.wakes = wakes
    now = wakes?.clock() ?? Timestamp.now()
    var recipients: Set<EncryptionPublicKey> = []
    var pairs: Set<Pair> = []
    for request in requests {
      for copy in request.copies {
        recipients.insert(copy.recipient)
        pairs.insert(Pair(recipient: copy.recipient, sender: request.login.user))
      }
    }
    self.recipients = Array(recipients)
    self.pairs = Array(pairs)
  }

  func outcome(
    _ decision: DeliveryPlan.Decision, for recipient: EncryptionPublicKey
  ) -> PostOperation.Outcome? {
    guard let result = Delivered(decision) else { return nil }
    var outcome = PostOperation.Outcome(result: result)
    if case .delivered = result, let user = facts.mailboxes[recipient]?.user {
      outcome.nodes = nodes[user] ?? []
      outcome.isClosed = closed.contains(user)
    }
    return outcome
  }

  // MARK: - The first round trip

  /// Locks the mailboxes, then the recipients' devices, each in one order, and reads what the plan needs. What is read after
  /// a lock has a statement of its own, so that it sees what was committed before.
  ///
  /// Everything is looked up for each row by itself (`LATERAL`, kept apart by `OFFSET 0` or a lock). A plain join of a table
  /// that was nearly empty when the statement was planned would go through all of it, long after it has grown.
  mutating func read(_ transaction: borrowing Transaction) throws {
    var facts = DeliveryFacts()
    var closed: Set<AccountNumber> = []
    var nodes: [AccountNumber: [NodeID]] = [:]
    var holders: [Pair: ShareHolder] = [:]
    var devices: [WakePlan.Device] = []
    var numbers: [LogNumber] = []
    let recipients = recipients
    let pairs = pairs
    // The recipients' devices are read below.
    let hasWakes = wakes != nil
    let copies = requests.flatMap { $0.copies }
    var keys = PostgreSQLParameters()
    try keys.append(blobs: recipients.map(\.bytes))
    var statements = [
      PipelinedStatement(
        """
        SELECT o.n, q.owner, q.last_position, q.entries, q.bytes, o.is_closed
        FROM (
          SELECT k.n, u.id, u.is_closed
          FROM unnest(?) WITH ORDINALITY AS k (key, n) CROSS JOIN LATERAL (
            SELECT id, is_closed FROM apptimist_users WHERE key = k.key AND kind = 0 OFFSET 0) u
          ORDER BY u.id) o
        CROSS JOIN LATERAL (
          SELECT owner, last_position, entries, bytes FROM apptimist_queues
          WHERE owner = o.id FOR NO KEY UPDATE) q
        """, keys
      ) { row in
        let mailbox = DeliveryFacts.Mailbox(
          user: try row[1], last: try row[2], entries: try row[3], bytes: try row[4],
          isBound: hasWakes)
        facts.mailboxes[recipients[try row[0] as Int - 1]] = mailbox
        if try row[5] as Bool { closed.insert(mailbox.user) }
      }
    ]
    if hasWakes {
      statements.append(
        PipelinedStatement(
          """
          SELECT 1
          FROM (
            SELECT u.id FROM unnest(?) AS k (key) CROSS JOIN LATERAL (
              SELECT id FROM apptimist_users WHERE key = k.key OFFSET 0) u
            ORDER BY u.id) o
          CROSS JOIN LATERAL (
            SELECT 1 FROM apptimist_addresses WHERE owner = o.id
            ORDER BY device FOR NO KEY UPDATE) a
          """, keys))
      statements.append(
        PipelinedStatement(
          """
          SELECT a.owner, a.device, a.woken, a.woken_at, a.is_waiting, a.is_open, a.outbox, a.kind,
            a.address, a.tag, a.flags, a.keys
          FROM unnest(?) AS k (key) CROSS JOIN LATERAL (
            SELECT id FROM apptimist_users WHERE key = k.key OFFSET 0) u
          CROSS JOIN LATERAL (
            SELECT * FROM apptimist_sleepers WHERE owner = u.id OFFSET 0) a
          ORDER BY a.owner, a.device
          """, keys
        ) { row in devices.append(try WakePlan.Device(row)) })
    }
    statements.append(
      PipelinedStatement(
        """
        SELECT u.id, s.node
        FROM unnest(?) AS k (key) CROSS JOIN LATERAL (
          SELECT id FROM apptimist_users WHERE key = k.key OFFSET 0) u
        CROSS JOIN LATERAL (
          SELECT node FROM apptimist_sessions WHERE owner = u.id OFFSET 0) s
        """, keys
      ) { row in
        let node: NodeID = try row[1]
        if nodes[try row[0], default: []].contains(node) { return }
        nodes[try row[0], default: []].append(node)
      })
    var messages = PostgreSQLParameters()
    try messages.append(blobs: copies.map(\.recipient.bytes))
    try messages.append(blobs: copies.map { KnownID($0.id).bytes })
    statements.append(
      PipelinedStatement(
        """
        SELECT u.id, k.message, m.position
        FROM unnest(?, ?) AS k (key, message) CROSS JOIN LATERAL (
          SELECT id FROM apptimist_users WHERE key = k.key OFFSET 0) u
        CROSS JOIN LATERAL (
          SELECT position FROM apptimist_message_ids
          WHERE owner = u.id AND message_id = k.message OFFSET 0) m
        """, messages
      ) { row in
        let message = DeliveryFacts.KnownMessage(id: try row[1], user: try row[0])
        facts.known[message] = try row[2]
      })
    var sides = PostgreSQLParameters()
    try sides.append(blobs: pairs.map(\.recipient.bytes))
    try sides.append(blobs: pairs.map(\.sender.bytes))
    statements.append(
      PipelinedStatement(
        """
        SELECT p.n, s.id, s.authentication_key, s.is_closed, s.kind,
          CASE WHEN r.id = s.id OR c.contact IS NOT NULL THEN s.id ELSE -s.site END
        FROM unnest(?, ?) WITH ORDINALITY AS p (recipient, sender, n) CROSS JOIN LATERAL (
          SELECT id, authentication_key, is_closed, kind, site FROM apptimist_users
          WHERE key = p.sender OFFSET 0) s
        LEFT JOIN LATERAL (
          SELECT id FROM apptimist_users WHERE key = p.recipient OFFSET 0) r ON true
        LEFT JOIN LATERAL (
          SELECT contact FROM apptimist_contacts
          WHERE owner = r.id AND contact = s.id OFFSET 0) c ON true
        """, sides
      ) { row in
        let pair = pairs[try row[0] as Int - 1]
        holders[pair] = try row[5]
        guard try row[4] as StoredKind == .user else { return }
        facts.senders[pair.sender] = DeliveryFacts.Sender(
          user: try row[1], authenticationKey: try row[2], isClosed: try row[3])
      })
    var count = PostgreSQLParameters()
    try count.append(copies.count)
    statements.append(
      PipelinedStatement(
        "SELECT nextval('apptimist_contents_id_seq') FROM generate_series(1, ?)", count
      ) { row in numbers.append(try row[0]) })
    try transaction.pipeline(statements)
    self.facts = facts
    self.closed = closed
    self.nodes = nodes
    self.holders = holders
    self.devices = devices
    self.numbers = numbers
  }

  // MARK: - The second round trip

  /// Writes the rows of the plans, set by set, and commits.
  func write(
    _ plan: DeliveryPlan, _ wakePlan: WakePlan?, _ transaction: borrowing Transaction
  ) throws {
    var statements: [PipelinedStatement] = []
    if !plan.messages.isEmpty { statements += try rows(of: plan) }
    if let wakes, let wakePlan { statements += try rows(of: wakePlan, wakes) }
    try transaction.pipeline(statements, commits: true)
  }

  /// A row of `apptimist_shares`, by which it grows.
  private struct Share {
    var entries = 0
    var bytes = 0
    var oldest: MailboxPosition
  }

  private struct ShareKey: Hashable {
    let owner: AccountNumber
    let holder: ShareHolder
  }

  private func rows(of plan: DeliveryPlan) throws -> [PipelinedStatement] {
    let keysOfSenders = Dictionary(
      facts.senders.map { ($0.value.user, $0.key) }, uniquingKeysWith: { first, _ in first })
    var entries = EntryColumns()
    var shares: [ShareKey: Share] = [:]
    for (message, number) in zip(plan.messages, numbers) {
      guard let sender = keysOfSenders[message.sender] else { throw InconsistentMailbox() }
      for addressee in message.addressees {
        let pair = Pair(recipient: addressee.key, sender: sender)
        guard let holder = holders[pair] else { throw InconsistentMailbox() }
        entries.append(addressee, holder, message.size, number)
        let key = ShareKey(owner: addressee.user, holder: holder)
        var share = shares[key] ?? Share(oldest: addressee.position)
        share.entries += 1
        share.bytes += message.size
        shares[key] = share
      }
    }
    var contents = PostgreSQLParameters()
    try contents.append(integers: zip(plan.messages, numbers).map { $1.rawValue })
    try contents.append(integers: plan.messages.map { Int64($0.addressees.count) })
    try contents.append(integers: plan.messages.map(\.sender.rawValue))
    try contents.append(blobs: plan.messages.map(\.copy.header))
    try contents.append(blobs: plan.messages.map(\.copy.data))
    let changed = shares.sorted {
      ($0.key.owner, $0.key.holder.rawValue) < ($1.key.owner, $1.key.holder.rawValue)
    }
    var additions = PostgreSQLParameters()
    try additions.append(integers: changed.map(\.key.owner.rawValue))
    try additions.append(integers: changed.map(\.key.holder.rawValue))
    try additions.append(integers: changed.map { Int64($0.value.entries) })
    try additions.append(integers: changed.map { Int64($0.value.bytes) })
    try additions.append(integers: changed.map(\.value.oldest.rawValue))
    let mailboxes = Array(plan.mailboxes.values)
    var states = PostgreSQLParameters()
    try states.append(integers: mailboxes.map(\.user.rawValue))
    try states.append(integers: mailboxes.map(\.last.rawValue))
    try states.append(integers: mailboxes.map { Int64($0.entries) })
    try states.append(integers: mailboxes.map { Int64($0.bytes) })
    return [
      PipelinedStatement(
        """
        INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
        SELECT id, holders, sender, '', header, data
        FROM unnest(?, ?, ?, ?, ?) AS m (id, holders, sender, header, data)
        """, contents),
      PipelinedStatement(
        """
        INSERT INTO apptimist_entries (owner, position, kind, sender, size, content, message_id)
        SELECT owner, position, 0, sender, size, content, id
        FROM unnest(?, ?, ?, ?, ?, ?) AS e (owner, position, sender, size, content, id)
        """, try entries.parameters()),
      PipelinedStatement(
        """
        INSERT INTO apptimist_message_ids (owner, message_id, position)
        SELECT owner, id, position FROM unnest(?, ?, ?) AS m (owner, id, position)
        """, try entries.known()),
      PipelinedStatement(
        """
        INSERT INTO apptimist_shares AS s (owner, sender, entries, bytes, oldest)
        SELECT owner, sender, entries, bytes, oldest
        FROM unnest(?, ?, ?, ?, ?) AS a (owner, sender, entries, bytes, oldest)
        ON CONFLICT (owner, sender)
        DO UPDATE SET entries = s.entries + excluded.entries, bytes = s.bytes + excluded.bytes
        """, additions),
      PipelinedStatement(
        """
        UPDATE apptimist_queues q SET last_position = m.last, entries = m.entries, bytes = m.bytes
        FROM unnest(?, ?, ?, ?) AS m (owner, last, entries, bytes) WHERE q.owner = m.owner
        """, states),
    ]
  }

  private func rows(of plan: WakePlan, _ wakes: Wakes) throws -> [PipelinedStatement] {
    var statements: [PipelinedStatement] = []
    if !plan.renewals.isEmpty {
      var renewals = PostgreSQLParameters()
      try renewals.append(blobs: plan.renewals.map(\.outbox))
      try renewals.append(integers: plan.renewals.map(\.position.rawValue))
      try renewals.append(wakes.queue.service)
      statements.append(
        PipelinedStatement(
          """
          UPDATE push_outbox o SET position = r.position
          FROM unnest(?, ?) AS r (device, position)
          WHERE o.service = ? AND o.device = r.device AND o.lease_owner IS NULL
          """, renewals))
    }
    guard !plan.wakes.isEmpty else { return statements }
    var states = PostgreSQLParameters()
    try states.append(integers: plan.wakes.map(\.device.owner.rawValue))
    try states.append(blobs: plan.wakes.map(\.device.device))
    try states.append(integers: plan.wakes.map(\.first.rawValue))
    try states.append(integers: plan.wakes.map(\.due.milliseconds))
    statements.append(
      PipelinedStatement(
        """
        UPDATE apptimist_addresses a
        SET woken = w.position, before_at = a.woken_at, woken_at = w.due
        FROM unnest(?, ?, ?, ?) AS w (owner, device, position, due)
        WHERE a.owner = w.owner AND a.device = w.device
        """, states))
    // In the order of the devices, as the newest pushes of theirs are locked in it.
    let sorted = plan.wakes.sorted {
      $0.device.outbox.lexicographicallyPrecedes($1.device.outbox)
    }
    var pushes = PostgreSQLParameters()
    try pushes.append(wakes.queue.service)
    try pushes.append(now)
    try pushes.append(now + Wakes.life)
    try pushes.append(blobs: sorted.map(\.device.outbox))
    try pushes.append(blobs: sorted.map(\.device.owner.bytes))
    try pushes.append(integers: sorted.map { Int64($0.device.address.kind.rawValue) })
    try pushes.append(blobs: sorted.map(\.device.address.bytes))
    try pushes.append(blobs: sorted.map(\.device.tag))
    try pushes.append(integers: sorted.map(\.last.rawValue))
    try pushes.append(integers: sorted.map(\.due.milliseconds))
    statements.append(
      PipelinedStatement(
        """
        INSERT INTO push_outbox (
          service, device, account, kind, address, push_id, content, urgency, collapse_key, position,
          created_at, expires_at, due_at, is_next)
        SELECT ?1, w.device, w.account, w.kind, w.address, gen_random_uuid()::text, w.tag, 1,
          encode(w.tag, 'hex'), w.position, ?2, ?3, w.due,
          CASE WHEN EXISTS (
            SELECT 1 FROM push_outbox o WHERE o.service = ?1 AND o.device = w.device
            ORDER BY o.id + 0 DESC LIMIT 1 FOR KEY SHARE) THEN 0 ELSE 1 END
        FROM unnest(?4, ?5, ?6, ?7, ?8, ?9, ?10)
          AS w (device, account, kind, address, tag, position, due)
        """, pushes))
    return statements
  }
}

/// The columns of new rows of `apptimist_entries` and `apptimist_message_ids`.
private struct EntryColumns {
  private var owners: [Int64] = []
  private var positions: [Int64] = []
  private var holders: [Int64] = []
  private var sizes: [Int64] = []
  private var contents: [Int64] = []
  private var ids: [[UInt8]] = []
  private var knownIDs: [[UInt8]] = []

  mutating func append(
    _ addressee: Addressee, _ holder: ShareHolder, _ size: Int, _ content: LogNumber
  ) {
    owners.append(addressee.user.rawValue)
    positions.append(addressee.position.rawValue)
    holders.append(holder.rawValue)
    sizes.append(Int64(size))
    contents.append(content.rawValue)
    ids.append(addressee.id.bytes)
    knownIDs.append(KnownID(addressee.id).bytes)
  }

  func parameters() throws -> PostgreSQLParameters {
    var parameters = PostgreSQLParameters()
    try parameters.append(integers: owners)
    try parameters.append(integers: positions)
    try parameters.append(integers: holders)
    try parameters.append(integers: sizes)
    try parameters.append(integers: contents)
    try parameters.append(blobs: ids)
    return parameters
  }

  func known() throws -> PostgreSQLParameters {
    var parameters = PostgreSQLParameters()
    try parameters.append(integers: owners)
    try parameters.append(blobs: knownIDs)
    try parameters.append(integers: positions)
    return parameters
  }
}
