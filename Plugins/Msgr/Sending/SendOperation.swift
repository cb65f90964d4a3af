internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// The sending of messages where several nodes share the store: many are decided together, in two trips to PostgreSQL.
enum SendOperation: BatchOperation {
  struct Input: Sendable {
    let store: MsgrStore
    let draft: Draft
    let sender: Caller
  }

  /// Sends a message by itself, as a store of one's own has no batches.
  static func run(_ input: Input, _ transaction: borrowing Transaction) -> SendPlan.Outcome {
    .alone
  }

  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<SendPlan.Outcome, any Error>] {
    guard let store = inputs.first?.store else { return [] }
    let posts = inputs.map { InboxPost($0.draft, by: $0.sender) }
    let outcomes = try deliver(
      posts, by: inputs.map(\.sender), in: store, commits: true, transaction)
    return outcomes.map { .success($0) }
  }

  /// Locks, reads, decides and writes.
  ///
  /// - Parameters:
  ///   - callers: the senders, each of whom is confirmed; nil for posts whose senders are.
  ///   - commits: whether the transaction ends with that.
  static func deliver(
    _ posts: [InboxPost], by callers: [Caller]? = nil, in store: MsgrStore, commits: Bool,
    _ transaction: borrowing Transaction
  ) throws -> [SendPlan.Outcome] {
    let now = store.now
    var reading = SendReading(SendBatch(posts), callers, store, at: now)
    try reading.read(transaction)
    var plan = plan(reading.batch, reading.facts, now: now, store.sendLimits)
    var queued = SendPlan.QueuedPushes()
    let statements = try SendWriting(plan, store, at: now).statements(
      leased: { queued.leased[$0] = $1 }, dropped: { queued.dropped += $0 })
    if !statements.isEmpty { try transaction.pipeline(statements, commits: commits) }
    plan.record(queued)
    return plan.outcomes
  }
}

/// The first trip: locks accounts, then devices, each in one order, and reads what the plan needs.
///
/// A read after a lock needs a statement of its own, which sees what was committed until then. Everything is looked up for each
/// row by itself (`LATERAL`, kept apart by `OFFSET 0` or a lock, or a subquery): a plain join of a table that was nearly empty
/// when the statement was planned would go through all of it, long after it has grown.
private struct SendReading {
  let batch: SendBatch
  private(set) var facts: SendFacts
  private let callers: [Caller]?
  private let store: MsgrStore
  private let now: Timestamp

  init(_ batch: SendBatch, _ callers: [Caller]?, _ store: MsgrStore, at now: Timestamp) {
    self.batch = batch
    self.callers = callers
    self.store = store
    self.now = now
    facts = SendFacts(for: batch)
  }

  /// What the rows of a trip say, which closures of statements fill.
  private final class Rows {
    var accounts: [(index: Int, account: SendFacts.Account, streams: Bool)] = []
    var devices: [(index: Int, device: DeviceRow)] = []
    var nodes: [(index: Int, node: NodeID)] = []
    var posts: [(index: Int, row: PostRow)] = []
    var earlier: [(index: Int, send: SendFacts.EarlierSend)] = []
  }

  /// A device with one of its streams. One with several has a row for each.
  private struct DeviceRow {
    let device: PushedDevice?
    let start: MsgrMessageID?
    let node: NodeID?
  }

  private struct PostRow {
    let tokenUse: Timestamp?
    let hasPassword: Bool
    let isBlocked: Bool
    let hasWritten: Bool
  }

  mutating func read(_ transaction: borrowing Transaction) throws {
    let rows = Rows()
    var statements = [
      try accounts(into: rows), try devices(into: rows), try nodes(into: rows),
      try posts(into: rows),
    ]
    if let names = try names(into: rows) { statements.append(names) }
    try transaction.pipeline(statements)
    apply(rows)
  }

