internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

@Suite(.ownThreads) struct AuthenticationTests {
  private func contacts(
    _ fixture: Fixture, _ name: String, _ password: String, from peer: String = "192.0.2.1"
  ) async throws -> TestResponse {
    try await fixture.post("/contacts", ["Username": name, "Password": password], from: peer)
  }

  @Test(arguments: ["anna", "nobody"])
  func failuresOfANameFromAnAddressAreLimited(_ name: String) async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    try await fixture.register("bert")
    for attempt in 0..<10 {
      #expect(try await contacts(fixture, name, "wrong \(attempt)").status == 403)
    }
    fixture.clock.advance(by: .seconds(100))
    // Not even with the right password.
    let refused = try await contacts(fixture, name, "pw")
    #expect(refused.status == 429)
    #expect(refused.fields.first(.retryAfter) == "238")
    #expect(try await contacts(fixture, "bert", "pw").status == 200)
    #expect(try await contacts(fixture, name, "pw", from: "192.0.2.2").status != 429)
    fixture.clock.advance(by: .seconds(237))
    #expect(try await contacts(fixture, name, "pw").status == 429)
    fixture.clock.advance(by: .seconds(1))
    #expect(try await contacts(fixture, name, "pw").status != 429)
  }

  @Test func refusedTriesDontCount() async throws {
    let fixture = try await Fixture()
    for attempt in 0..<30 { _ = try await contacts(fixture, "nobody", "wrong \(attempt)") }
    fixture.clock.advance(by: .seconds(338))
    #expect(try await contacts(fixture, "nobody", "x").status == 403)
  }

  @Test func failuresOfAnAddressAreLimited() async throws {
    let fixture = try await Fixture("failed_logins_address = 20\n")
    try await fixture.register("anna")
    for attempt in 0..<20 {
      let peer = "2001:db8::\(attempt + 1)"
      #expect(try await contacts(fixture, "name \(attempt)", "x", from: peer).status == 403)
    }
    // The whole /64 network, and nobody else.
    #expect(try await contacts(fixture, "anna", "pw", from: "2001:db8::ffff").status == 429)
    #expect(try await contacts(fixture, "anna", "pw", from: "2001:db8:0:1::1").status == 200)
  }

  @Test func manyAtOnceAreNoWayRound() async throws {
    let fixture = try await Fixture("password_queue = 1000\n")
    try await fixture.register("anna")
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for attempt in 0..<50 {
        group.addTask { try await contacts(fixture, "anna", "wrong \(attempt)").status }
      }
      return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
    }
    #expect(statuses == [403: 10, 429: 40])
  }

  @Test func goodPairsAtOnceAreCheckedOnce() async throws {
    let fixture = try await Fixture("password_queue = 0\npassword_threads = 1\n")
    try await fixture.register("anna")
    fixture.clock.advance(by: .seconds(601))
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await contacts(fixture, "anna", "pw").status } }
      for try await status in group { #expect(status == 200) }
    }
  }

  @Test func whoFindsTheQueueFullComesAgain() throws {
    let response = try #require(HTTPError(refusing: RequestRefusal.busy))
    #expect(response.status == .serviceUnavailable)
    #expect(response.fields.first(.retryAfter) == "1")
  }

  @Test func aPasswordChangedElsewhereCountsAtOnce() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    #expect(try await contacts(fixture, "anna", "pw").status == 200)
    let hash = try PasswordHash(
      of: Array("new".utf8), cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))
    try await fixture.store.write { transaction in
      try transaction.execute("UPDATE msgr_users SET password = ?", hash.text)
    }
    #expect(try await contacts(fixture, "anna", "pw").status == 403)
    #expect(try await contacts(fixture, "anna", "new").status == 200)
  }

  @Test func hashesOfAnotherCostAreReplaced() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let old = try PasswordHash(
      of: Array("pw".utf8), cost: PasswordHash.Cost(passes: 2, memory: 8 << 10))
    try await fixture.store.write { transaction in
      try transaction.execute("UPDATE msgr_users SET password = ?", old.text)
    }
    #expect(try await contacts(fixture, "anna", "pw").status == 200)
    let stored: String? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT password FROM msgr_users") { try $0[0] }
    }
    #expect(stored?.contains("t=1,") == true)
    #expect(try await contacts(fixture, "anna", "pw").status == 200)
  }

  @Test func messagesAreLimited() async throws {
    let fixture = try await Fixture("messages_per_minute = 3\n")
    try await fixture.register("anna")
    try await fixture.register("bert")
    for _ in 0..<3 { #expect(try await fixture.send("m", from: "anna", to: "bert").status == 200) }
    let refused = try await fixture.send("m", from: "anna", to: "bert")
    #expect(refused.status == 429)
    #expect(refused.fields.first(.retryAfter) == "68")
    let asked = try await fixture.post(
      "/add", ["Username": "anna", "Password": "pw", "AddUser": "bert"])
    #expect(asked.status == 429)
    #expect(try await fixture.send("m", from: "bert", to: "anna").status == 200)
    fixture.clock.advance(by: .seconds(68))
    #expect(try await fixture.send("m", from: "anna", to: "bert").status == 200)
    #expect(try await fixture.texts("bert").count == 4)
  }

  @Test func refusedMessagesDontCount() async throws {
    let fixture = try await Fixture("messages_per_minute = 1\n")
    try await fixture.register("anna")
    for _ in 0..<3 {
      #expect(try await fixture.send("m", from: "anna", to: "nobody").status == 403)
    }
    #expect(try await fixture.send("m", from: "anna", to: "anna").status == 200)
    #expect(try await fixture.send("m", from: "anna", to: "anna").status == 429)
  }

  @Test func refusedMessagesAreLimitedByThemselves() async throws {
    let fixture = try await Fixture("messages_per_minute = 10\n")
    try await fixture.register("anna")
    for number in 0..<61 {
      let status = try await fixture.send("m", from: "anna", to: "nobody \(number)").status
      #expect(status == (number < 60 ? 403 : 429))
    }
    #expect(try await fixture.send("m", from: "anna", to: "anna").status == 429)
    fixture.clock.advance(by: .seconds(68))
    #expect(try await fixture.send("m", from: "anna", to: "anna").status == 200)
  }

  @Test func agreeingDoesntCount() async throws {
    let fixture = try await Fixture("messages_per_minute = 1\n")
    for name in ["anna", "bert", "cleo"] { try await fixture.register(name) }
    func add(_ name: String, _ friend: String) async throws -> Int {
      try await fixture.post("/add", ["Username": name, "Password": "pw", "AddUser": friend]).status
    }
    #expect(try await add("bert", "anna") == 200)
    #expect(try await add("cleo", "anna") == 200)
    #expect(try await add("anna", "bert") == 200)
    #expect(try await fixture.send("m", from: "anna", to: "bert").status == 200)
    // The limit is reached, and concerns new requests only.
    #expect(try await add("anna", "cleo") == 200)
    try await fixture.register("dora")
    #expect(try await add("anna", "dora") == 429)
  }

  @Test func aTokenThatEndedElsewhereCountsNoMore() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    let message = ["UserTo": "anna", "Message": "m"]
    #expect(try await fixture.post("/message", message, token: token).status == 200)
    try await fixture.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_tokens")
    }
    #expect(try await fixture.post("/message", message, token: token).status == 403)
    #expect(try await fixture.texts("anna") == ["m"])
  }

  @Test func tokensEndUnused() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    for _ in 0..<3 {
      fixture.clock.advance(by: .seconds(89 * 86_400))
      #expect(try await fixture.post("/contacts", [:], token: token).status == 200)
    }
    fixture.clock.advance(by: .seconds(90 * 86_400))
    #expect(try await fixture.post("/contacts", [:], token: token).status == 403)
  }
}

