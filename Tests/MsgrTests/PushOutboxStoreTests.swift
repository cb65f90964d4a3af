internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The guarantees of the outbox table.
struct PushOutboxStoreTests {
  private let fixture: PushFixture

  init() async throws {
    fixture = try await PushFixture()
    try await fixture.makeUser("anna")
    try await fixture.makeUser("bert", PushFixture.device(1), PushFixture.device(2))
  }

  @Test func aMessageIsQueuedForEachDeviceUnderAnIdentifierOfItsOwn() async throws {
    let id = try await fixture.send("one", to: "bert", isAddRequest: true)
    let pushes = try await fixture.lease()
    #expect(pushes.map(\.deviceID) == [PushFixture.device(1), PushFixture.device(2)])
    #expect(Set(pushes.map(\.pushID)).count == 2)
    #expect(pushes.allSatisfy { $0.message?.id == id && $0.text == "one" })
    #expect(pushes.allSatisfy { $0.message?.isAddRequest == true && $0.attempts == 1 })
    #expect(pushes.allSatisfy { $0.message?.sender.text == "anna" && $0.message?.badge == 1 })
    #expect(pushes.allSatisfy { $0.expires == fixture.clock.now + .seconds(7 * 86_400) })
  }

  @Test func aRenewedLeaseLastsAsLongAsTheFirst() async throws {
    try await fixture.send("one", to: "bert")
    let mine = PushFixture.owner
    let other = [UInt8](repeating: 9, count: 16)
    let push = try #require(try await fixture.lease(1, owner: mine).first)
    let second = try #require(try await fixture.lease(1, owner: mine).first)
    fixture.clock.advance(by: PushStore.lease - .seconds(1))
    #expect(try await fixture.outbox.renewLease(of: push, owner: mine))
    #expect(try await !fixture.outbox.renewLease(of: push, owner: other))
    fixture.clock.advance(by: .seconds(2))
    // The one that wasn't renewed is another outbox's now.
    #expect(try await fixture.lease(owner: other).map(\.id) == [second.id])
    #expect(try await !fixture.outbox.renewLease(of: second, owner: mine))
    fixture.clock.advance(by: PushStore.lease)
    #expect(try await fixture.lease(owner: other).map(\.id).contains(push.id))
    #expect(try await !fixture.outbox.renewLease(of: push, owner: mine))
  }