  /// The accounts that are locked: those that get messages, those that name some, and senders who have devices that stream.
  private func accounts(into rows: Rows) throws -> PipelinedStatement {
    var isNeeded = Array(repeating: false, count: batch.accounts.count)
    var isSender = isNeeded
    for (index, post) in batch.posts.enumerated() {
      isNeeded[batch.recipients[index]] = true
      guard let sender = batch.senders[index] else { continue }
      isSender[sender] = true
      if post.personal?.clientID != nil { isNeeded[sender] = true }
    }
    let order = inOrder(batch.accounts.indices)
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: order.map { batch.accounts[$0].text })
    try parameters.append(booleans: order.map { isNeeded[$0] })
    try parameters.append(booleans: order.map { isSender[$0] })
    try parameters.append(integers: order.map { Int64($0) })
    return PipelinedStatement(
      """
      SELECT u.messages, u.unread, u.last_id, u.sent, u.named, u.last_number, r.n,
        CASE WHEN s.streams THEN 1 ELSE 0 END
      FROM (
        SELECT unnest(?) AS name, unnest(?) AS is_needed, unnest(?) AS is_sender, unnest(?) AS n
      ) AS r
        CROSS JOIN LATERAL (
          SELECT CASE WHEN r.is_sender THEN EXISTS (
            SELECT 1 FROM msgr_devices d
            WHERE d.username = r.name AND substr(d.device_id, 1, 7) = 'stream:')
          ELSE false END AS streams OFFSET 0) s
        CROSS JOIN LATERAL (
          SELECT messages, unread, last_id, sent, named, last_number FROM msgr_users
          WHERE username = r.name AND disabled_password IS NULL AND (r.is_needed OR s.streams)
          FOR NO KEY UPDATE) u
      """, parameters
    ) { row in
      rows.accounts.append(
        (index: try row[6], account: try SendFacts.Account(row), streams: try row[7]))
    }
  }

  /// The indices of accounts in the order of the locks, which is that of their names' bytes.
  private func inOrder(_ indices: some Sequence<Int>) -> [Int] {
    indices.sorted { left, right in
      batch.accounts[left].text.utf8.lexicographicallyPrecedes(batch.accounts[right].text.utf8)
    }
  }

  /// The devices of the recipients, locked, with their streams, which are under the accounts' locks. They are ordered by an
  /// expression, so that no index in their order is walked through for it.
  private func devices(into rows: Rows) throws -> PipelinedStatement {
    let recipients = inOrder(Set(batch.recipients))
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: recipients.map { batch.accounts[$0].text })
    try parameters.append(integers: recipients.map { Int64($0) })
    return PipelinedStatement(
      """
      SELECT d.device_id, d.endpoint, d.p256dh, d.auth, d.is_declarative, r.n, s.start, s.node
      FROM (SELECT unnest(?) AS name, unnest(?) AS n) AS r CROSS JOIN LATERAL (
        SELECT device_id, endpoint, p256dh, auth, is_declarative FROM msgr_devices
        WHERE username = r.name ORDER BY device_id || '' FOR NO KEY UPDATE) d
      LEFT JOIN LATERAL (
        SELECT start, node FROM msgr_streams WHERE device_id = d.device_id OFFSET 0) s ON true
      """, parameters
    ) { row in
      rows.devices.append(
        (
          index: try row[5],
          device: DeviceRow(device: try PushedDevice(row), start: try row[6], node: try row[7])
        ))
    }
  }

  /// The nodes that have streams of those who send and keep copies.
  private func nodes(into rows: Rows) throws -> PipelinedStatement {
    let senders = Set(batch.senders.compactMap(\.self)).subtracting(batch.recipients).sorted()
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: senders.map { batch.accounts[$0].text })
    try parameters.append(integers: senders.map { Int64($0) })
    return PipelinedStatement(
      """
      SELECT r.n, s.node
      FROM (SELECT unnest(?) AS name, unnest(?) AS n) AS r CROSS JOIN LATERAL (
        SELECT 1 FROM msgr_devices
        WHERE username = r.name AND substr(device_id, 1, 7) = 'stream:' LIMIT 1) k
      CROSS JOIN LATERAL (
        SELECT device_id FROM msgr_devices WHERE username = r.name OFFSET 0) d
      CROSS JOIN LATERAL (
        SELECT node FROM msgr_streams WHERE device_id = d.device_id OFFSET 0) s
      """, parameters
    ) { row in rows.nodes.append((index: try row[0], node: try row[1])) }
  }

  /// What the store has of each message's sender.
  private func posts(into rows: Rows) throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(blobs: batch.posts.indices.map { callers?[$0].tokenBytes })
    try parameters.append(texts: batch.posts.indices.map { callers?[$0].passwordText })
    try parameters.append(texts: batch.posts.map(\.sender.text))
    // A list that is looked up takes a search for each of its members, but none for NULL.
    try parameters.append(texts: batch.posts.map { $0.otherOwner?.text })
    try parameters.append(texts: batch.posts.map(\.recipient.text))
    try parameters.append(integers: batch.posts.indices.map { Int64($0) })
    return PipelinedStatement(
      """
      SELECT m.n,
        (SELECT t.used_at FROM msgr_tokens t
         WHERE t.hash = m.token AND t.username = m.sender LIMIT 1),
        CASE WHEN m.password IS NOT NULL THEN (
          SELECT 1 FROM msgr_users u
          WHERE u.username = m.sender AND u.password = m.password LIMIT 1) END,
        (SELECT 1 FROM msgr_blocks b
         WHERE b.username = m.recipient AND b.blocked IN (m.sender, m.owner) LIMIT 1),
        (SELECT 1 FROM msgr_acquaintances a
         WHERE a.username = m.sender AND a.other = m.recipient LIMIT 1)
      FROM (
        SELECT unnest(?) AS token, unnest(?) AS password, unnest(?) AS sender, unnest(?) AS owner,
          unnest(?) AS recipient, unnest(?) AS n) AS m
      """, parameters
    ) { row in
      let hasPassword: Int? = try row[2]
      let isBlocked: Int? = try row[3]
      let hasWritten: Int? = try row[4]
      rows.posts.append(
        (
          index: try row[0],
          row: PostRow(
            tokenUse: try row[1], hasPassword: hasPassword != nil, isBlocked: isBlocked != nil,
            hasWritten: hasWritten != nil)
        ))
    }
  }

  /// The messages that were sent before under the same names; nil if none has a name.
  private func names(into rows: Rows) throws -> PipelinedStatement? {
    let named = batch.posts.indices.filter { batch.posts[$0].personal?.clientID != nil }
    guard !named.isEmpty else { return nil }
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: named.map { batch.posts[$0].sender.text })
    try parameters.append(texts: named.map { batch.posts[$0].personal?.clientID?.text })
    try parameters.append(integers: named.map { Int64($0) })
    try parameters.append(now - MsgrStore.clientIDAge)
    return PipelinedStatement(
      """
      SELECT m.n, c.content, c.id, c.own_id
      FROM (
        SELECT unnest(?1) AS sender, unnest(?2) AS client_id, unnest(?3) AS n
      ) AS m CROSS JOIN LATERAL (
        SELECT content, id, own_id FROM msgr_client_ids
        WHERE sender = m.sender AND client_id = m.client_id AND sent_at > ?4 LIMIT 1) c
      """, parameters
    ) { row in
      rows.earlier.append(
        (
          index: try row[0],
          send: SendFacts.EarlierSend(digest: try row[1], id: try row[2], own: try row[3])
        ))
    }
  }

  private mutating func apply(_ rows: Rows) {
    var streaming: Set<Int> = []
    for (index, account, streams) in rows.accounts {
      facts.accounts[index] = account
      if streams { streaming.insert(index) }
    }
    for (index, row) in rows.devices {
      if let node = row.node { addNode(node, of: index) }
      if let device = row.device { addDevice(device, row.start, of: index) }
    }
    for (index, node) in rows.nodes { addNode(node, of: index) }
    for (index, row) in rows.posts {
      facts.posts[index].isBlocked = row.isBlocked
      facts.posts[index].hasWritten = row.hasWritten
      facts.posts[index].keepsCopies = batch.senders[index].map(streaming.contains) ?? false
      confirm(index, row)
    }
    for (index, send) in rows.earlier { facts.posts[index].earlier = send }
  }

  private mutating func addNode(_ node: NodeID, of account: Int) {
    guard !facts.nodes[account].contains(node) else { return }
    facts.nodes[account].append(node)
  }

  /// Adds a device that is pushed to, or another stream of one that was added.
  private mutating func addDevice(
    _ device: PushedDevice, _ start: MsgrMessageID?, of account: Int
  ) {
    guard store.pushes.kinds.contains(device.address.kind) else { return }
    guard let known = facts.devices[account].firstIndex(where: { $0.device.id == device.id })
    else { return facts.devices[account].append(SendFacts.Device(device: device, start: start)) }
    let starts = [facts.devices[account][known].start, start].compactMap(\.self)
    facts.devices[account][known] = SendFacts.Device(device: device, start: starts.min())
  }

  /// Confirms that a caller's password or token still stands.
  private mutating func confirm(_ index: Int, _ row: PostRow) {
    switch callers?[index] {
    case nil: break
    case .password: facts.posts[index].isConfirmed = row.hasPassword
    case .wallet: facts.posts[index].isConfirmed = false
    case .token(let token):
      guard let use = row.tokenUse, use > now - store.limits.tokenAge else {
        facts.posts[index].isConfirmed = false
        return
      }
      if use < now - MsgrStore.tokenUseStep { facts.posts[index].token = token.hash }
    }
  }
}