@Suite(.ownThreads) struct VerifiedPasswordsTests {
  private func passwords(_ clock: TestClock, limit: Int = 100) -> VerifiedPasswords {
    VerifiedPasswords(
      key: Array(0..<32), lifetime: .seconds(600), limit: limit, clock: { clock.now })
  }

  private func hash() throws -> PasswordHash {
    try PasswordHash(of: [1], cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))
  }

  @Test func passwordsAreForgotten() throws {
    let clock = TestClock()
    let verified = passwords(clock)
    let name = try UserName("anna", in: .username)
    let password = try Password("pw")
    let hash = try hash()
    #expect(verified.hash(of: name, password) == nil)
    verified.insert(verified.proof(name, password, hash), of: name, hash)
    clock.advance(by: .milliseconds(599_999))
    #expect(verified.hash(of: name, password) == hash)
    #expect(verified.hash(of: name, try Password("pw2")) == nil)
    #expect(verified.hash(of: try UserName("bert", in: .username), password) == nil)
    clock.advance(by: .milliseconds(1))
    #expect(verified.hash(of: name, password) == nil)
    clock.advance(by: .seconds(-100_000))
    #expect(verified.hash(of: name, password) == nil)
  }

  @Test func aHashThatWasReplacedIsForgotten() throws {
    let verified = passwords(TestClock())
    let name = try UserName("anna", in: .username)
    let password = try Password("pw")
    let old = try hash()
    let new = try hash()
    verified.insert(verified.proof(name, password, new), of: name, new)
    verified.remove(name, old)
    #expect(verified.hash(of: name, password) == new)
    verified.remove(name, new)
    #expect(verified.hash(of: name, password) == nil)
  }

  @Test func thereIsRoomForSoManyOnly() throws {
    let verified = passwords(TestClock(), limit: 10)
    let hash = try hash()
    let password = try Password("pw")
    let names = try (0..<100).map { try UserName("user \($0)", in: .username) }
    for name in names { verified.insert(verified.proof(name, password, hash), of: name, hash) }
    let isKept = { (name: UserName) in verified.hash(of: name, password) != nil }
    #expect((5...10).contains(names.count(where: isKept)))
    #expect(names.suffix(5).allSatisfy(isKept))
  }
}
