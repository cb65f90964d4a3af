internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Platform
internal import Push
internal import Storage

/// The statements of a ``PostOperation`` for many inputs.
struct PostBatch {
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
  private let numbers: RecentValues<EncryptionPublicKey, AccountNumber>
  private var nodes: [AccountNumber: [NodeID]] = [:]
  private var closed: Set<AccountNumber> = []
  private var sites: [EncryptionPublicKey: Int64] = [:]
  private var users: [EncryptionPublicKey: AccountNumber] = [:]
  /// The pairs whose recipients know their senders.
  private var contacts: Set<Pair> = []
  /// The numbers for what is stored once.
  private var contentNumbers: [LogNumber] = []
  /// The forums that requests name, as they are now.
  private var forums: [EncryptionPublicKey: Forum] = [:]

  init(_ requests: [DeliveryRequest], _ mailboxes: Mailboxes) {
    self.requests = requests
    wakes = mailboxes.wakes
    numbers = mailboxes.numbers
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

  /// Returns whether forums are as they were when copies were made for them.
  func isCurrent(_ forums: [EncryptionPublicKey: Forum]) -> Bool {
    forums.allSatisfy { key, forum in self.forums[key] == forum }
  }

  // MARK: - The first round trip

  /// What the rows of a trip say, which closures of statements fill.
  private final class Rows {
    var facts = DeliveryFacts()
    var closed: Set<AccountNumber> = []
    var nodes: [AccountNumber: [NodeID]] = [:]
    var sites: [EncryptionPublicKey: Int64] = [:]
    var users: [EncryptionPublicKey: AccountNumber] = [:]
    var contacts: Set<Pair> = []
    var devices: [WakePlan.Device] = []
    var contents: [LogNumber] = []
    var forums: [EncryptionPublicKey: Forum] = [:]
  }

  /// Locks the mailboxes, then the recipients' devices, each in one order, and reads what the plan needs. What is read after
  /// a lock has a statement of its own, so that it sees what was committed before.
  ///
  /// Accounts are looked up by their keys once, with their locks. All else goes by their numbers, as far as they are known
  /// from earlier messages. What was read with a number that has turned out to be missing or another account's is read again.
  ///
  /// Everything is looked up for each row by itself (`LATERAL`, kept apart by `OFFSET 0` or a lock). A plain join of a table
  /// that was nearly empty when the statement was planned would go through all of it, long after it has grown.
  mutating func read(_ transaction: borrowing Transaction) throws {
    let rows = Rows()
    let senders = Set(requests.map(\.login.user))
    var known: [EncryptionPublicKey: AccountNumber] = [:]
    for key in senders.union(recipients) { known[key] = numbers.value(for: key) }
    try transaction.pipeline(
      [try locks(into: rows), try accounts(of: Array(senders), into: rows)]
        + (try forums(into: rows)) + (try reads(by: known, into: rows))
        + [try newContents(into: rows)])
    var actual = rows.users
    for (key, mailbox) in rows.facts.mailboxes { actual[key] = mailbox.user }
    let isOutdated = actual.contains { key, number in known[key] != number }
    if isOutdated {
      rows.facts.known = [:]
      rows.nodes = [:]
      rows.contacts = []
      rows.devices = []
      try transaction.pipeline(try reads(by: actual, into: rows))
      for (key, number) in actual { numbers.insert(number, for: key) }
    }
    facts = rows.facts
    closed = rows.closed
    nodes = rows.nodes
    sites = rows.sites
    users = rows.users
    contacts = rows.contacts
    devices = rows.devices
    contentNumbers = rows.contents
    forums = rows.forums
  }

  /// Locks the mailboxes.
  private func locks(into rows: Rows) throws -> PipelinedStatement {
    let recipients = recipients
    // The recipients' devices are read below.
    let hasWakes = wakes != nil
    var keys = PostgreSQLParameters()
    try keys.append(blobs: recipients.map(\.bytes))
    return PipelinedStatement(
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
      rows.facts.mailboxes[recipients[try row[0] as Int - 1]] = mailbox
      if try row[5] as Bool { rows.closed.insert(mailbox.user) }
    }
  }

  /// Reads the senders' accounts.
  private func accounts(
    of senders: [EncryptionPublicKey], into rows: Rows
  ) throws -> PipelinedStatement {
    var keys = PostgreSQLParameters()
    try keys.append(blobs: senders.map(\.bytes))
    return PipelinedStatement(
      """
      SELECT k.n, s.id, s.authentication_key, s.is_closed, s.kind, s.site
      FROM unnest(?) WITH ORDINALITY AS k (key, n) CROSS JOIN LATERAL (
        SELECT id, authentication_key, is_closed, kind, site FROM apptimist_users
        WHERE key = k.key OFFSET 0) s
      """, keys
    ) { row in
      let sender = senders[try row[0] as Int - 1]
      rows.users[sender] = try row[1]
      rows.sites[sender] = try row[5]
      guard try row[4] as StoredKind == .user else { return }
      rows.facts.senders[sender] = DeliveryFacts.Sender(
        user: try row[1], authenticationKey: try row[2], isClosed: try row[3])
    }
  }

  /// Reads the forums for which copies were made, if there are any.
  private func forums(into rows: Rows) throws -> [PipelinedStatement] {
    let forums = Array(Set(requests.flatMap(\.forums.keys)))
    guard !forums.isEmpty else { return [] }
    var keys = PostgreSQLParameters()
    try keys.append(blobs: forums.map(\.bytes))
    return [
      PipelinedStatement(
        """
        SELECT a.key,
          (SELECT content FROM apptimist_files WHERE directory = u.id AND name = 'editors'),
          (SELECT content FROM apptimist_files WHERE directory = u.id AND name = 'moderators'),
          (SELECT content FROM apptimist_files WHERE directory = u.id AND name = 'subscribers'),
          (SELECT boxed FROM apptimist_secrets WHERE forum = u.id), u.is_closed, k.n
        FROM unnest(?) WITH ORDINALITY AS k (key, n)
        CROSS JOIN LATERAL (
          SELECT id, author, is_closed FROM apptimist_users
          WHERE key = k.key AND kind = 1 OFFSET 0) u
        CROSS JOIN LATERAL (SELECT key FROM apptimist_users WHERE id = u.author OFFSET 0) a
        """, keys
      ) { row in rows.forums[forums[try row[6] as Int - 1]] = try Forum(row, by: try row[0]) }
    ]
  }

  /// Reads what is found by the accounts' numbers.
  private func reads(
    by known: [EncryptionPublicKey: AccountNumber], into rows: Rows
  ) throws -> [PipelinedStatement] {
    let pairs = pairs
    let owners = recipients.map { known[$0]?.rawValue }
    var parameters = PostgreSQLParameters()
    try parameters.append(integers: owners)
    var statements: [PipelinedStatement] = []
    // The recipients' devices are locked before all else is read.
    if wakes != nil {
      statements.append(
        PipelinedStatement(
          """
          SELECT 1 FROM (SELECT k.owner FROM unnest(?) AS k (owner) ORDER BY k.owner) o
          CROSS JOIN LATERAL (
            SELECT 1 FROM apptimist_addresses WHERE owner = o.owner
            ORDER BY device FOR NO KEY UPDATE) a
          """, parameters))
      statements.append(
        PipelinedStatement(
          """
          SELECT a.owner, a.device, a.woken, a.woken_at, a.is_waiting, a.is_open, a.outbox, a.kind,
            a.address, a.tag, a.flags, a.keys
          FROM unnest(?) AS k (owner) CROSS JOIN LATERAL (
            SELECT * FROM apptimist_sleepers WHERE owner = k.owner OFFSET 0) a
          ORDER BY a.owner, a.device
          """, parameters
        ) { row in rows.devices.append(try WakePlan.Device(row)) })
    }
    statements.append(
      PipelinedStatement(
        """
        SELECT k.owner, s.node FROM unnest(?) AS k (owner) CROSS JOIN LATERAL (
          SELECT node FROM apptimist_sessions WHERE owner = k.owner OFFSET 0) s
        """, parameters
      ) { row in
        let node: NodeID = try row[1]
        if rows.nodes[try row[0], default: []].contains(node) { return }
        rows.nodes[try row[0], default: []].append(node)
      })
    let copies = requests.flatMap { $0.copies }
    var messages = PostgreSQLParameters()
    try messages.append(integers: copies.map { known[$0.recipient]?.rawValue })
    try messages.append(blobs: copies.map { KnownID($0.id).bytes })
    statements.append(
      PipelinedStatement(
        """
        SELECT k.owner, k.message, m.position
        FROM (SELECT unnest(?) AS owner, unnest(?) AS message) AS k CROSS JOIN LATERAL (
          SELECT position FROM apptimist_message_ids
          WHERE owner = k.owner AND message_id = k.message OFFSET 0) m
        """, messages
      ) { row in
        let message = DeliveryFacts.KnownMessage(id: try row[1], user: try row[0])
        rows.facts.known[message] = try row[2]
      })
    var sides = PostgreSQLParameters()
    try sides.append(integers: pairs.map { known[$0.recipient]?.rawValue })
    try sides.append(integers: pairs.map { known[$0.sender]?.rawValue })
    try sides.append(integers: pairs.indices.map { Int64($0) })
    statements.append(
      PipelinedStatement(
        """
        SELECT p.n
        FROM (SELECT unnest(?) AS recipient, unnest(?) AS sender, unnest(?) AS n) AS p
        CROSS JOIN LATERAL (
          SELECT 1 FROM apptimist_contacts
          WHERE owner = p.recipient AND contact = p.sender OFFSET 0) c
        """, sides
      ) { row in rows.contacts.insert(pairs[try row[0]]) })
    return statements
  }

  /// Reserves numbers for the contents, of which a message to many has one.
  private func newContents(into rows: Rows) throws -> PipelinedStatement {
    var messages = 0
    for request in requests {
      var previous: MessageCopy?
      for copy in request.copies {
        if previous.map({ !copy.isSame(as: $0) }) ?? true { messages += 1 }
        previous = copy
      }
    }
    var count = PostgreSQLParameters()
    try count.append(messages)
    return PipelinedStatement(
      "SELECT nextval('apptimist_contents_id_seq') FROM generate_series(1, ?)", count
    ) { row in rows.contents.append(try row[0]) }
  }

  /// Returns whose share of a recipient's mailbox a sender's messages belong to.
  private func holder(of pair: Pair) -> ShareHolder? {
    guard let sender = users[pair.sender], let site = sites[pair.sender] else { return nil }
    let isKnown = pair.recipient == pair.sender || contacts.contains(pair)
    return isKnown ? ShareHolder(contact: sender) : ShareHolder(rawValue: -site)
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
    for (message, number) in zip(plan.messages, contentNumbers) {
      guard let sender = keysOfSenders[message.sender] else { throw InconsistentMailbox() }
      for addressee in message.addressees {
        let pair = Pair(recipient: addressee.key, sender: sender)
        guard let holder = holder(of: pair) else { throw InconsistentMailbox() }
        entries.append(addressee, holder, message.size, number)
        let key = ShareKey(owner: addressee.user, holder: holder)
        var share = shares[key] ?? Share(oldest: addressee.position)
        share.entries += 1
        share.bytes += message.size
        shares[key] = share
      }
    }
    var contents = PostgreSQLParameters()
    try contents.append(integers: zip(plan.messages, contentNumbers).map { $1.rawValue })
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
        FROM (
          SELECT unnest(?) AS id, unnest(?) AS holders, unnest(?) AS sender, unnest(?) AS header,
            unnest(?) AS data) AS m
        """, contents),
      PipelinedStatement(
        """
        INSERT INTO apptimist_entries (owner, position, kind, sender, size, content, message_id)
        SELECT owner, position, 0, sender, size, content, id
        FROM (
          SELECT unnest(?) AS owner, unnest(?) AS position, unnest(?) AS sender, unnest(?) AS size,
            unnest(?) AS content, unnest(?) AS id) AS e
        """, try entries.parameters()),
      PipelinedStatement(
        """
        INSERT INTO apptimist_message_ids (owner, message_id, position)
        SELECT owner, id, position
        FROM (SELECT unnest(?) AS owner, unnest(?) AS id, unnest(?) AS position) AS m
        """, try entries.known()),
      PipelinedStatement(
        """
        INSERT INTO apptimist_shares AS s (owner, sender, entries, bytes, oldest)
        SELECT owner, sender, entries, bytes, oldest
        FROM (
          SELECT unnest(?) AS owner, unnest(?) AS sender, unnest(?) AS entries, unnest(?) AS bytes,
            unnest(?) AS oldest) AS a
        ON CONFLICT (owner, sender)
        DO UPDATE SET entries = s.entries + excluded.entries, bytes = s.bytes + excluded.bytes
        """, additions),
      PipelinedStatement(
        """
        UPDATE apptimist_queues q SET last_position = m.last, entries = m.entries, bytes = m.bytes
        FROM (
          SELECT unnest(?) AS owner, unnest(?) AS last, unnest(?) AS entries,
            unnest(?) AS bytes) AS m
        WHERE q.owner = m.owner
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
          UPDATE push_outbox SET position = (?2)[array_position(?1, device)]
          WHERE service = ?3 AND device = ANY (?1) AND lease_owner IS NULL
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
        FROM (
          SELECT unnest(?) AS owner, unnest(?) AS device, unnest(?) AS position,
            unnest(?) AS due) AS w
        WHERE a.owner = w.owner AND a.device = w.device
        """, states))
    // In the order of the devices, as the newest pushes of theirs are locked in it.
    let sorted = plan.wakes.sorted {
      $0.device.outbox.lexicographicallyPrecedes($1.device.outbox)
    }
    let pushes = sorted.map { wake in
      QueuedPush(
        wake.device.tag, to: wake.device.address, of: wake.device.outbox,
        for: wake.device.owner.bytes, collapseKey: Hex.encode(wake.device.tag),
        position: wake.last.rawValue, due: wake.due, isFirst: true)
    }
    statements.append(
      try wakes.queue.insertion(of: pushes, created: now, expires: now + Wakes.life))
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
