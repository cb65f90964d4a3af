internal import Observability
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Push

/// Pushes that are leased in the transaction that queues them, on both engines.
@Suite(.ownThreads) struct DirectLeaseTests {
  typealias Engine = PushStoreTests.Engine

  private let direct = DirectLeases(owner: OutboxFixture.owner)

  private func fixture(_ engine: Engine) async throws -> OutboxFixture {
    var fixture = try await PushStoreTests.fixture(engine)
    fixture.queue.direct = [.apns: direct]
    return fixture
  }

  /// Queues pushes in one transaction, and returns the devices of those that are leased.
  private func queue(
    _ devices: [String], after wait: Duration = .zero, in fixture: OutboxFixture
  ) async throws -> [LeasedPush] {
    let queue = fixture.queue
    let now = fixture.clock.now
    return try await fixture.store.write(isolation: .rowLocks) { transaction in
      var leased: [LeasedPush] = []
      for device in devices {
        let push = try queue.queue(
          [1], to: PushAddress(stored: .apns, Array(device.utf8)), of: Array(device.utf8),
          for: [7], created: now, due: now + wait, expires: now + .seconds(3600),
          mayLease: true, transaction)
        if let push { leased.append(push) }
      }
      return leased
    }
  }

  /// The same by the statement for many.
  private func queueTogether(
    _ devices: [String], in fixture: OutboxFixture
  ) async throws -> [LeasedPush] {
    let queue = fixture.queue
    let now = fixture.clock.now
    return try await fixture.store.write(isolation: .rowLocks) { transaction in
      let pushes = devices.enumerated().map { index, device in
        QueuedPush(
          [1], to: PushAddress(stored: .apns, Array(device.utf8)), of: Array(device.utf8),
          for: [7], due: now, isFirst: !devices[..<index].contains(device))
      }
      var leased: [LeasedPush] = []
      let statement = try queue.insertion(
        of: pushes, created: now, expires: now + .seconds(3600)
      ) { leased.append($1) }
      try transaction.pipeline([statement])
      return leased
    }
  }

  private func names(_ pushes: [LeasedPush]) -> [String] {
    pushes.map { String(decoding: $0.device, as: UTF8.self) }
  }

  @Test(arguments: Engine.tested)
  func theFirstPushOfADeviceIsLeased(_ engine: Engine) async throws {
    let fixture = try await fixture(engine)
    #expect(try await queue(["a"], in: fixture).isEmpty)
    direct.offer(2)
    #expect(names(try await queue(["a", "b", "b"], in: fixture)) == ["b"])
    // The places were used, if in vain.
    #expect(try await queue(["c"], in: fixture).isEmpty)
    direct.offer(10)
    #expect(try await queue(["d"], after: .seconds(1), in: fixture).isEmpty)
    let push = try #require(try await queue(["e"], in: fixture).first)
    // As the outbox would lease it, so that nobody else does.
    #expect(push.attempts == 1 && push.created == fixture.clock.now)
    #expect(names(try await fixture.lease()) == ["a", "c"])
    let isHeld = try await fixture.outbox.renewLease(of: push, owner: OutboxFixture.owner)
    #expect(isHeld)
    fixture.clock.advance(by: PushStore.lease)
    #expect(Set(names(try await fixture.lease())) == ["a", "b", "c", "d", "e"])
    await fixture.store.close()
  }

  @Test(arguments: Engine.tested)
  func anAccountHasNoMoreUnderWayThanOtherwise(_ engine: Engine) async throws {
    let fixture = try await fixture(engine)
    let devices = (1...12).map { "device \($0 + 10)" }
    direct.offer(100)
    #expect(
      names(try await queue(devices, in: fixture)) == Array(devices.prefix(PushStore.ofAccount)))
    #expect(try await fixture.lease().isEmpty)
    await fixture.store.close()
  }

  @Test(.withOtherPrograms) func manyAreLeasedByOneStatement() async throws {
    let fixture = try await fixture(.postgreSQL)
    direct.offer(4)
    #expect(names(try await queueTogether(["a", "a", "b"], in: fixture)) == ["a", "b"])
    // A device whose push is under way has to wait.
    direct.offer(100)
    let devices = ["a"] + (1...9).map { "device \($0)" }
    #expect(
      names(try await queueTogether(devices, in: fixture)) == (1...5).map { "device \($0)" })
    await fixture.store.close()
  }

  @Test func aPushNeedsTwoCommits() async throws {
    let fixture = try await fixture(.sqlite)
    let log = Log(level: .error, descriptor: -1)
    let provider = LogProvider(
      log: log, showsPayloads: false, clock: { [clock = fixture.clock] in clock.now })
    let outbox = PushOutbox(
      .apns, store: fixture.outbox, provider: nil,
      services: ["test": PushOutbox.Service(source: TestSource(), log: provider)],
      limits: OutboxMachine.Limits(), leases: direct, log: log,
      metrics: PushMetrics(Metrics(), clock: { [clock = fixture.clock] in clock.now }))
    let running = Task { await outbox.run() }
    try await waitUntil { direct.hasPlaces }
    let before = fixture.store.statistics.groupsCommitted
    outbox.send(try await queue(["a"], in: fixture))
    try await waitUntil {
      try await fixture.store.read { try $0.value("SELECT count(*) FROM push_outbox") as Int? } == 0
    }
    #expect(fixture.store.statistics.groupsCommitted - before == 2)
    running.cancel()
    await running.value
    await fixture.store.close()
  }
}
