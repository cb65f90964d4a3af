internal import ApptimistProtocol
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist
@testable import Push

/// When a device is woken, without a store.
@Suite struct WakeDecisionTests {
  private static let now = ApptimistStore.now
  private static let limits = WakeLimits()

  private func wake(
    woken: Int64 = 0, _ ago: Duration = .seconds(10_000), isWaiting: Bool = false,
    isOpen: Bool = false
  ) -> Duration? {
    SleepingDevice(
      woken: MailboxPosition(rawValue: woken), wokenAt: Self.now - ago, isWaiting: isWaiting,
      isOpen: isOpen
    ).wake(at: Self.now, Self.limits).map { Self.now.duration(to: $0) }
  }

  @Test func wakesAtOnceWhoSleeps() {
    #expect(wake() == .zero)
    #expect(wake(.seconds(10)) == .zero)
  }

  @Test func holdsWhileASessionIsOpen() {
    #expect(wake(isOpen: true) == .seconds(15))
    #expect(wake(.seconds(2), isOpen: true) == .seconds(15))
  }

  @Test func leavesAnInterval() {
    #expect(wake(.seconds(3)) == .seconds(7))
    // A later wake that is under way.
    #expect(wake(.seconds(-8)) == .seconds(18))
  }

  @Test func aClockThatWasSetBackStopsNoWake() {
    #expect(wake(.seconds(-6 * 3600)) == .zero)
    #expect(wake(woken: 5, .seconds(-6 * 3600)) == .zero)
  }

  @Test func aBurstHasOneWake() {
    #expect(wake(woken: 5, .seconds(899)) == nil)
    #expect(wake(woken: 5, .seconds(900)) == .zero)
    #expect(wake(woken: 5, .seconds(900), isOpen: true) == .seconds(15))
    #expect(wake(isWaiting: true) == nil)
    #expect(wake(woken: 5, .seconds(5_000), isWaiting: true) == nil)
  }
}

extension Wakes {
  /// Wakes over a store, whose pushes nobody sends.
  static func test(
    _ store: Store, _ clock: TestClock, _ limits: WakeLimits = WakeLimits(),
    report: @escaping @Sendable (Int, Int, Bool) -> Void = { _, _, _ in }
  ) -> Wakes {
    let context = ServiceContext(
      store: store, log: Log(level: .error, descriptor: -1), dataFolder: "/nonexistent")
    return Wakes(
      queue: context.pushes.queue(of: ApptimistService.name, .log), limits: limits,
      clock: { clock.now }, report: report)
  }
}

extension LeasedPush {
  static func test(address: PushAddress, content: [UInt8] = []) -> LeasedPush {
    LeasedPush(
      id: 1, service: "apptimist", device: [], account: [], address: address, pushID: "",
      content: content, urgency: .high, collapseKey: nil, created: ApptimistStore.now,
      expires: ApptimistStore.now, leaseEnd: Timestamp(milliseconds: .max), attempts: 1)
  }
}

extension WakeBinding {
  static func test(_ number: Int, isChosen: Bool = false, keys: [Int] = []) -> WakeBinding {
    WakeBinding(
      address: PushAddress(stored: .fcm, Array("token \(number)".utf8)),
      tag: Array(repeating: UInt8(truncatingIfNeeded: number), count: 8), isChosen: isChosen,
      keys: keys.flatMap { StoreFixture.key($0).bytes })
  }
}

extension Version2.DeviceID {
  static func test(_ number: Int) -> Version2.DeviceID {
    Version2.DeviceID(Array(repeating: UInt8(truncatingIfNeeded: number), count: 16))
      ?? Version2.DeviceID()
  }
}

/// The bindings and wakes in the store.
@Suite struct StoreWakeTests {
  private let fixture = StoreFixture()
  private let clock = TestClock()
  private let node = NodeID(rawValue: 7)

  private func open(_ limits: WakeLimits = WakeLimits()) async throws -> ApptimistStore {
    let plain = try await fixture.open()
    let store = ApptimistStore(
      store: plain.store, limits: plain.limits, wakes: .test(plain.store, clock, limits))
    if store.store.isShared {
      try await NodeRegistry(node, named: "test", version: "1", in: store.store).sendHeartbeat()
    }
    return store
  }

