internal import Platform
internal import Storage
internal import TestSupport

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
struct TestSource: PushSource {
  func payload(of push: LeasedPush) -> PushPayload? { .apns(push.content) }

  func end(
    _ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {}
}

/// A store with nothing but an outbox, and a clock that is set by hand.
struct OutboxFixture: Sendable {
  static let owner: [UInt8] = [1]

  let clock = TestClock(Timestamp(seconds: 1_700_000_000))
  let store: Store
  let outbox: PushStore
  var queue = PushQueue(service: "test", kinds: Set(PushKind.allCases))

  init(_ location: StoreLocation = .memory) async throws {
    store = try await Store.open(
      location, migrations: Pushes.migrations,
      configuration: StoreConfiguration(busyTimeout: .seconds(60)))
    outbox = PushStore(store: store, clock: { [clock] in clock.now })
  }

  /// Queues a push for a device of an account.
  func queue(
    _ device: String, of account: String, kind: PushKind = .apns, life: Duration = .seconds(3600)
  ) async throws {
    let now = clock.now
    let address = PushAddress(stored: kind, Array(device.utf8))
    _ = try await store.write { [queue] transaction in
      _ = try queue.queue(
        [], to: address, of: Array(device.utf8), for: Array(account.utf8), created: now, due: now,
        expires: now + life, transaction)
    }
  }

  /// Leases pushes, and returns their devices.
  func lease(_ count: Int = 100, _ order: LeaseOrder = .due) async throws -> [LeasedPush] {
    try await outbox.lease(
      atMost: count, order, owner: Self.owner, of: .apns, for: ["test"]
    ).pushes
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
