internal import Cryptography
internal import HTTPProtocol
internal import MsgrMessages
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
      store: fixture.store, limits: MsgrStore.Limits(), clock: { fixture.clock.now },
      randomBytes: SecureRandom.bytes)
    #expect(try await !store.expire())
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
    func seen() async throws -> MessageID? {
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
