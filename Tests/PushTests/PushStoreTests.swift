internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Push

/// What the outbox keeps, leases and deletes, on both engines.
@Suite(.ownThreads) struct PushStoreTests {
  /// An engine, as far as this run may use it.
  enum Engine: String, CaseIterable {
    case sqlite, postgreSQL

    static let tested: [Engine] = OtherPrograms.mayRun ? allCases : [.sqlite]
  }

  static func fixture(_ engine: Engine) async throws -> OutboxFixture {
    switch engine {
    case .sqlite: return try await OutboxFixture()
    case .postgreSQL:
      let server = try PostgreSQLServer.shared.get()
      let name = try server.makeDatabase()
      return try await OutboxFixture(.postgreSQL(try PostgreSQLAddress(server.url(of: name))))
    }
  }

  private func devices(_ pushes: [LeasedPush]) -> [String] {
    pushes.map { String(decoding: $0.device, as: UTF8.self) }
  }

  @Test(arguments: Engine.tested)
  func inDoubtAnotherAccountsNewestDeviceIsFirst(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for number in 1...5 { try await fixture.queue(for: "bad \(number)", of: "attacker") }
    let first = try await fixture.lease(1)
    #expect(devices(first) == ["bad 1"])
    // It was tried, and is tried again much later.
    try await fixture.complete(first[0], .retried(at: fixture.clock.now + .seconds(60)))
    try await fixture.queue(for: "old", of: "somebody")
    try await fixture.queue(for: "new", of: "somebody else")
    try await fixture.queue(for: "bad 6", of: "attacker")
    #expect(devices(try await fixture.lease(9, .untriedAccountsNewestFirst)) == ["new"])
    #expect(devices(try await fixture.lease(9, .untriedAccountsOldestFirst)) == ["old"])
    // Then the rest of the account that was tried, the newest first.
    #expect(devices(try await fixture.lease(9, .untriedAccountsNewestFirst)) == ["bad 6"])
    #expect(devices(try await fixture.lease(9, .untriedAccountsOldestFirst)) == ["bad 2"])
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func pushesThatNobodyLeasesEndWithTheirLife(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    // Those of a push service that isn't configured any more.
    for number in 1...7 {
      try await fixture.queue(for: "\(number)", of: "a", kind: .fcm, life: .seconds(100))
    }
    try await fixture.queue(for: "leased", of: "b", life: .seconds(100))
    try await fixture.queue(for: "long", of: "c", life: .seconds(1000))
    fixture.clock.advance(by: .seconds(90))
    #expect(devices(try await fixture.lease(1)) == ["leased"])
    #expect(try await fixture.outbox.deleteExpired().count == 0)
    fixture.clock.advance(by: .seconds(10))
    #expect(try await fixture.outbox.deleteExpired(atMost: 4).count == 4)
    #expect(try await fixture.outbox.deleteExpired(atMost: 4).count == 3)
    #expect(try await fixture.outbox.deleteExpired().count == 0)
    fixture.clock.advance(by: .seconds(100))
    #expect(try await fixture.outbox.deleteExpired().count == 1)
    #expect(devices(try await fixture.lease()) == ["long"])
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func aRenewedLeaseLastsAsLongAsTheFirst(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    let other = [UInt8](repeating: 9, count: 16)
    try await fixture.queue(for: "a")
    try await fixture.queue(for: "b")
    let push = try #require(try await fixture.lease(1).first)
    let second = try #require(try await fixture.lease(1).first)
    fixture.clock.advance(by: PushStore.lease - .seconds(1))
    #expect(try await fixture.outbox.renewLease(of: push, owner: OutboxFixture.owner))
    #expect(try await !fixture.outbox.renewLease(of: push, owner: other))
    fixture.clock.advance(by: .seconds(2))
    // The one that wasn't renewed is another outbox's now.
    #expect(try await fixture.lease(owner: other).map(\.id) == [second.id])
    #expect(try await !fixture.outbox.renewLease(of: second, owner: OutboxFixture.owner))
    fixture.clock.advance(by: PushStore.lease)
    #expect(try await fixture.lease(owner: other).map(\.id).contains(push.id))
    #expect(try await !fixture.outbox.renewLease(of: push, owner: OutboxFixture.owner))
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func nobodyElseGetsWhatIsLeasedUntilTheLeaseEnds(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for device in ["a", "b"] { try await fixture.queue(for: device) }
    let first = try await fixture.lease()
    #expect(first.count == 2)
    #expect(try await fixture.lease(owner: [2]).isEmpty)
    fixture.clock.advance(by: PushStore.lease)
    let second = try await fixture.lease(owner: [2])
    #expect(Set(second.map(\.pushID)) == Set(first.map(\.pushID)))
    #expect(second.map(\.attempts) == [2, 2])
    // A late completion changes nothing.
    for push in first { try await fixture.complete(push, .delivered) }
    #expect(try await fixture.waiting() == 2)
    for push in second { try await fixture.complete(push, .delivered, owner: [2]) }
    #expect(try await fixture.waiting() == 0)
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func twoThatLeaseAtOnceShare(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for number in 1...50 { try await fixture.queue(for: "\(number)") }
    async let left = fixture.lease(30)
    async let right = fixture.lease(30, owner: [2])
    var all = try await left.map(\.id) + right.map(\.id)
    // On PostgreSQL, one leaves to the other what that one is leasing.
    all += try await fixture.lease().map(\.id)
    #expect(Set(all).count == all.count)
    #expect(all.count == 50)
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func pushesToADeviceGoOneAfterTheOtherInOrder(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for text in ["1", "2", "3"] {
      try await fixture.queue(text, for: "a")
      try await fixture.queue(text, for: "b")
    }
    var seen: [String] = []
    for _ in 0..<3 {
      let pushes = try await fixture.lease().filter { devices([$0]) == ["a"] }
      #expect(pushes.count == 1)
      seen += pushes.map { String(decoding: $0.content, as: UTF8.self) }
      // A failure in between lets nothing overtake.
      for push in pushes {
        try await fixture.complete(push, .retried(at: fixture.clock.now + .seconds(5)))
      }
      let others = try await fixture.lease()
      #expect(!devices(others).contains("a"))
      fixture.clock.advance(by: .seconds(5))
      for push in try await fixture.lease() where devices([push]) == ["a"] {
        #expect(push.attempts == 2)
        try await fixture.complete(push, .delivered)
      }
    }
    #expect(seen == ["1", "2", "3"])
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func tellsWhenTheNextIsDueAndHowMuchWaits(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    #expect(try await fixture.nextDue() == nil)
    let queued = fixture.clock.now
    for device in ["a", "b"] { try await fixture.queue(for: device) }
    fixture.clock.advance(by: .seconds(3))
    let leased = try await fixture.lease(1)
    #expect(leased.count == 1)
    #expect(try await fixture.nextDue() == queued)
    let state = try #require(try await fixture.outbox.states().first)
    #expect(state.service == "test" && state.length == 2 && state.oldest == queued)
    let later = fixture.clock.now + .seconds(60)
    for push in try await fixture.lease() + leased {
      try await fixture.complete(push, .retried(at: later))
    }
    #expect(try await fixture.nextDue() == later)
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func remembersWhichPushServiceHasAcceptedAPush(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for device in ["a", "b"] { try await fixture.queue(for: device) }
    let pushes = try await fixture.lease()
    try await fixture.complete(pushes[0], .dropped(.refused))
    #expect(try await !fixture.outbox.hasProven("target"))
    try await fixture.complete(pushes[1], .delivered)
    #expect(try await fixture.outbox.hasProven("target"))
    #expect(try await !fixture.outbox.hasProven("another"))
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func atMostEightPushesOfAnAccountAreUnderWay(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    for device in 1...12 { try await fixture.queue(for: "\(device)", of: "cleo") }
    fixture.clock.advance(by: .seconds(1))
    for device in ["a", "b"] { try await fixture.queue(for: device, of: "bert") }
    let first = try await fixture.lease()
    let ofCleo = first.filter { String(decoding: $0.account, as: UTF8.self) == "cleo" }
    // The others wait for nobody.
    #expect(ofCleo.count == 8 && first.count == 10)
    #expect(first.allSatisfy { $0.attempts == 1 })
    #expect(try await fixture.lease(owner: [2]).isEmpty)
    #expect(try await fixture.nextDue() == nil)
    for push in ofCleo.prefix(3) { try await fixture.complete(push, .delivered) }
    let second = try await fixture.lease(owner: [2])
    #expect(second.count == 3 && second.allSatisfy { $0.attempts == 1 })
    // What a dead process had under way counts no more.
    fixture.clock.advance(by: PushStore.lease)
    #expect(try await fixture.lease(owner: [3]).count == 10)
    await fixture.store.close()
  }

  /// Two nodes that lease at the same moment don't see each other's leases, neither of one kind nor of two.
  @Test(.withOtherPrograms) func atMostEightPushesOfAnAccountAreUnderWayAtAllNodes() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let location = StoreLocation.postgreSQL(try PostgreSQLAddress(server.url(of: database)))
    let nodes = [try await OutboxFixture(location), try await OutboxFixture(location)]
    // Many devices of few accounts; each device has one push.
    for number in 0..<240 {
      try await nodes[0].queue(
        for: "\(number)", of: "\(number % 3)", kind: number % 2 == 0 ? .apns : .fcm)
    }
    var gone = 0
    var rounds = 0
    var contended = 0
    var held: [(push: LeasedPush, owner: [UInt8])] = []
    while gone < 240, rounds < 500 {
      rounds += 1
      let leased = try await withThrowingTaskGroup(of: [(LeasedPush, [UInt8])].self) { group in
        for (index, node) in nodes.enumerated() {
          for kind in [PushKind.apns, .fcm] {
            let owner = [UInt8(index), UInt8(kind.rawValue)]
            group.addTask {
              try await node.lease(Int.random(in: 1...30), owner: owner, of: kind)
                .map { ($0, owner) }
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      if leased.isEmpty, held.isEmpty { contended += 1 }
      #expect(Set(leased.map(\.0.id)).count == leased.count)
      let most = try await nodes[0].store.read { snapshot in
        try snapshot.all(
          "SELECT count(*) FROM push_outbox WHERE lease_owner IS NOT NULL GROUP BY account"
        ) { try $0[0] as Int }
      }
      #expect(most.allSatisfy { $0 <= 8 })
      #expect(leased.allSatisfy { $0.0.attempts == 1 })
      // Half of them stay under way over the next round.
      held = (held + leased).shuffled()
      let count = (held.count + 1) / 2
      for (push, owner) in held.prefix(count) {
        try await nodes[0].complete(push, .delivered, owner: owner)
      }
      held.removeFirst(count)
      gone += count
    }
    #expect(gone == 240 && contended < rounds / 2)
    for node in nodes { await node.store.close() }
  }

  @Test(arguments: Engine.tested)
  func nothingOfAnotherServiceIsLeasedOrTouched(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    let other = PushQueue(service: "other", kinds: [.apns])
    let address = try PushAddress(.apns, text: String(repeating: "Ab", count: 32))
    let store = fixture.store
    let now = fixture.clock.now
    for number in 0..<4 {
      try await store.write { transaction in
        _ = try other.queue(
          [UInt8(number)], to: address, of: [1], for: [2], position: Int64(number), created: now,
          due: now + .seconds(60), expires: now + .seconds(600), transaction)
        _ = try other.trim([1], toAtMost: 3, transaction)
      }
    }
    // The same bytes are another device there.
    try await fixture.queue(for: "\u{1}")
    try await fixture.queue(for: "b")
    #expect(try await fixture.lease().count == 2)
    #expect(try await fixture.outbox.states().map(\.service).sorted() == ["other", "test"])
    func lease() async throws -> [LeasedPush] {
      try await fixture.outbox.lease(atMost: 9, owner: [7], of: .apns, for: ["other"]).pushes
    }
    #expect(try await lease().isEmpty)
    try await store.write { try other.release([1], upTo: 1, at: now, $0) }
    let leased = try await lease()
    #expect(leased.map(\.content) == [[1]])
    #expect(leased.map(\.address.text) == [String(repeating: "ab", count: 32)])
    #expect(try await store.write { try other.drop([1], upTo: 2, $0) } == 1)
    #expect(try await store.write { try other.drop([1], upTo: 2, evenLeased: true, $0) } == 1)
    try await store.write { try other.release([1], at: now, $0) }
    #expect(try await lease().map(\.content) == [[3]])
    #expect(try await fixture.waiting() == 3)
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func anAddressThatIsGoneEndsWithItsPush(_ engine: Engine) async throws {
    let fixture = try await Self.fixture(engine)
    try await fixture.queue("1", for: "a")
    try await fixture.queue("2", for: "a")
    let push = try #require(try await fixture.lease().first)
    // The lease is another's.
    try await fixture.complete(push, .unbound(boundBefore: nil), owner: [2])
    #expect(try await fixture.waiting() == 2)
    #expect(fixture.source.ended.isEmpty)
    try await fixture.complete(push, .unbound(boundBefore: nil))
    #expect(fixture.source.ended == ["a"])
    #expect(try await fixture.lease().map(\.content) == [Array("2".utf8)])
    await fixture.store.close()
  }
}