/// The second trip: writes a plan, each table by one statement.
private struct SendWriting {
  private let plan: SendPlan
  private let store: MsgrStore
  private let now: Timestamp

  init(_ plan: SendPlan, _ store: MsgrStore, at now: Timestamp) {
    self.plan = plan
    self.store = store
    self.now = now
  }

  /// Returns the statements of all tables that change. The accounts' counters come before what triggers count.
  ///
  /// - Parameters:
  ///   - leased: receives the pushes that were leased, with their indices.
  ///   - dropped: receives the number of pushes that went because too many waited.
  func statements(
    leased: @escaping (Int, LeasedPush) -> Void, dropped: @escaping (Int) -> Void
  ) throws -> [PipelinedStatement] {
    var statements: [PipelinedStatement] = []
    if !plan.tokens.isEmpty { statements.append(try tokens()) }
    if !plan.accounts.isEmpty { statements.append(try accounts()) }
    if !plan.inbox.isEmpty { statements.append(try inbox()) }
    if !plan.copies.isEmpty { statements.append(try copies()) }
    if !plan.names.isEmpty { statements.append(try names()) }
    if !plan.acquaintances.isEmpty { statements.append(try acquaintances()) }
    if !plan.pushes.isEmpty { statements.append(try pushes(leased: leased)) }
    if !plan.copiesToDrop.isEmpty { statements.append(try copiesToDrop()) }
    if !plan.namesToDrop.isEmpty { statements.append(try namesToDrop()) }
    let browsers = plan.pushes.filter { $0.isFirst && $0.device.address.kind == .web }
    if !browsers.isEmpty {
      statements.append(
        try store.pushes.trimming(
          of: browsers.map { Array($0.device.id.text.utf8) }, toAtMost: store.webPushLimit,
          dropped: dropped))
    }
    return statements
  }

