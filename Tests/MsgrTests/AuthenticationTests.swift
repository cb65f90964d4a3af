internal import Cryptography
internal import Dispatch
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Time

@testable import Msgr

@Suite(.ownThreads) struct AuthenticationTests {
  private func contacts(
    _ fixture: Fixture, _ name: String, _ password: String, from peer: String = "192.0.2.1"
  ) async throws -> Answer {
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

  @Test func whoFindsTheQueueFullComesAgain() {
    let answer = Refusal.busy.httpError
    #expect(answer.status == .serviceUnavailable)
    #expect(answer.fields.first(.retryAfter) == "1")
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

@Suite(.ownThreads) struct PairCacheTests {
  private func cache(_ clock: TestClock, limit: Int = 100) -> PairCache {
    PairCache(
      key: Array(0..<32), lifetime: .seconds(600), limit: limit, clock: { clock.now })
  }

  @Test func pairsAreForgotten() throws {
    let clock = TestClock()
    let cache = cache(clock)
    let name = try UserName("anna", in: .username)
    let hash = try PasswordHash(of: [1], cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))
    let proof = cache.proof(name, try Password("pw"), hash)
    #expect(!cache.contains(proof))
    cache.insert(proof)
    clock.advance(by: .milliseconds(599_999))
    #expect(cache.contains(proof))
    #expect(!cache.contains(cache.proof(name, try Password("pw2"), hash)))
    clock.advance(by: .milliseconds(1))
    #expect(!cache.contains(proof))
    clock.advance(by: .seconds(-100_000))
    #expect(!cache.contains(proof))
  }

  @Test func thereIsRoomForSoManyOnly() throws {
    let clock = TestClock()
    let cache = cache(clock, limit: 10)
    let hash = try PasswordHash(of: [1], cost: PasswordHash.Cost(passes: 1, memory: 8 << 10))
    let proofs = try (0..<100).map {
      cache.proof(try UserName("user \($0)", in: .username), try Password("pw"), hash)
    }
    for proof in proofs { cache.insert(proof) }
    #expect((5...10).contains(proofs.count(where: cache.contains)))
    #expect(proofs.suffix(5).allSatisfy(cache.contains))
  }
}

@Suite(.ownThreads) struct AttemptTableTests {
  /// Steps of one second: an event leaves eight seconds after its own is over.
  @Test func eventsLeaveOneByOne() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(8), clock: { clock.now })
    #expect(table.count("a", upTo: 2) == nil)
    clock.advance(by: .milliseconds(7500))
    #expect(table.count("a", upTo: 2) == nil)
    #expect(table.wait(for: "a", upTo: 2) == 2)
    #expect(table.count("a", upTo: 2) == 2)
    #expect(table.count("b", upTo: 2) == nil)
    clock.advance(by: .milliseconds(1500))
    #expect(table.wait(for: "a", upTo: 2) == nil)
    #expect(table.count("a", upTo: 2) == nil)
    // The one of 7.5 s is the older one now.
    #expect(table.count("a", upTo: 2) == 7)
  }

  /// Wherever a span begins, it has no more events than it may.
  @Test func noSpanHasMoreThanItMay() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(8), clock: { clock.now })
    var taken: [Int64] = []
    for _ in 0..<4000 {
      clock.advance(by: .milliseconds(13))
      if table.count("a", upTo: 5) == nil { taken.append(clock.now.milliseconds) }
    }
    #expect(zip(taken, taken.dropFirst(5)).allSatisfy { $1 - $0 >= 8000 })
    // 52 seconds, of which a span lasts nine at most.
    #expect(taken.count >= 25)
  }

  @Test func eventsAreTakenBack() {
    let table = AttemptTable(span: .seconds(10), clock: { Timestamp(milliseconds: 5) })
    #expect(table.count("a", upTo: 1) == nil)
    table.uncount("a")
    #expect(table.count("a", upTo: 1) == nil)
    #expect(table.count("a", upTo: 1) == 12)
    table.uncount("never seen")
  }

  @Test func aClockSetBackLocksNobodyOut() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(10), clock: { clock.now })
    #expect(table.count("a", upTo: 1) == nil)
    clock.advance(by: .seconds(-1000))
    #expect(table.wait(for: "a", upTo: 1) == nil)
    #expect(table.count("a", upTo: 1) == nil)
  }

  @Test func aFloodOfKeysDoesntPushOutWhoCounts() {
    let table = AttemptTable(span: .seconds(10), size: 64, clock: { Timestamp(milliseconds: 5) })
    for _ in 0..<5 { _ = table.count("guesser", upTo: 5) }
    for number in 0..<10_000 { _ = table.count(number, upTo: 5) }
    #expect(table.wait(for: "guesser", upTo: 5) == 12)
  }
}

@Suite(.ownThreads) struct PasswordThreadsTests {
  /// Two at once can meet, a third waits for one of them, and a fourth is too many.
  @Test func runsAFewAtOnceAndQueuesAFew() async throws {
    let threads = PasswordThreads(threads: 2, queueLimit: 1)
    let started = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let work = { @Sendable () -> Int in
      started.signal()
      mayEnd.wait()
      return 1
    }
    async let first = threads.run(work)
    async let second = threads.run(work)
    await waitUntil { started.wait(timeout: .now()) == .success }
    await waitUntil { started.wait(timeout: .now()) == .success }
    async let third = threads.run(work)
    await waitUntil { threads.waiting == 1 }
    await #expect(throws: PasswordThreads.Busy.self) { _ = try await threads.run(work) }
    #expect(started.wait(timeout: .now()) == .timedOut)
    for _ in 0..<3 { mayEnd.signal() }
    #expect(try await first + second + third == 3)
    #expect(threads.waiting == 0)
  }

  private func waitUntil(_ condition: () -> Bool) async {
    while !condition() { try? await Task.sleep(for: .milliseconds(1)) }
  }

  @Test func throwsWhatIsThrown() async {
    await #expect(throws: PasswordHashError.self) {
      try await PasswordThreads(threads: 1, queueLimit: 0).run {
        throw PasswordHashError.outOfMemory
      }
    }
  }
}
