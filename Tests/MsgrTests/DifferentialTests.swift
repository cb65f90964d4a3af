internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// Does the same on a store of one's own and on a shared one, and compares the tables.
@Suite(.ownThreads) struct DifferentialTests {
  @Test(arguments: TestSeeds.random(3, and: [1]))
  func bothStrategiesLeaveTheSame(seed: UInt64) async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let address = try PostgreSQLAddress(server.url(of: database))
    let clock = TestClock(Timestamp(seconds: 1_700_000_000))
    let own = try await Site(.memory, clock)
    // With one lane, what waits while that is kept waiting is one call.
    let shared = try await Site(.postgreSQL(address), clock)
    var scenario = Scenario(seed: seed)
    for site in [own, shared] { try await site.makeUsers() }
    for _ in 0..<60 {
      let batch = scenario.batch()
      let before = try await own.counts()
      // Those for which an inbox has no room are sent by themselves, in whatever order, and so is one whose name the batch
      // has before, which is sent only if that one is refused.
      let isTight =
        before.values.contains { $0 + batch.count > Site.inbox }
        || batch.contains { $0.draft.recipient.text == "nobody" }
      var outcomes: [[String]] = []
      for site in [own, shared] {
        outcomes.append(
          isTight ? await site.sendEach(batch) : try await site.sendTogether(batch))
      }
      if let (publication, publisher, recipients) = scenario.publication() {
        for (index, site) in [own, shared].enumerated() {
          outcomes[index] += await site.publish(publication, by: publisher, to: recipients)
        }
      }
      #expect(outcomes[0] == outcomes[1], "seed \(seed)")
      if let (device, change) = scenario.pushChange() {
        for site in [own, shared] { try await site.change(pushesTo: device, change) }
      }
      if scenario.isLucky(4) { clock.advance(by: .seconds(1)) }
      if scenario.isLucky(20) { clock.advance(by: .seconds(86_400)) }
    }
    let rows = try await own.rows()
    #expect(rows.contains { $0.hasPrefix("push") } && rows.contains { $0.hasPrefix("sent") })
    #expect(rows == (try await shared.rows()), "seed \(seed)")
    // What too many waited for, or was too old, has gone on both.
    #expect(own.droppedPushes > 0 && own.droppedPushes == shared.droppedPushes, "seed \(seed)")
    await own.store.store.close()
    await shared.store.store.close()
  }
}

/// Random messages to send.
private struct Scenario {
  private var random: SeededGenerator
  private var lastName = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func isLucky(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

  /// A random change of the pushes to a device by those who carry them; none most of the time.
  mutating func pushChange() -> (DeviceID, Site.PushChange)? {
    let devices = Site.users.flatMap(Site.devices)
    guard isLucky(2), let device = devices.randomElement(using: &random),
      let change = Site.PushChange.allCases.randomElement(using: &random)
    else { return nil }
    return (device, change)
  }

  private mutating func credential() -> Site.Credential {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: .formerPassword
    case 1: .endedToken
    case 2...5: .password
    default: .token
    }
  }

  mutating func batch() -> [(draft: Draft, sender: Caller)] {
    (0..<Int.random(in: 1...6, using: &random)).map { _ in
      let sender = Int.random(in: 0..<Site.users.count, using: &random)
      let recipient = Int.random(in: 0...Site.users.count, using: &random)
      var name: ClientID?
      if isLucky(2) {
        // Sometimes one that was used before, for the same or another message.
        if !isLucky(4) { lastName += 1 }
        name = ClientID(stored: "name \(lastName)")
      }
      let draft = Draft(
        text: MessageText(stored: "text \(Int.random(in: 0..<3, using: &random))"),
        recipient: recipient < Site.users.count
          ? Site.users[recipient] : UserName(stored: "nobody"),
        clientID: name)
      return (draft, Site.caller(sender, by: credential()))
    }
  }

