internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Push

/// What the outbox leases and deletes, on both engines.
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
    for number in 1...5 { try await fixture.queue("bad \(number)", of: "attacker") }
    let first = try await fixture.lease(1)
    #expect(devices(first) == ["bad 1"])
    // It was tried, and is tried again much later.
    try await fixture.outbox.complete(
      first[0], owner: OutboxFixture.owner, .retried(at: fixture.clock.now + .seconds(60)),
      target: "", TestSource())
    try await fixture.queue("old", of: "somebody")
    try await fixture.queue("new", of: "somebody else")
    try await fixture.queue("bad 6", of: "attacker")
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
      try await fixture.queue("\(number)", of: "a", kind: .fcm, life: .seconds(100))
    }
    try await fixture.queue("leased", of: "b", life: .seconds(100))
    try await fixture.queue("long", of: "c", life: .seconds(1000))
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
}
