internal import Cryptography
internal import HTTPProtocol
internal import Push
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

@Suite struct MsgrStoreTests {
  @Test func identifiersRiseWhateverTheClockDoes() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    var ids: [String] = []
    for step in [0, 0, 1000, -1_000_000_000, 5, -1_900_000_000_000, 4_000_000_000_000] as [Int] {
      fixture.clock.advance(by: .milliseconds(step))
      ids.append(try #require(try await fixture.send("m", from: "anna", to: "bert").id))
    }
    #expect(zip(ids, ids.dropFirst()).allSatisfy(<))
    // They rise also when all messages are gone.
    try await fixture.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_messages")
    }
    fixture.clock.advance(by: .seconds(-4_000_000_000))
    #expect(try #require(try await fixture.send("m", from: "anna", to: "bert").id) > ids[6])
  }

  @Test func identifiersCountInEachInboxByItself() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert", "cleo"] { try await fixture.register(name) }
    _ = try await fixture.post(
      "/block", ["Username": "cleo", "Password": "pw", "User": "anna"])
    var ids: [String: [String]] = [:]
    for _ in 0..<3 {
      for name in ["bert", "cleo"] {
        let id = try #require(try await fixture.send("m", from: "anna", to: name).id)
        ids[name, default: []].append(id)
      }
    }
    // A blocked user sees nothing of it.
    #expect(ids["bert"] == ids["cleo"])
    #expect(Set(ids["bert"] ?? []).count == 3)
    let last = try #require(try await fixture.send("m", from: "bert", to: "cleo").id)
    #expect(last > ids["cleo"]?.last ?? "")
    #expect(try await fixture.texts("cleo") == ["m"])
  }

  @Test func aFullInboxDropsWhatWhoeverHoldsMostSentFirst() async throws {
    let fixture = try await Fixture("inbox_messages = 5\n")
    for name in ["anna", "bert", "cleo"] { try await fixture.register(name) }
    try await fixture.send("b0", from: "bert", to: "cleo")
    for number in 0..<4 { try await fixture.send("a\(number)", from: "anna", to: "cleo") }
    try await fixture.send("a4", from: "anna", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["b0", "a1", "a2", "a3", "a4"])
    try await fixture.send("b1", from: "bert", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["b0", "a2", "a3", "a4", "b1"])
    try await fixture.send("b2", from: "bert", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["b0", "a3", "a4", "b1", "b2"])
    // Three of bert's and two of anna's.
    try await fixture.send("a5", from: "anna", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["a3", "a4", "b1", "b2", "a5"])
  }

  private static func makeFriends(_ fixture: Fixture, _ name: String, _ friend: String) async throws
  {
    for (one, other) in [(name, friend), (friend, name)] {
      _ = try await fixture.post("/add", ["Username": one, "Password": "pw", "AddUser": other])
    }
    // The request for it is a message too.
    try await fixture.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_messages WHERE is_add_request = 1")
    }
  }

  @Test func whatPublishersSentIsTheirOwners() async throws {
    try await Self.expectPublishersToCountAsOwners(try await Fixture("inbox_messages = 6\n"))
  }

  /// Expects it of a service whose inboxes take six messages.
  static func expectPublishersToCountAsOwners(_ fixture: Fixture) async throws {
    for name in ["anna", "bert", "cleo", "mallory"] { try await fixture.register(name) }
    try await Self.makeFriends(fixture, "anna", "cleo")
    func publish(_ owner: String, _ names: [String]) async throws {
      for name in names {
        let made = try await fixture.post(
          "/tokens", ["Username": owner, "Password": "pw", "Name": name, "To": ["cleo"]])
        let token = try #require(made.object["Token"] as? String)
        let sent = try await fixture.post(
          "/publish?token=\(token)", ["message": "\(owner) \(name)"])
        #expect(sent.status == 200)
      }
    }
    // One's own publisher and a friend's; a stranger, and another stranger's many publishers.
    try await publish("cleo", ["a", "b"])
    try await publish("anna", ["\u{301}a"])
    try await fixture.send("b0", from: "bert", to: "cleo")
    try await publish("mallory", (0..<9).map { "\($0)" })
    #expect(
      try await fixture.texts("cleo")
        == ["cleo a", "cleo b", "anna \u{301}a", "b0", "mallory 7", "mallory 8"])
    // Friends' take strangers' places, and strangers' not friends'.
    try await publish("anna", ["b", "c", "d"])
    try await publish("mallory", ["x"])
    #expect(
      try await fixture.texts("cleo")
        == ["cleo a", "cleo b", "anna \u{301}a", "anna b", "anna c", "anna d"])
  }

  @Test func noStrangerPushesOutWhatFriendsSent() async throws {
    let fixture = try await Fixture("inbox_messages = 5\n")
    let strangers = (0..<8).map { "stranger \($0)" }
    for name in ["anna", "bert", "cleo"] + strangers { try await fixture.register(name) }
    try await Self.makeFriends(fixture, "anna", "cleo")
    try await Self.makeFriends(fixture, "bert", "cleo")
    for number in 0..<3 { try await fixture.send("a\(number)", from: "anna", to: "cleo") }
    try await fixture.send("own", from: "cleo", to: "cleo")
    for name in strangers {
      #expect(try await fixture.send(name, from: name, to: "cleo").status == 200)
    }
    #expect(try await fixture.texts("cleo") == ["a0", "a1", "a2", "own", "stranger 7"])
    // A friend who has nothing there takes a stranger's place, then that of the friend with most.
    try await fixture.send("b0", from: "bert", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["a0", "a1", "a2", "own", "b0"])
    #expect(try await fixture.send("no room", from: strangers[0], to: "cleo").status == 200)
    #expect(try await fixture.texts("cleo") == ["a0", "a1", "a2", "own", "b0"])
    try await fixture.send("b1", from: "bert", to: "cleo")
    #expect(try await fixture.texts("cleo") == ["a1", "a2", "own", "b0", "b1"])
    let counts: [Int]? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT messages, unread FROM msgr_users WHERE username = 'cleo'") {
        [try $0[0], try $0[1]]
      }
    }
    #expect(counts == [5, 5])
  }

  @Test func whomAUserHasWrittenToIsNoStranger() async throws {
    let fixture = try await Fixture("inbox_messages = 5\n")
    for name in ["anna", "cleo"] { try await fixture.register(name) }
    try await fixture.send("hello", from: "cleo", to: "anna")
    for number in 0..<5 { try await fixture.send("a\(number)", from: "anna", to: "cleo") }
    for number in 0..<8 {
      try await Self.register(fixture, "stranger \(number)", from: "192.0.\(number).1")
      #expect(try await fixture.send("x", from: "stranger \(number)", to: "cleo").status == 200)
    }
    #expect(try await fixture.texts("cleo") == ["a0", "a1", "a2", "a3", "a4"])
  }

  @Test func strangersShareAnInboxBySite() async throws {
    let fixture = try await Fixture("inbox_messages = 6\n")
    try await fixture.register("cleo")
    for (name, address) in [("anna", "192.0.2.1"), ("bert", "198.51.100.1")] {
      try await Self.register(fixture, name, from: address)
    }
    for text in ["a0", "a1"] { try await fixture.send(text, from: "anna", to: "cleo") }
    try await fixture.send("b0", from: "bert", to: "cleo")
    // Accounts of one site, however many and each with one message.
    for number in 0..<9 {
      try await Self.register(fixture, "free \(number)", from: "2001:db8:7:\(number)::1")
      try await fixture.send("f\(number)", from: "free \(number)", to: "cleo")
    }
    #expect(try await fixture.texts("cleo") == ["a0", "a1", "b0", "f6", "f7", "f8"])
  }

  private static func register(
    _ fixture: Fixture, _ name: String, from address: String
  ) async throws {
    let response = try await fixture.post(
      "/register", ["Username": name, "Password": "pw", "DeviceID": Fixture.device(name)],
      from: address)
    #expect(response.status == 200)
  }

  @Test func aDeviceHasNoMorePushesThanAnInboxMessages() async throws {
    let limits = MsgrStore.Limits(inbox: 3)
    let fixture = try await PushFixture(limits: limits)
    for name in ["anna", "bert"] { try await fixture.makeUser(name) }
    try await fixture.makeUser("bert", PushFixture.device(1), PushFixture.device(2))
    for number in 0..<10 { try await fixture.send("\(number)", to: "bert") }
    #expect(try await fixture.count("push_outbox") == 6)
    let pushes = try await fixture.lease()
    #expect(pushes.map(\.text) == ["7", "7"])
  }

  @Test func nothingIsQueuedIfNothingIsPushed() async throws {
    let fixture = try await Fixture("push = \"off\"\n")
    for name in ["anna", "bert"] { try await fixture.register(name) }
    #expect(try await fixture.send("m", from: "anna", to: "bert").status == 200)
    let pushes: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM push_outbox") { try $0[0] }
    }
    #expect(pushes == 0)
    #expect(fixture.service.service.store.pushes.kinds == [.web])
  }

  @Test func anAccountHasSoManyContactsAndBlocks() async throws {
    let fixture = try await Fixture("contacts = 2\n")
    for name in ["anna", "bert", "cleo", "dora"] { try await fixture.register(name) }
    func asAnna(_ path: String, _ field: String, _ user: String) async throws -> Int {
      try await fixture.post(path, ["Username": "anna", "Password": "pw", field: user]).status
    }
    #expect(try await asAnna("/add", "AddUser", "bert") == 200)
    #expect(try await asAnna("/add", "AddUser", "cleo") == 200)
    #expect(try await asAnna("/add", "AddUser", "dora") == 403)
    #expect(try await asAnna("/add", "AddUser", "bert") == 200)
    #expect(try await asAnna("/unfriend", "User", "bert") == 200)
    #expect(try await asAnna("/add", "AddUser", "dora") == 200)
    #expect(try await asAnna("/block", "User", "bert") == 200)
    #expect(try await asAnna("/block", "User", "cleo") == 200)
    #expect(try await asAnna("/block", "User", "cleo") == 200)
    #expect(try await asAnna("/block", "User", "dora") == 403)
  }

  @Test func whatIsSeenIsNotCounted() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    var ids: [String] = []
    for _ in 0..<5 {
      ids.append(try #require(try await fixture.send("m", from: "anna", to: "bert").id))
    }
    func unread() async throws -> Int? {
      try await fixture.store.read { snapshot in
        try snapshot.one("SELECT unread FROM msgr_users WHERE username = 'bert'") { try $0[0] }
      }
    }
    for (seen, left) in [(1, 3), (0, 3), (3, 1), (4, 0)] {
      _ = try await fixture.inbox("bert", since: ids[seen])
      #expect(try await unread() == left)
    }
    try await fixture.send("m", from: "anna", to: "bert")
    #expect(try await unread() == 1)
  }

  @Test func messagesStayForAWeek() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    try await fixture.send("old", from: "anna", to: "bert")
    fixture.clock.advance(by: .seconds(7 * 86_400 - 1))
    try await fixture.send("new", from: "anna", to: "bert")
    #expect(try await fixture.texts("bert") == ["old", "new"])
    fixture.clock.advance(by: .seconds(1))
    #expect(try await fixture.texts("bert") == ["new"])
    let store = MsgrStore(
      store: fixture.store, limits: MsgrStore.Limits(), pushes: PushFixture.queue,
      clock: { fixture.clock.now },
      randomBytes: SecureRandom.bytes)
    #expect(try await !store.expire(at: fixture.clock.now))
    let count: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM msgr_messages") { try $0[0] }
    }
    #expect(count == 1)
  }

  @Test func anAccountHasSoManyDevices() async throws {
    let fixture = try await Fixture("devices = 3\n")
    let first = try await fixture.register("anna")
    for number in 0..<3 {
      fixture.clock.advance(by: .seconds(1))
      _ = try await fixture.post(
        "/login",
        ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("phone \(number)")])
    }
    #expect(try await fixture.post("/contacts", [:], token: first).status == 403)
    let devices: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] }
    }
    #expect(devices == 3)
  }

  @Test func whatWasAskedPastIsSeen() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    let id = try #require(try await fixture.send("m", from: "anna", to: "bert").id)
    func seen() async throws -> MsgrMessageID? {
      try await fixture.store.read { snapshot in
        try snapshot.one("SELECT seen_id FROM msgr_users WHERE username = 'bert'") { try $0[0] }
      }
    }
    _ = try await fixture.inbox("bert")
    #expect(try await seen() == .zero)
    for since in [id, "0000000000000001", "ffffffffffffffff"] {
      _ = try await fixture.inbox("bert", since: since)
      #expect(try await seen()?.text == id)
    }
  }

  @Test func aStoreThatCannotWriteIsUnavailable() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    await fixture.store.close()
    let response = try await fixture.send("m", from: "anna", to: "anna")
    #expect(response.status == 503)
    #expect(response.fields.first(.retryAfter) != nil)
  }
}