  /// A random publication of a user; none most of the time.
  mutating func publication() -> (Publication, by: PublisherToken, to: [UserName])? {
    guard isLucky(3), let publisher = Site.publishers.randomElement(using: &random) else {
      return nil
    }
    let text = MessageText(stored: "news \(Int.random(in: 0..<3, using: &random))")
    let parts = MessageParts(
      title: isLucky(2) ? "a" : nil, priority: Int.random(in: 0...10, using: &random))
    let publication = Publication(text: text, parts: parts)
    return (publication, publisher, Site.users.filter { _ in isLucky(2) })
  }
}

/// A store with users of all kinds.
private struct Site {
  static let inbox = 12
  /// A user with a phone, with a browser, with a device that only streams, with all of them, and with none.
  static let users = ["phone", "browser", "stream", "all", "none"].map(UserName.init(stored:))
  /// Publishers of a friend and of strangers of some, of which one has two.
  static let publishers = [("phone", "a"), ("none", "a"), ("none", "b")].map { owner, name in
    PublisherToken(
      hash: TokenHash(digest: SHA256.hash(Array("\(owner)/\(name)".utf8))),
      owner: UserName(stored: owner), name: name)
  }

  /// What a sender shows.
  enum Credential {
    case password, formerPassword, token, endedToken
  }

  /// What happens to the pushes to a device.
  enum PushChange: CaseIterable {
    /// The oldest one is under way.
    case lease
    /// The oldest one waits again.
    case retry
    /// The oldest one was pushed.
    case deliver
  }

  /// The nodes that have streams of users, as a shared store knows them.
  private static let nodes = [NodeID(rawValue: 1), NodeID(rawValue: 2)]
  /// The user who has streams.
  private static let streaming = users[3]

  let store: MsgrStore
  private let dropped = Metrics().counter("awd_test_dropped_total", "Dropped pushes")

  /// The number of pushes that went because too many waited.
  var droppedPushes: UInt64 { dropped.value }

  init(_ location: StoreLocation, _ clock: TestClock) async throws {
    var configuration = StoreConfiguration()
    configuration.lanes = 1
    let store = try await Store.open(
      location, migrations: MsgrService.migrations, configuration: configuration)
    var limits = MsgrStore.Limits()
    limits.inbox = Self.inbox
    limits.clientIDs = 9
    limits.tokenAge = .seconds(3 * 86_400)
    let node = Self.nodes[0]
    if store.isShared {
      for (index, node) in Self.nodes.enumerated() {
        try await NodeRegistry(node, named: "test \(index)", version: "1", in: store)
          .sendHeartbeat()
      }
    }
    var pushes = PushFixture.queue
    pushes.dropped = dropped
    // As if an outbox of one kind had nothing to do.
    let direct = DirectLeases(owner: [9])
    direct.offer(1_000_000)
    pushes.direct = [.apns: direct]
    self.store = MsgrStore(
      store: store, limits: limits, pushes: pushes, clock: { clock.now },
      randomBytes: SecureRandom.bytes,
      strategy: store.isShared
        ? SharedInboxStrategy(node: node)
        : LocalInboxStrategy { name in
          name == Self.streaming
            ? Self.devices(of: name).filter { !$0.isPushable }.map { ($0, .zero) } : []
        })
  }

  static func devices(of name: UserName) -> [DeviceID] {
    let index = users.firstIndex(of: name) ?? 0
    let phone = DeviceID(stored: String(repeating: "\(index)", count: 64))
    let stream = DeviceID(stored: "stream:\(name.text)/\(name.text)")
    return switch name.text {
    case "phone": [phone]
    case "browser", "stream": [stream]
    case "all": [phone, stream, DeviceID(stored: "fcm:" + String(repeating: "F", count: 40))]
    default: []
    }
  }

  private static func token(of name: UserName) -> TokenHash {
    TokenHash(digest: SHA256.hash(Array(name.text.utf8)))
  }

