internal import ApptimistProtocol
internal import Cryptography
internal import Cluster
internal import Glibc
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// Gives the same random posts, truncations, changes of forums and accounts, and doings of devices to both types of
/// ``DeliveryStrategy``, and compares what is answered and all that is stored.
@Suite(.ownThreads) struct DeliveryStrategyTests {
  @Test(arguments: TestSeeds.random(6, and: [1, 2]))
  func bothTypesDoTheSame(seed: UInt64) async throws {
    let folder = TemporaryFolder()
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    var generator = SeededGenerator(seed: seed)
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = generator.pick(3...12)
    limits.mailboxBytes = generator.pick(400...3000)
    limits.rememberedMessages = generator.pick(0...10)
    limits.pendingDeliveries = generator.pick(0...40)
    limits.pendingPerMailbox = generator.pick(1...10)
    let keys = try KeyFile(path: "\(folder.path)/apptimist.keys").open().keys
    let own = try await Side(.file("\(folder.path)/awd.sqlite3"), keys, limits)
    let shared = try await Side(
      .postgreSQL(try PostgreSQLAddress(server.url(of: database))), keys, limits)
    for side in [own, shared] {
      try await side.store.makeUsers(1...5)
      for forum in 10...11 { #expect(try await side.store.makeForum(forum, author: 1) == .done) }
    }
    for step in 0..<150 {
      let act = Act(step: step, &generator)
      let outcomes = (try await own.perform(act), try await shared.perform(act))
      #expect(outcomes.0 == outcomes.1, "seed \(seed), step \(step)")
    }
    try await own.store.flushAll()
    for side in [own, shared] { try await side.store.expectConsistency() }
    for (number, table) in Side.tables.enumerated() {
      let rows = (try await own.rows(of: table), try await shared.rows(of: table))
      #expect(rows.0 == rows.1, "seed \(seed), table \(number)")
      #expect(number > 3 || !rows.0.isEmpty, "seed \(seed), table \(number)")
    }
    for side in [own, shared] { await side.store.store.close() }
    try server.removeDatabase(database)
  }
}

extension DeliveryStrategyTests {
  @Test func postsAreDeliveredWhileADirectoryOfTheRecipientIsLocked() async throws {
    let folder = TemporaryFolder()
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    let side = try await Side(
      .postgreSQL(try PostgreSQLAddress(server.url(of: database))),
      try KeyFile(path: "\(folder.path)/apptimist.keys").open().keys, ApptimistStore.Limits())
    let store = side.store
    try await store.makeUsers(1...2)
    let isLocked = Lock(false)
    let isDelivered = Lock(false)
    async let wasInTime = store.store.write(isolation: .rowLocks) { transaction in
      let user = try store.userNumber(of: StoreFixture.key(2), transaction)
      try store.deliveries.lock(directoriesOf: #require(user), transaction)
      isLocked.withLock { $0 = true }
      for _ in 0..<5_000 where !isDelivered.withLock({ $0 }) { usleep(1_000) }
      return isDelivered.withLock { $0 }
    }
    try await waitUntil { isLocked.withLock { $0 } }
    #expect(
      try await store.send(1, from: 1, to: 2) == .delivered(MailboxPosition(rawValue: 1)))
    isDelivered.withLock { $0 = true }
    #expect(try await wasInTime)
    await store.store.close()
    try server.removeDatabase(database)
  }
}

/// Where nodes share the store.
@Suite(.ownThreads, .enabled(if: OtherPrograms.mayRun)) struct SharedStoreTests {
  /// A number by which a node remembers an account counts for nothing if the account has another one.
  @Test func rememberedNumbersOfAccountsAreChecked() async throws {
    try await withSharedStore { store in
      try await store.makeUsers(1...3)
      try await store.makeContacts(1...3)
      let first = MailboxPosition(rawValue: 1)
      #expect(try await store.send(1, from: 1, to: 2) == .delivered(first))
      // Another account's number, and nobody's.
      for wrong in [3, 99].map({ AccountNumber(rawValue: $0) }) {
        for user in 1...2 { store.mailboxes.numbers.insert(wrong, for: StoreFixture.key(user)) }
        #expect(try await store.send(1, from: 1, to: 2) == .known(first))
      }
      store.mailboxes.numbers.insert(
        AccountNumber(rawValue: 99), for: StoreFixture.key(2))
      #expect(try await store.send(2, from: 1, to: 2) == .delivered(first.next))
      try await store.expectConsistency()
    }
  }

  /// A mailbox that somebody keeps locked holds up nobody but those who write to it.
  @Test func oneLockedMailboxHoldsUpNoOther() async throws {
    try await withSharedStore { store in
      try await store.makeUsers(1...3)
      let isLocked = Lock(false)
      let isOver = Lock(false)
      async let held: Void = store.store.write(isolation: .rowLocks) { transaction in
        let user = try store.userNumber(of: StoreFixture.key(2), transaction)
        try store.deliveries.lock(mailboxOf: #require(user), transaction)
        isLocked.withLock { $0 = true }
        usleep(3_000_000)
        isOver.withLock { $0 = true }
      }
      try await waitUntil { isLocked.withLock { $0 } }
      let late = Task { try await store.send(1_000, from: 1, to: 2) }
      var times: [Duration] = []
      let clock = ContinuousClock()
      for number in 1...20 {
        var start = clock.now
        let delivered = try await store.send(number, from: 1, to: 3)
        times.append(clock.now - start)
        start = clock.now
        let written = try await store.write([1], to: "file \(number)", of: 2, by: 2)
        times.append(clock.now - start)
        #expect(delivered == .delivered(MailboxPosition(rawValue: Int64(number))))
        #expect(written == .done)
      }
      #expect(!isOver.withLock { $0 })
      #expect(times.sorted()[times.count * 3 / 4] < .milliseconds(100), "\(times)")
      try await held
      #expect(try await late.value == .delivered(MailboxPosition(rawValue: 1)))
    }
  }

  /// Whoever reads lists page by page, while others make accounts and vouch at once, misses nobody.
  @Test func pagesMissNobodyWhoComesMeanwhile() async throws {
    try await withSharedStore { store in
      try await store.makeUsers(1...1)
      let numbers = Array(2...121)
      let isDone = Lock(false)
      async let done: Void = withThrowingTaskGroup(of: Void.self) { group in
        for number in numbers {
          group.addTask {
            let outcome = try await store.makeUser(number, name: "many", uid: "all")
            #expect(outcome == .created)
            let didVouch = try await store.vouch(
              for: StoreFixture.key(1), by: StoreFixture.login(number))
            #expect(didVouch == .done)
          }
        }
        try await group.waitForAll()
        isDone.withLock { $0 = true }
      }
      var (vouchers, uids, names) = (0, 0, 0)
      var voucher: Int64 = 0
      var (uid, name): (SearchPlace?, SearchPlace?)
      var isLast = false
      repeat {
        isLast = isDone.withLock { $0 }
        let vouching = try await store.vouchers(
          of: StoreFixture.key(1), behind: voucher, max: 1_000)
        vouchers += vouching?.count ?? 0
        voucher = vouching?.last?.place ?? voucher
        let byUID = try await store.accounts(uid: "all", behind: uid, max: 1_000)
        uids += byUID.count
        uid = byUID.last?.place ?? uid
        let byName = try await store.accounts(name: "many", behind: name, max: 1_000)
        names += byName.count
        name = byName.last?.place ?? name
      } while !isLast
      try await done
      #expect((vouchers, uids, names) == (numbers.count, numbers.count, numbers.count))
    }
  }
}

/// Something that is done on both sides.
private enum Act: Sendable {
  case post([Message], from: Int, isVersion1: Bool)
  case truncate(user: Int, message: Message)
  case list(Filename.Reserved, forum: Int, [Int])
  case closeForum(Int)
  case closeAccount(Int)
  case read(Int)
  case bind(WakeBinding?, device: Int, user: Int)
  case acknowledge(Int, device: Int, user: Int)
  case open(device: Int, user: Int)
  case close(device: Int, user: Int)
  /// Time passes, and then what is due is pushed.
  case wait(Int)
  /// What is due is under way.
  case lease

  struct Message: Sendable {
    let number: Int
    /// A user or a forum, or nobody.
    let recipient: Int
    let size: Int

    func post(from sender: Int, isVersion1: Bool) -> Post? {
      let key = StoreFixture.key(recipient)
      let message = PDU.Message(
        time: UInt64(number), recipient: key, to: key, from: StoreFixture.key(sender))
      let data = Array(repeating: UInt8(truncatingIfNeeded: number), count: size)
      let received = ReceivedPDU(
        pdu: .message(message), header: PDU.message(message).encoded(), data: data)
      guard !isVersion1 else { return Post(message, received, by: StoreFixture.key(sender)) }
      return Post(
        ReceivedRequest(
          request: OpenRequest(type: PDU.Message.type, number: 1), body: .message(message),
          data: data), by: StoreFixture.login(sender))
    }
  }

  init(step: Int, _ generator: inout SeededGenerator) {
    // Old numbers make the same messages again.
    func message() -> Message {
      let number = generator.pick(max(0, step - 6)...step) * 3 + generator.pick(0...2)
      return Message(
        number: number, recipient: [1, 2, 3, 4, 5, 7, 10, 11][generator.pick(0...7)],
        size: number * 37 % 200)
    }
    let (device, user) = (generator.pick(1...2), generator.pick(1...5))
    switch generator.pick(0...149) {
    case 100..<110:
      let keys = [1, 2, 3, 4, 5, 10, 11].filter { _ in generator.pick(0...2) == 0 }
      let isChosen = generator.pick(0...2) == 0
      self = .bind(
        generator.pick(0...4) == 0
          ? nil : .test(generator.pick(1...9), isChosen: isChosen, keys: keys), device: device,
        user: user)
    case 110..<120: self = .acknowledge(generator.pick(0...80), device: device, user: user)
    case 120..<125: self = .open(device: device, user: user)
    case 125..<130: self = .close(device: device, user: user)
    case 130..<134: self = .lease
    case 134...: self = .wait(generator.pick(0...2) == 0 ? 600 : generator.pick(0...9))
    case 0..<65:
      self = .post(
        (0..<generator.pick(1...6)).map { _ in message() }, from: generator.pick(1...5),
        isVersion1: generator.pick(0...2) > 0)
    case 65..<80: self = .truncate(user: generator.pick(1...5), message: message())
    case 80..<92:
      let users = (1...6).filter { _ in generator.pick(0...1) == 0 }
      let lists: [Filename.Reserved] = [.subscribers, .subscribers, .editors, .moderators]
      self = .list(lists[generator.pick(0...3)], forum: generator.pick(10...11), users)
    case 92: self = .closeForum(generator.pick(10...11))
    case 93: self = .closeAccount(generator.pick(4...5))
    default: self = .read(generator.pick(1...5))
    }
  }
}

/// The service's parts over one kind of store.
private struct Side: Sendable {
  let store: ApptimistStore
  private let directory: AccountDirectory
  private let messages: MessageDelivery
  private let clock = TestClock()
  private let node = NodeID(rawValue: 7)

  init(
    _ location: StoreLocation, _ keys: ServiceKeys, _ limits: ApptimistStore.Limits
  ) async throws {
    let database = try await Store.open(location, migrations: ApptimistService.migrations)
    store = ApptimistStore(
      store: database, limits: limits, wakes: .test(database, clock))
    if database.isShared {
      try await NodeRegistry(node, named: "test", version: "1", in: database).sendHeartbeat()
    }
    directory = AccountDirectory(store)
    let hub = SessionHub(limit: 1)
    let clients = ClientAccounting(ClientLimits(), clock: { ApptimistStore.now })
    messages = MessageDelivery(
      store: store, directory: directory, fanOut: ForumFanOut(keys: keys, store: store), hub: hub,
      clients: clients, metrics: ApptimistMetrics(Metrics(), hub: hub, clients: clients))
  }

  /// Does something, and describes its outcome.
  func perform(_ act: Act) async throws -> String {
    switch act {
    case .post(let posts, let sender, let isVersion1):
      let login = AccountLogin(
        user: StoreFixture.key(sender), authenticationKey: StoreFixture.authenticationKey(sender),
        isVersion1: isVersion1)
      let requester = Requester(session: SessionID(number: 0), network: nil, login: login)
      let outcomes = try await messages.deliver(
        posts.compactMap { $0.post(from: sender, isVersion1: isVersion1) }, from: requester)
      return "\(outcomes.outcomes)"
    case .truncate(let user, let message):
      // Most are of messages to that user.
      let mine = Act.Message(number: message.number, recipient: user, size: message.size)
      let ids = (1...5).compactMap { mine.post(from: $0, isVersion1: true) }.map {
        MessageID(header: $0.header, data: $0.data[...])
      }
      var outcomes: [Truncation] = []
      for id in ids {
        outcomes.append(try await store.truncate(id, of: StoreFixture.login(user)).truncation)
      }
      return "\(outcomes)"
    case .list(let name, let forum, let users):
      let outcome = try await store.write(
        keys: users, to: name.rawValue, of: forum, by: 1)
      directory.forget(StoreFixture.key(forum))
      return "\(String(describing: outcome))"
    case .closeForum(let forum):
      let new = RequestedAccount(
        key: StoreFixture.key(forum), authenticationKey: StoreFixture.authenticationKey(forum),
        name: try #require(AccountName("forum")), uid: "", isProven: true, isClosed: true)
      let outcome = try await store.createForum(new, author: StoreFixture.login(1))
      directory.forget(StoreFixture.key(forum))
      return "\(outcome)"
    case .closeAccount(let user):
      return
        "\(try await store.prove(StoreFixture.key(user), StoreFixture.authenticationKey(user), closes: true))"
    case .bind(let binding, let device, let user):
      let session = session(device, user)
      try await store.bind(binding, to: .test(device), in: session, by: login(user))
      return ""
    case .acknowledge(let position, let device, let user):
      let last = try await store.lastPosition(of: StoreFixture.key(user))
      let acknowledged = min(MailboxPosition(rawValue: Int64(position)), last)
      let device = Acknowledgement.Device(user: StoreFixture.key(user), id: .test(device))
      try await store.acknowledge([Acknowledgement(device: device, position: acknowledged)])
      return ""
    case .open(let device, let user):
      let session = session(device, user)
      try await store.show(
        Acknowledgement.Device(user: StoreFixture.key(user), id: .test(device)), in: session)
      return ""
    case .close(let device, let user):
      try await store.leave(session(device, user))
      return ""
    case .wait(let seconds):
      clock.advance(by: .seconds(seconds))
      let now = clock.now
      return try await store.store.write { transaction in
        let pushed: [[UInt8]] = try transaction.all(
          "SELECT device FROM push_outbox WHERE due_at <= ? ORDER BY device", now
        ) { try $0[0] }
        try transaction.execute("DELETE FROM push_outbox WHERE due_at <= ?", now)
        return "\(pushed)"
      }
    case .lease:
      let now = clock.now
      return try await store.store.write { transaction in
        try transaction.execute(
          "UPDATE push_outbox SET lease_owner = ?, attempts = 1 WHERE due_at <= ?", [7] as [UInt8],
          now)
        return "\(transaction.changes)"
      }
    case .read(let user):
      return "\(try await store.entries(of: user, maxBytes: 300, maxEntries: 3))"
    }
  }

  private func session(_ device: Int, _ user: Int) -> NodeSession {
    NodeSession(node: node, session: SessionID(number: UInt64(user * 10 + device)))
  }

  private func login(_ user: Int) -> AccountLogin {
    AccountLogin(
      user: StoreFixture.key(user), authenticationKey: StoreFixture.authenticationKey(user),
      isVersion1: false)
  }

  /// All that is stored, but for what only one kind of store needs: the numbers of contents and their recipients, and where
  /// runs begin. A message may be stored more than once.
  static let tables: [StaticString] = [
    """
    SELECT e.owner, e.position, e.kind, e.sender, e.size, e.message_id, c.sender, c.data
    FROM apptimist_entries e LEFT JOIN apptimist_contents c ON c.id = e.content ORDER BY 1, 2
    """,
    "SELECT sender, data, CAST(sum(holders) AS BIGINT) FROM apptimist_contents GROUP BY 1, 2 ORDER BY 1, 2",
    """
    SELECT owner, message_id, position, is_truncated, truncated_at FROM apptimist_message_ids
    ORDER BY 1, 2
    """,
    """
    SELECT owner, device, outbox, kind, address, tag, flags, keys, bound_at, shown_at, noted_at, woken,
      woken_at, before_at
    FROM apptimist_addresses ORDER BY 1, 2
    """,
    """
    SELECT service, device, account, kind, address, content, urgency, collapse_key, position,
      created_at, expires_at, attempts, due_at, is_next, lease_owner
    FROM push_outbox ORDER BY 2, position, created_at
    """,
    "SELECT owner, position, message_id FROM apptimist_dropped ORDER BY 1, 2",
    "SELECT owner, sender, entries, bytes, oldest FROM apptimist_shares ORDER BY 1, 2",
    "SELECT owner, last_position, entries, bytes, dropped FROM apptimist_queues ORDER BY 1",
    """
    SELECT id, key, kind, author, authentication_key, uid, name, is_proven, is_closed, file_bytes
    FROM apptimist_users ORDER BY 1
    """,
    "SELECT directory, name, size, content FROM apptimist_files ORDER BY 1, 2",
    "SELECT owner, contact FROM apptimist_contacts ORDER BY 1, 2",
  ]

  func rows(of table: StaticString) async throws -> [[DatabaseValue]] {
    try await store.store.read { snapshot in
      try snapshot.all(table) { row in
        var values: [DatabaseValue] = []
        while let value: DatabaseValue = try? row[values.count] {
          values.append(value)
        }
        return values
      }
    }
  }
}