  private func bind(
    _ binding: WakeBinding?, _ device: Int = 1, of user: Int, in store: ApptimistStore,
    session: UInt64? = nil
  ) async throws {
    let number = session ?? UInt64(user * 1000 + device)
    let session = NodeSession(node: node, session: SessionID(number: number))
    try await store.bind(
      binding, to: .test(device), in: session, by: StoreFixture.login(user))
    // It is over, unless the test wants it.
    if number == UInt64(user * 1000 + device) { try await store.leave(session) }
  }

  private func bound(_ device: Int = 1, of user: Int, in store: ApptimistStore) async throws -> Bool
  {
    try await store.binding(
      of: Acknowledgement.Device(user: StoreFixture.key(user), id: .test(device))) != nil
  }

  private func send(_ id: Int, from: Int, to: Int, _ store: ApptimistStore) async throws {
    let key = StoreFixture.key(to)
    let message = PDU.Message(
      time: UInt64(id), recipient: key, to: key, from: StoreFixture.key(from))
    _ = try await store.send(id, from: from, to: to, header: PDU.message(message).encoded())
  }

  private func waiting(_ store: ApptimistStore) async throws -> Int {
    try await store.count("SELECT count(*) FROM push_outbox WHERE lease_owner IS NULL")
  }

  @Test func onlyNewsAfterTheBindingWakes() async throws {
    let store = try await open()
    try await store.makeUsers(1...2)
    try await send(1, from: 2, to: 1, store)
    try await bind(.test(1), of: 1, in: store)
    // Sent again it is no news.
    try await send(1, from: 2, to: 1, store)
    #expect(try await waiting(store) == 0)
    try await send(2, from: 1, to: 1, store)
    #expect(try await waiting(store) == 0)
    for id in 3...6 { try await send(id, from: 2, to: 1, store) }
    #expect(try await waiting(store) == 1)
    try await bind(nil, of: 1, in: store)
    #expect(try await waiting(store) == 0)
  }

  @Test func aDeviceThatShowsItselfIsSpared() async throws {
    let store = try await open()
    try await store.makeUsers(1...2)
    try await bind(.test(1), of: 1, in: store)
    for id in 1...3 { try await send(id, from: 2, to: 1, store) }
    let device = Acknowledgement.Device(user: StoreFixture.key(1), id: .test(1))
    try await store.acknowledge([
      Acknowledgement(device: device, position: MailboxPosition(rawValue: 2))
    ])
    #expect(try await waiting(store) == 1)
    try await store.acknowledge([
      Acknowledgement(device: device, position: MailboxPosition(rawValue: 3))
    ])
    #expect(try await waiting(store) == 0)
    // None was sent: the next is due at once.
    try await send(4, from: 2, to: 1, store)
    let due = try await store.count("SELECT due_at FROM push_outbox")
    #expect(due == Int(clock.now.milliseconds))
    let session = NodeSession(node: node, session: SessionID(number: 1))
    try await store.show(device, in: session)
    #expect(try await waiting(store) == 0)
    // It is held as long as that session is open.
    try await send(5, from: 2, to: 1, store)
    #expect(try await store.count("SELECT due_at FROM push_outbox") == due + 15_000)
    try await store.leave(session)
    #expect(try await store.count("SELECT due_at FROM push_outbox") == due)
  }