  /// The hash of everybody's password, which may be anything.
  private static let hash = try? PasswordHash(
    of: [1], cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))

  /// The hash of nobody's password any more.
  private static let formerHash = try? PasswordHash(
    of: [2], cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))

  static func caller(_ index: Int, by credential: Credential) -> Caller {
    let name = users[index]
    switch credential {
    case .token, .endedToken:
      guard let device = devices(of: name).first else { return caller(index, by: .password) }
      let hash =
        credential == .token
        ? token(of: name) : TokenHash(digest: SHA256.hash(Array("\(name.text) ended".utf8)))
      return .token(BoundToken(hash: hash, name: name, device: device))
    case .password, .formerPassword:
      guard let hash = credential == .password ? hash : formerHash else {
        preconditionFailure("a password can be hashed")
      }
      return .password(name, hash)
    }
  }

  func makeUsers() async throws {
    let now = store.now
    try await store.store.write { transaction in
      for name in Self.users {
        try transaction.execute(
          "INSERT INTO msgr_users (username, password, created_at) VALUES (?, ?, ?)", name,
          Self.hash?.text, now)
        for device in Self.devices(of: name) {
          let isWeb = !device.isPushable && name.text != "stream"
          try transaction.execute(
            """
            INSERT INTO msgr_devices (device_id, username, bound_at, endpoint, p256dh, auth)
            VALUES (?, ?, ?, ?, ?, ?)
            """, device, name, now, isWeb ? "https://push.example/\(name.text)" : nil,
            isWeb ? [UInt8](repeating: 4, count: 65) : nil,
            isWeb ? [UInt8](repeating: 0, count: 16) : nil)
        }
        if let device = Self.devices(of: name).first {
          try transaction.execute(
            """
            INSERT INTO msgr_tokens (hash, device_id, used_at, username, created_at, device_name)
            VALUES (?1, ?2, ?3, ?4, ?3, '')
            """, Self.token(of: name), device, now, name)
        }
      }
      try transaction.execute("INSERT INTO msgr_blocks VALUES ('stream', 'phone')")
      try transaction.execute("INSERT INTO msgr_blocks VALUES ('none', 'all')")
      for (name, friend) in [("all", "phone"), ("phone", "all")] {
        try transaction.execute("INSERT INTO msgr_contacts VALUES (?, ?)", name, friend)
      }
    }
    for publisher in Self.publishers {
      try await store.addPublisher(
        NewPublisher(name: publisher.name, recipients: Self.users), of: publisher.owner,
        publisher.hash)
    }
    guard store.store.isShared else { return }
    for (number, device) in Self.devices(of: Self.streaming).enumerated() where !device.isPushable {
      let token = BoundToken(
        hash: Self.token(of: Self.streaming), name: Self.streaming, device: device)
      for node in Self.nodes {
        try await store.store.write(isolation: .rowLocks) { transaction in
          try SharedInboxStrategy(node: node).begin(
            Int64(number), of: token, after: .zero, transaction)
        }
      }
    }
  }

  func change(pushesTo device: DeviceID, _ change: PushChange) async throws {
    try await store.store.write { transaction in
      let bytes = Array(device.text.utf8)
      switch change {
      case .lease:
        try transaction.execute(
          "UPDATE push_outbox SET lease_owner = ?, attempts = 1 WHERE device = ? AND is_next = 1",
          PushFixture.owner, bytes)
      case .retry:
        try transaction.execute(
          "UPDATE push_outbox SET lease_owner = NULL WHERE device = ? AND is_next = 1", bytes)
      case .deliver:
        try transaction.execute(
          "DELETE FROM push_outbox WHERE device = ? AND is_next = 1", bytes)
      }
    }
  }

  /// The messages of each inbox.
  func counts() async throws -> [String: Int] {
    let counts = try await store.store.read { snapshot in
      try snapshot.all("SELECT username, messages FROM msgr_users") {
        (try $0[0] as String, try $0[1] as Int)
      }
    }
    return Dictionary(uniqueKeysWithValues: counts)
  }

  func sendEach(_ batch: [(draft: Draft, sender: Caller)]) async -> [String] {
    var outcomes: [String] = []
    for (draft, sender) in batch { outcomes.append(await outcome(of: draft, by: sender)) }
    return outcomes
  }

  /// Sends messages so that they are one call where that can be, and in their order in any case.
  func sendTogether(_ batch: [(draft: Draft, sender: Caller)]) async throws -> [String] {
    var tasks: [Task<String, Never>] = []
    for (draft, sender) in batch {
      tasks.append(Task.immediate { await outcome(of: draft, by: sender) })
    }
    var outcomes: [String] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }

  func publish(
    _ publication: Publication, by publisher: PublisherToken, to recipients: [UserName]
  ) async -> [String] {
    do {
      return try await store.publish(publication, by: publisher, to: recipients).receipts
        .map { apply($0) }
    } catch { return ["\(error)"] }
  }

  private func outcome(of draft: Draft, by sender: Caller) async -> String {
    do { return apply(try await store.send(draft, by: sender)) } catch {
      return "\(error)"
    }
  }

  /// Counts the pushes that went, as the service does after a commit, and describes a receipt.
  private func apply(_ receipt: SendReceipt) -> String {
    store.pushes.countDropped(receipt.droppedPushes)
    return description(of: receipt)
  }

  private func description(of delivery: SendReceipt) -> String {
    let entries = delivery.entries.map { entry in
      // A store of one's own names no nodes: here those that a shared one has to name.
      let unshared = entry.user == Self.streaming ? Self.nodes.map(\.rawValue) : []
      let nodes = store.store.isShared ? entry.nodes.map(\.rawValue).sorted() : unshared
      return "\(entry.user.text) \(entry.predecessor.rawValue) \(entry.message) \(nodes)"
    }
    return "\(delivery.id.rawValue) \(delivery.own?.rawValue ?? 0) \(delivery.isStored) "
      + "\(delivery.pushes.mask) \(delivery.leased.map(\.content)) \(entries)"
  }

  /// All that is stored but for random identifiers, as lines.
  func rows() async throws -> [String] {
    @Sendable func line(_ kind: String, _ row: borrowing Row, _ count: Int) throws -> String {
      try (0..<count).reduce(kind) { "\($0)|\(try row[$1] as DatabaseValue)" }
    }
    return try await store.store.read { snapshot in
      var lines: [String] = []
      lines += try snapshot.all(
        """
        SELECT username, seen_id, messages, unread, sent, named, last_id, last_number
        FROM msgr_users
        ORDER BY username
        """
      ) { try line("user", $0, 8) }
      lines += try snapshot.all(
        """
        SELECT recipient, id, sender, text, sent_at, is_add_request, is_read, parts,
          number, topic FROM msgr_messages ORDER BY recipient, id
        """
      ) { try line("message", $0, 10) }
      lines += try snapshot.all(
        """
        SELECT sender, id, recipient, text, sent_at, client_id, device_id FROM msgr_sent
        ORDER BY sender, id
        """
      ) { try line("sent", $0, 7) }
      lines += try snapshot.all(
        """
        SELECT sender, client_id, number, content, id, own_id, sent_at FROM msgr_client_ids
        ORDER BY sender, client_id
        """
      ) { try line("name", $0, 7) }
      lines += try snapshot.all(
        """
        SELECT device, account, position, content, urgency, created_at, expires_at, due_at,
          is_next, kind, address, attempts, lease_owner FROM push_outbox ORDER BY device, id
        """
      ) { try line("push", $0, 13) }
      lines += try snapshot.all(
        "SELECT username, other, written_at FROM msgr_acquaintances ORDER BY username, other"
      ) { try line("acquaintance", $0, 3) }
      lines += try snapshot.all(
        "SELECT username, device_id, used_at FROM msgr_tokens ORDER BY username"
      ) { try line("token", $0, 3) }
      return lines
    }
  }
}