  @Test func aMessageThatIsRolledBackIsNotPushed() async throws {
    struct Stop: Error {}
    let store = fixture.store
    let anna = try PushFixture.name("anna")
    let bert = try PushFixture.name("bert")
    let text = try MessageText("m")
    await #expect(throws: Stop.self) {
      try await store.store.write { transaction in
        let post = InboxPost(sender: anna, owner: anna, recipient: bert, text: text)
        _ = try store.deliver([post], transaction)
        throw Stop()
      }
    }
    #expect(try await fixture.lease().isEmpty)
  }

  @Test func theBadgeCountsWhatIsNewerThanWhatWasSeen() async throws {
    let first = try await fixture.send(to: "bert")
    try await fixture.store.recordSeen(upTo: first, by: try PushFixture.name("bert"))
    try await fixture.send(to: "bert")
    try await fixture.send(to: "bert")
    var badges: [Int] = []
    for _ in 1...3 {
      for push in try await fixture.lease() {
        if push.deviceID == PushFixture.device(1) { badges.append(push.message?.badge ?? 0) }
        try await fixture.complete(push, .delivered)
      }
    }
    #expect(badges == [1, 1, 2])
  }

  @Test func nobodyElseGetsWhatIsLeasedUntilTheLeaseEnds() async throws {
    try await fixture.send(to: "bert")
    let first = try await fixture.lease()
    #expect(first.count == 2)
    #expect(try await fixture.lease(owner: [2]).isEmpty)
    fixture.clock.advance(by: PushStore.lease)
    let second = try await fixture.lease(owner: [2])
    #expect(second.map(\.pushID) == first.map(\.pushID))
    #expect(second.map(\.attempts) == [2, 2])
    // A late settlement changes nothing.
    for push in first { try await fixture.complete(push, .delivered) }
    #expect(try await fixture.count("push_outbox") == 2)
    for push in second { try await fixture.complete(push, .delivered, owner: [2]) }
    #expect(try await fixture.count("push_outbox") == 0)
  }

  @Test func twoThatLeaseAtOnceShare() async throws {
    for number in 10..<60 { try await fixture.makeUser("u\(number)", PushFixture.device(number)) }
    for number in 10..<60 { try await fixture.send(to: "u\(number)") }
    async let left = fixture.lease(30)
    async let right = fixture.lease(30, owner: [2])
    let all = try await left.map(\.id) + right.map(\.id)
    #expect(Set(all).count == all.count)
    #expect(all.count == 50)
  }

  @Test func pushesToADeviceGoOneAfterTheOtherInOrder() async throws {
    for text in ["1", "2", "3"] { try await fixture.send(text, to: "bert") }
    var seen: [String] = []
    for _ in 0..<3 {
      let pushes = try await fixture.lease().filter { $0.deviceID == PushFixture.device(1) }
      #expect(pushes.count == 1)
      seen += pushes.compactMap(\.text)
      // A failure in between lets nothing overtake.
      for push in pushes {
        try await fixture.complete(push, .retried(at: fixture.clock.now + .seconds(5)))
      }
      #expect(try await fixture.lease().allSatisfy { $0.deviceID != PushFixture.device(1) })
      fixture.clock.advance(by: .seconds(5))
      for push in try await fixture.lease() where push.deviceID == PushFixture.device(1) {
        #expect(push.attempts == 2)
        try await fixture.complete(push, .delivered)
      }
    }
    #expect(seen == ["1", "2", "3"])
  }

  @Test func tellsWhenTheNextIsDueAndHowMuchWaits() async throws {
    #expect(try await fixture.loan().next == nil)
    let queued = fixture.clock.now
    try await fixture.send(to: "bert")
    fixture.clock.advance(by: .seconds(3))
    let loan = try await fixture.loan()
    #expect(loan.pushes.count == 1 && loan.next == queued)
    let state = try #require(try await fixture.outbox.states().first)
    #expect(state.service == MsgrService.name && state.length == 2 && state.oldest == queued)
    let later = fixture.clock.now + .seconds(60)
    for push in try await fixture.lease() + loan.pushes {
      try await fixture.complete(push, .retried(at: later))
    }
    #expect(try await fixture.loan().next == later)
  }

  @Test(
    arguments: [
      (-1, true), (0, true), (1, false), (nil, false),
    ] as [(Int64?, Bool)])
  func unbindsADeviceUnlessItWasBoundLater(offset: Int64?, remains: Bool) async throws {
    try await fixture.send("1", to: "bert")
    try await fixture.send("2", to: "bert")
    let bound = fixture.clock.now
    let push = try #require(try await fixture.lease(1).first)
    try await fixture.complete(
      push, .unbound(boundBefore: offset.map { bound + .milliseconds($0) }))
    #expect(try await fixture.count("msgr_devices") == (remains ? 2 : 1))
    // The push itself is gone in any case; the other pushes go with the device.
    #expect(try await fixture.count("push_outbox") == (remains ? 3 : 2))
  }

  @Test func whatIsPushedIsDroppedWithTheAccountNotWithTheInbox() async throws {
    try await fixture.send(to: "bert")
    try await fixture.store.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_messages")
    }
    #expect(try await fixture.count("push_outbox") == 2)
    try await fixture.store.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_users WHERE username = 'bert'")
    }
    #expect(try await fixture.count("push_outbox") == 0)
  }

  @Test func remembersWhichPushServiceHasTakenAPush() async throws {
    try await fixture.send(to: "bert")
    let pushes = try await fixture.lease()
    try await fixture.complete(pushes[0], .dropped(.refused))
    #expect(try await !fixture.outbox.hasProven("target"))
    try await fixture.complete(pushes[1], .delivered)
    #expect(try await fixture.outbox.hasProven("target"))
    #expect(try await !fixture.outbox.hasProven("another"))
  }

  @Test func whatAStreamDeliversIsHeldThenDroppedOrReleased() async throws {
    let device = PushFixture.device(3)
    try await fixture.makeUser("cleo", device)
    let first = try await fixture.send("1", to: "cleo", streaming: true)
    let second = try await fixture.send("2", to: "cleo", streaming: true)
    try await fixture.send("3", to: "cleo", streaming: true)
    #expect(try await fixture.lease().isEmpty)
    let token = BoundToken(
      hash: TokenHash(digest: SHA256.hash([1])), name: try PushFixture.name("cleo"), device: device)
    let progress = MessageStreamProgress(start: .zero, sent: first, confirmed: first)
    /// Completes what a stream leaves, while another stream of the device brings what comes after a message.
    func recordProgress(releasedTo released: MsgrMessageID?) async throws {
      fixture.streams.set(released.map { [device: $0] } ?? [:])
      try await fixture.store.recordProgress(progress, of: token, ending: released.map { _ in 1 })
    }
    try await recordProgress(releasedTo: nil)
    #expect(try await fixture.lease().isEmpty)
    #expect(try await fixture.count("push_outbox") == 2)
    try await recordProgress(releasedTo: first)
    #expect(try await fixture.lease().isEmpty)
    try await recordProgress(releasedTo: second)
    let pushes = try await fixture.lease()
    #expect(pushes.map(\.text) == ["2"])
    for push in pushes { try await fixture.complete(push, .delivered) }
    #expect(try await fixture.lease().isEmpty)
    try await recordProgress(releasedTo: .last)
    #expect(try await fixture.lease().map(\.text) == ["3"])
  }

  @Test func whatIsHeldTooLongIsPushed() async throws {
    try await fixture.send(to: "bert", streaming: true)
    fixture.clock.advance(by: fixture.store.limits.pushHold - .milliseconds(1))
    #expect(try await fixture.lease().isEmpty)
    fixture.clock.advance(by: .milliseconds(1))
    #expect(try await fixture.lease().count == 2)
  }

  @Test func atMostEightPushesOfAnAccountAreUnderWay() async throws {
    for device in 10..<22 { try await fixture.makeUser("cleo", PushFixture.device(device)) }
    try await fixture.send(to: "cleo")
    fixture.clock.advance(by: .seconds(1))
    try await fixture.send(to: "bert")
    let first = try await fixture.lease()
    let ofCleo = first.filter { String(decoding: $0.account, as: UTF8.self) == "cleo" }
    // The others wait for nobody.
    #expect(ofCleo.count == 8 && first.count == 10)
    #expect(first.allSatisfy { $0.attempts == 1 })
    let loan = try await fixture.loan(100, owner: [2])
    #expect(loan.pushes.isEmpty && loan.next == nil)
    for push in ofCleo.prefix(3) { try await fixture.complete(push, .delivered) }
    let second = try await fixture.lease(owner: [2])
    #expect(second.count == 3 && second.allSatisfy { $0.attempts == 1 })
    // What a dead process had under way counts no more.
    fixture.clock.advance(by: PushStore.lease)
    #expect(try await fixture.lease(owner: [3]).count == 10)
  }

  /// Two nodes that lease at the same moment don't see each other's leases, neither of one kind nor of two.
  @Test(.withOtherPrograms) func atMostEightPushesOfAnAccountAreUnderWayAtAllNodes() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let location = StoreLocation.postgreSQL(try PostgreSQLAddress(server.url(of: database)))
    let nodes = [try await PushFixture(location), try await PushFixture(location)]
    let address = try PushAddress(.apns, text: String(repeating: "ab", count: 32))
    let token = try PushAddress(.fcm, text: String(repeating: "ab", count: 32))
    let now = nodes[0].clock.now
    // Many devices of few accounts; each device has one push.
    try await nodes[0].store.store.write { transaction in
      for number in 0..<240 {
        try PushFixture.queue.queue(
          [], to: number % 2 == 0 ? address : token, of: [UInt8(number)], for: [UInt8(number % 3)],
          created: now, due: now, expires: now + .seconds(100_000), transaction)
      }
    }
    var gone = 0
    var rounds = 0
    var contended = 0
    var held: [LeasedPush] = []
    while gone < 240, rounds < 500 {
      rounds += 1
      let leased = try await withThrowingTaskGroup(of: [LeasedPush].self) { group in
        for (index, node) in nodes.enumerated() {
          for kind in [PushKind.apns, .fcm] {
            group.addTask {
              try await node.lease(
                Int.random(in: 1...30), owner: [UInt8(index), UInt8(kind.rawValue)], of: kind)
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      if leased.isEmpty, held.isEmpty { contended += 1 }
      #expect(Set(leased.map(\.id)).count == leased.count)
      let most = try await nodes[0].store.store.read { snapshot in
        try snapshot.all(
          "SELECT count(*) FROM push_outbox WHERE lease_owner IS NOT NULL GROUP BY account"
        ) { try $0[0] as Int }
      }
      #expect(most.allSatisfy { $0 <= 8 })
      #expect(leased.allSatisfy { $0.attempts == 1 })
      // Half of them stay under way over the next round.
      held = (held + leased).shuffled()
      let count = (held.count + 1) / 2
      for push in held.prefix(count) {
        let owner: [UInt8]? = try await nodes[0].store.store.read { snapshot in
          try snapshot.value("SELECT lease_owner FROM push_outbox WHERE id = ?", push.id)
        }
        try await nodes[0].complete(push, .delivered, owner: try #require(owner))
      }
      held.removeFirst(count)
      gone += count
    }
    #expect(gone == 240 && contended < rounds / 2)
  }

  @Test func nothingOfAnotherServiceIsLeasedOrTouched() async throws {
    let other = PushQueue(service: "other", kinds: [.apns])
    let address = try PushAddress(.apns, text: String(repeating: "Ab", count: 32))
    let store = fixture.store.store
    let now = fixture.clock.now
    for number in 0..<4 {
      try await store.write { transaction in
        _ = try other.queue(
          [UInt8(number)], to: address, of: [1], for: [2], position: Int64(number), created: now,
          due: now + .seconds(60), expires: now + .seconds(600), transaction)
        _ = try other.trim([1], toAtMost: 3, transaction)
      }
    }
    try await fixture.send(to: "bert")
    #expect(try await fixture.lease().count == 2)
    #expect(try await fixture.outbox.states().map(\.service).sorted() == ["msgr", "other"])
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
    #expect(try await fixture.count("push_outbox") == 3)
  }

  @Test func addressesHaveTheirForms() throws {
    for (kind, text, isGood) in [
      (.apns, ("a1", 32), true), (.apns, ("a1", 31), false), (.apns, ("g1", 32), false),
      (.apnsSandbox, ("a1", 100), true), (.fcm, ("t:", 16), true), (.fcm, ("t", 31), false),
      (.fcm, ("t", 1024), true), (.fcm, ("t", 1025), false), (.fcm, ("é", 40), false),
      (.web, ("https://push.example/", 1), false),
    ] as [(PushKind, (String, Int), Bool)] {
      let address = try? PushAddress(kind, text: String(repeating: text.0, count: text.1))
      #expect((address != nil) == isGood, "\(kind) \(text)")
    }
    let keys = try P256KeyPair().publicKey.bytes + [UInt8](repeating: 7, count: 16)
    func web(_ url: String, _ keys: [UInt8]) throws -> PushAddress {
      try PushAddress(.web, bytes: keys + Array(url.utf8))
    }
    let address = try web("https://push.example/secret", keys)
    #expect(address.text == "https://push.example/secret")
    #expect("\(address)" == "https://push.example")
    #expect(throws: PushAddressError.self) { try web("https://push.example:444/", keys) }
    let short = Array(keys.dropLast(20))
    #expect(throws: PushAddressError.self) { try web("https://push.example/", short) }
    #expect(throws: PushAddressError.self) { try web("https://push.example/", keys.map { _ in 4 }) }
    #expect(throws: PushAddressError.self) { try PushAddress(.web, bytes: []) }
  }
}