  @Test func anAccountHasSixteenAndAnAddressFour() async throws {
    let store = try await open()
    try await store.makeUsers(1...6)
    for device in 1...17 {
      try await bind(.test(device), device, of: 1, in: store)
      clock.advance(by: .milliseconds(1))
    }
    #expect(try await store.count("SELECT count(*) FROM apptimist_addresses") == 16)
    #expect(try await !bound(1, of: 1, in: store))
    for user in 2...6 {
      try await bind(.test(100), of: user, in: store)
      clock.advance(by: .milliseconds(1))
    }
    #expect(try await !bound(of: 2, in: store))
    for user in 3...6 { #expect(try await bound(of: user, in: store)) }
  }

  @Test func bindingsEnd() async throws {
    let store = try await open()
    try await store.makeUsers(1...5)
    for user in 1...4 {
      try await bind(.test(user == 2 ? 1 : user), of: user, in: store)
      try await send(user, from: 5, to: user, store)
    }
    #expect(try await waiting(store) == 4)
    // The account gives way.
    _ = try await store.createUser(
      StoreFixture.account(4, name: "other", uid: "other", signer: 99, isProven: true),
      at: ApptimistStore.now)
    #expect(try await waiting(store) == 3)
    #expect(try await !bound(of: 4, in: store))
    // The push service ends the address of two accounts.
    clock.advance(by: .seconds(86_400 * 80))
    let device = Acknowledgement.Device(user: StoreFixture.key(3), id: .test(1))
    try await store.show(device, in: NodeSession(node: node, session: SessionID(number: 9)))
    try await store.store.write { transaction in
      let push = LeasedPush.test(address: PushAddress(stored: .fcm, Array("token 1".utf8)))
      try WakeSource().end(push, boundBefore: ApptimistStore.now, transaction)
    }
    #expect(try await bound(of: 1, in: store))
    try await store.store.write { transaction in
      let push = LeasedPush.test(address: PushAddress(stored: .fcm, Array("token 1".utf8)))
      try WakeSource().end(push, boundBefore: nil, transaction)
    }
    for user in 1...2 { #expect(try await !bound(of: user, in: store)) }
    #expect(try await waiting(store) == 0)
    // The rest goes with its age.
    clock.advance(by: .seconds(86_400 * 80))
    _ = try await store.expire(at: clock.now)
    #expect(try await bound(of: 3, in: store))
    clock.advance(by: .seconds(86_400 * 12))
    _ = try await store.expire(at: clock.now)
    #expect(try await !bound(of: 3, in: store))
  }

  /// A wake that is under way would come back to the former address, and stand for all later news.
  @Test func anotherAddressHasNothingOfTheFormerOne() async throws {
    let store = try await open()
    try await store.makeUsers(1...2)
    for binding in [.test(2), nil] as [WakeBinding?] {
      try await bind(.test(1), of: 1, in: store)
      clock.advance(by: .seconds(1000))
      try await send(binding == nil ? 2 : 1, from: 2, to: 1, store)
      try await store.store.write { transaction in
        try transaction.execute("UPDATE push_outbox SET lease_owner = ?", [UInt8](arrayLiteral: 1))
      }
      try await bind(binding, of: 1, in: store)
      #expect(try await store.count("SELECT count(*) FROM push_outbox") == 0)
    }
  }

  /// A store that is opened again knows who is bound, whatever was pending.
  @Test func bindingsOutliveACrash() async throws {
    let store = try await open()
    try await store.makeUsers(1...2)
    try await bind(.test(1), of: 1, in: store)
    try await send(1, from: 2, to: 1, store)
    let copy = try fixture.copy()
    let plain = try await copy.open()
    let again = ApptimistStore(
      store: plain.store, limits: plain.limits, wakes: .test(plain.store, clock))
    #expect(try await waiting(again) == 1)
    clock.advance(by: .seconds(901))
    try await again.store.write { try $0.execute("DELETE FROM push_outbox") }
    try await send(2, from: 2, to: 1, again)
    #expect(try await waiting(again) == 1)
  }
}

/// The payloads, to the byte.
@Suite struct WakePayloadTests {
  @Test func saysTheTagAlone() throws {
    let expected: [(PushKind, String)] = [
      (
        .apns,
        #"{"aps":{"alert":{"loc-key":"APPTIMIST_WAKE"},"mutable-content":1,"sound":"default"},"wake":"0102030405060708"}"#
      ),
      (.fcm, #"{"wake":"0102030405060708"}"#), (.web, #"{"wake":"0102030405060708"}"#),
    ]
    for (kind, text) in expected {
      let push = LeasedPush.test(
        address: PushAddress(stored: kind, [1]), content: [1, 2, 3, 4, 5, 6, 7, 8])
      let payload = WakeSource().payload(of: push)
      let bytes: [UInt8]? =
        switch payload {
        case .apns(let bytes, "alert", 10), .fcm(let bytes, []), .web(let bytes): bytes
        default: nil
        }
      #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == text)
    }
  }
}
