internal import Formats
internal import Observability
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Push

extension LeasedPush {
  /// Makes a push that no store has seen, to one of Apple's devices.
  static func test(
    _ id: Int64 = 1, device: Int = 1, account: String = "", expires: Int64 = 1_700_600_000,
    leaseEnd: Timestamp = Timestamp(milliseconds: .max), attempts: Int = 1
  ) -> LeasedPush {
    let digits = String(device, radix: 16)
    let token = String(repeating: "0", count: 64 - digits.count) + digits
    return LeasedPush(
      id: id, service: "test", device: Array(token.utf8), account: Array(account.utf8),
      address: PushAddress(stored: .apns, Array(token.utf8)),
      pushID: "4a1e7f32-7a3c-4a0b-9b1c-0123456789ab", content: Array("hello".utf8), urgency: .high,
      collapseKey: nil, created: Timestamp(milliseconds: 0), expires: Timestamp(seconds: expires),
      leaseEnd: leaseEnd, attempts: attempts)
  }
}

/// A service whose pushes say what is queued.
final class TestSource: PushSource {
  private let devices = Lock<[String]>([])

  /// The devices whose addresses have ended, in order.
  var ended: [String] { devices.withLock { $0 } }

  func payload(of push: LeasedPush) -> PushPayload? {
    let text = String(decoding: push.content, as: UTF8.self)
    return switch push.address.kind {
    case .apns, .apnsSandbox:
      .apns(
        JSONWriter.object { json in
          json.add("aps", json: Array("{}".utf8))
          json["Message"] = text
        })
    case .fcm: .fcm(data: JSONWriter.object { $0["Message"] = text })
    case .web: .web(push.isShort ? [] : push.content)
    }
  }

  func end(
    _ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    devices.withLock { $0.append(String(decoding: push.device, as: UTF8.self)) }
  }
}

/// A store with nothing but an outbox, and a clock that is set by hand.
struct OutboxFixture: Sendable {
  static let owner: [UInt8] = [1]

  let clock = TestClock(Timestamp(seconds: 1_700_000_000))
  let store: Store
  let outbox: PushStore
  let source = TestSource()
  var queue = PushQueue(service: "test", kinds: Set(PushKind.allCases))

  init(_ location: StoreLocation = .memory) async throws {
    store = try await Store.open(
      location, migrations: Pushes.migrations,
      configuration: StoreConfiguration(busyTimeout: .seconds(60)))
    outbox = PushStore(store: store, clock: { [clock] in clock.now })
  }

  /// The token of one of Apple's devices.
  static func phone(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  /// The token of a device of Google's.
  static func android(_ number: Int) -> String {
    "Token_\(number):" + String(repeating: "x-Y", count: 20)
  }

  /// Queues a push.
  ///
  /// - Parameters:
  ///   - device: the device, by its token.
  ///   - account: whom it counts for; nil for an account that has no other device.
  func queue(
    _ text: String = "hello", for device: String, of account: String? = nil,
    kind: PushKind = .apns, life: Duration = .seconds(7 * 86_400)
  ) async throws {
    try await queue(
      text, for: device, of: account, at: PushAddress(stored: kind, Array(device.utf8)), life: life)
  }

  /// Queues a push to an address.
  func queue(
    _ text: String, for device: String, of account: String? = nil, at address: PushAddress,
    life: Duration = .seconds(7 * 86_400)
  ) async throws {
    let now = clock.now
    _ = try await store.write { [queue] transaction in
      _ = try queue.queue(
        Array(text.utf8), to: address, of: Array(device.utf8),
        for: Array((account ?? device).utf8), created: now, due: now, expires: now + life,
        transaction)
    }
  }

  /// Leases pushes, in the order in which they are due.
  func lease(
    _ count: Int = 100, _ order: LeaseOrder = .due, owner: [UInt8] = OutboxFixture.owner,
    of kind: PushKind = .apns
  ) async throws -> [LeasedPush] {
    try await outbox.lease(atMost: count, order, owner: owner, of: kind, for: ["test"]).pushes
  }

  /// Returns the moment at which the next push is due that can be leased.
  func nextDue() async throws -> Timestamp? {
    try await outbox.lease(atMost: 0, owner: Self.owner, of: .apns, for: ["test"]).next
  }

  func complete(
    _ push: LeasedPush, _ completion: PushCompletion, owner: [UInt8] = OutboxFixture.owner
  ) async throws {
    try await outbox.complete(push, owner: owner, completion, target: "target", source)
  }

  /// Returns the number of pushes that wait or are under way.
  func waiting() async throws -> Int {
    try await store.read { try $0.value("SELECT count(*) FROM push_outbox") } ?? 0
  }

  /// Returns the number of pushes that wait for a device or are under way to it.
  func waiting(for device: String) async throws -> Int {
    try await store.read { snapshot in
      try snapshot.value("SELECT count(*) FROM push_outbox WHERE device = ?", Array(device.utf8))
    } ?? 0
  }

  /// Returns the number of pushes that an outbox has under way.
  private func leased(by owner: [UInt8]) async throws -> Int {
    try await store.read { snapshot in
      try snapshot.value("SELECT count(*) FROM push_outbox WHERE lease_owner = ?", owner)
    } ?? 0
  }

  /// Makes an outbox that looks for pushes often.
  func outbox(
    _ kind: PushKind, _ provider: any PushProvider, owner: [UInt8] = OutboxFixture.owner,
    inFlight: Int = 100, metrics: Metrics = Metrics(),
    log: Log = Log(level: .error, descriptor: -1)
  ) -> PushOutbox {
    var limits = OutboxMachine.Limits(inFlight: inFlight, of: kind)
    limits.poll = .milliseconds(20)
    return PushOutbox(
      kind, store: outbox, provider: provider,
      services: ["test": PushOutbox.Service(source: source, log: nil)], limits: limits,
      leases: DirectLeases(owner: owner), log: log,
      metrics: PushMetrics(metrics, clock: { [clock] in clock.now }))
  }

  /// Pushes until something holds; the clock runs fast while nothing is under way, so that nobody waits.
  ///
  /// - Parameter owner: the name under which the outbox leases pushes.
  func run(
    _ outbox: PushOutbox, owner: [UInt8] = OutboxFixture.owner, step: Duration,
    until isDone: @Sendable () async throws -> Bool
  ) async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { await outbox.run() }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        if try await isDone() { return true }
        if try await leased(by: owner) == 0 { clock.advance(by: step) }
        outbox.wake()
        return false
      }
      group.cancelAll()
    }
  }

  /// Pushes until nothing waits.
  func runUntilEmpty(
    _ outbox: PushOutbox, owner: [UInt8] = OutboxFixture.owner,
    step: Duration = .milliseconds(50)
  ) async throws {
    try await run(outbox, owner: owner, step: step) { try await waiting() == 0 }
  }

  /// Tries to push once.
  func push(_ push: LeasedPush, by provider: any PushProvider) async throws -> PushOutcome {
    await provider.push(push, try #require(source.payload(of: push)))
  }
}

extension [OutboxMachine.Action] {
  /// The actions without the reports that pushes wait, which have a test of their own.
  var withoutWaiting: [OutboxMachine.Action] {
    filter { action in
      if case .report(.waiting) = action { false } else { true }
    }
  }
}