  private func tokens() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(now)
    try parameters.append(blobs: plan.tokens.map(\.digest.bytes))
    return PipelinedStatement(
      "UPDATE msgr_tokens SET used_at = ? WHERE hash = ANY (?)", parameters)
  }

  private func accounts() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    let counters = plan.accounts.map(\.counters)
    try parameters.append(texts: plan.accounts.map(\.name.text))
    try parameters.append(integers: counters.map { Int64($0.messages) })
    try parameters.append(integers: counters.map { Int64($0.unread) })
    try parameters.append(integers: counters.map(\.last.rawValue))
    try parameters.append(integers: counters.map { Int64($0.sent) })
    try parameters.append(integers: counters.map { Int64($0.named) })
    try parameters.append(integers: counters.map(\.number))
    return PipelinedStatement(
      """
      UPDATE msgr_users u SET messages = r.messages, unread = r.unread, last_id = r.last,
        sent = r.sent, named = r.named, last_number = r.number
      FROM (
        SELECT unnest(?) AS name, unnest(?) AS messages, unnest(?) AS unread, unnest(?) AS last,
          unnest(?) AS sent, unnest(?) AS named, unnest(?) AS number) AS r
      WHERE u.username = r.name
      """, parameters)
  }

  private func inbox() throws -> PipelinedStatement {
    let messages = plan.inbox.map(\.message)
    var parameters = PostgreSQLParameters()
    try parameters.append(now)
    try parameters.append(texts: plan.inbox.map(\.recipient.text))
    try parameters.append(integers: messages.map(\.id.rawValue))
    try parameters.append(texts: messages.map(\.sender.text))
    try parameters.append(texts: messages.map(\.text.text))
    let isPlain = plan.inbox.allSatisfy { row in
      row.message.number == nil && row.message.parts.isEmpty && row.topic == nil
        && !row.message.isAddRequest
    }
    if isPlain {
      return PipelinedStatement(
        """
        INSERT INTO msgr_messages (recipient, id, sender, text, sent_at, is_add_request)
        SELECT m.recipient, m.id, m.sender, m.text, ?1, 0
        FROM (
          SELECT unnest(?2) AS recipient, unnest(?3) AS id, unnest(?4) AS sender,
            unnest(?5) AS text) AS m
        """, parameters)
    }
    try parameters.append(integers: messages.map { $0.isAddRequest ? 1 : 0 })
    try parameters.append(texts: messages.map(\.parts.stored))
    try parameters.append(integers: messages.map(\.number))
    try parameters.append(texts: plan.inbox.map { $0.topic?.topic })
    try parameters.append(integers: plan.inbox.map { $0.topic?.id })
    return PipelinedStatement(
      """
      INSERT INTO msgr_messages (
        recipient, id, sender, text, sent_at, is_add_request, parts, number, topic, topic_entry)
      SELECT m.recipient, m.id, m.sender, m.text, ?1, m.is_add_request, m.parts, m.number, m.topic,
        m.topic_entry
      FROM (
        SELECT unnest(?2) AS recipient, unnest(?3) AS id, unnest(?4) AS sender, unnest(?5) AS text,
          unnest(?6) AS is_add_request, unnest(?7) AS parts, unnest(?8) AS number,
          unnest(?9) AS topic, unnest(?10) AS topic_entry) AS m
      """, parameters)
  }

  private func copies() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(now)
    try parameters.append(texts: plan.copies.map(\.sender.text))
    try parameters.append(integers: plan.copies.map(\.id.rawValue))
    try parameters.append(texts: plan.copies.map(\.recipient?.text))
    try parameters.append(texts: plan.copies.map(\.text.text))
    try parameters.append(texts: plan.copies.map(\.clientID?.text))
    try parameters.append(texts: plan.copies.map(\.origin?.text))
    return PipelinedStatement(
      """
      INSERT INTO msgr_sent (sender, id, recipient, text, sent_at, client_id, device_id)
      SELECT m.sender, m.id, m.recipient, m.text, ?1, m.client_id, m.device_id
      FROM (
        SELECT unnest(?2) AS sender, unnest(?3) AS id, unnest(?4) AS recipient, unnest(?5) AS text,
          unnest(?6) AS client_id, unnest(?7) AS device_id) AS m
      """, parameters)
  }

  private func names() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(now)
    try parameters.append(texts: plan.names.map(\.sender.text))
    try parameters.append(texts: plan.names.map(\.clientID.text))
    try parameters.append(integers: plan.names.map { Int64($0.number) })
    try parameters.append(blobs: plan.names.map(\.digest))
    try parameters.append(integers: plan.names.map(\.id.rawValue))
    try parameters.append(integers: plan.names.map(\.own?.rawValue))
    return PipelinedStatement(
      """
      INSERT INTO msgr_client_ids (sender, client_id, number, content, id, own_id, sent_at)
      SELECT m.sender, m.client_id, m.number, m.content, m.id, m.own_id, ?1
      FROM (
        SELECT unnest(?2) AS sender, unnest(?3) AS client_id, unnest(?4) AS number,
          unnest(?5) AS content, unnest(?6) AS id, unnest(?7) AS own_id) AS m
      ON CONFLICT (sender, client_id) DO UPDATE SET number = excluded.number,
        content = excluded.content, id = excluded.id, own_id = excluded.own_id,
        sent_at = excluded.sent_at
      """, parameters)
  }

  private func acquaintances() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(now)
    try parameters.append(texts: plan.acquaintances.map(\.sender.text))
    try parameters.append(texts: plan.acquaintances.map(\.recipient.text))
    return PipelinedStatement(
      """
      INSERT INTO msgr_acquaintances (username, other, written_at)
      SELECT m.username, m.other, ?1 FROM unnest(?2, ?3) AS m (username, other)
      ORDER BY 1, 2 ON CONFLICT DO NOTHING
      """, parameters)
  }

  private func pushes(
    leased: @escaping (Int, LeasedPush) -> Void
  ) throws -> PipelinedStatement {
    let pushes = plan.pushes.map { push in
      QueuedPush(
        push.content, to: push.device.address, of: Array(push.device.id.text.utf8),
        for: Array(push.recipient.text.utf8), urgency: push.urgency,
        position: push.message.id.rawValue, due: push.due, isFirst: push.isFirst)
    }
    return try store.pushes.insertion(
      of: pushes, created: now, expires: now + store.limits.messageAge, leased: leased)
  }

  private func copiesToDrop() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: plan.copiesToDrop.map(\.sender.text))
    try parameters.append(integers: plan.copiesToDrop.map { Int64($0.count) })
    return PipelinedStatement(
      """
      DELETE FROM msgr_sent s USING unnest(?, ?) AS r (sender, count), LATERAL (
        SELECT o.id FROM msgr_sent o WHERE o.sender = r.sender ORDER BY o.id LIMIT r.count OFFSET 0) d
      WHERE s.sender = r.sender AND s.id = d.id
      """, parameters)
  }

  private func namesToDrop() throws -> PipelinedStatement {
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: plan.namesToDrop.map(\.sender.text))
    try parameters.append(integers: plan.namesToDrop.map { Int64($0.upTo) })
    return PipelinedStatement(
      """
      DELETE FROM msgr_client_ids c USING unnest(?, ?) AS r (sender, last)
      WHERE c.sender = r.sender AND c.number <= r.last
      """, parameters)
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
