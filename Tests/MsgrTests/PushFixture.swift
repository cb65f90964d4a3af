internal import Formats
internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The devices that stream, each with the message after which the stream began.
final class Streams: Sendable {
  private let starts = Lock<[DeviceID: MsgrMessageID]>([:])

  func set(_ new: [DeviceID: MsgrMessageID]) { starts.withLock { $0 = new } }

  var all: [(device: DeviceID, start: MsgrMessageID)] {
    starts.withLock { $0.map { ($0.key, $0.value) } }
  }
}

/// A store in memory with accounts, and a clock that is set by hand.
struct PushFixture: Sendable {
  let clock = TestClock(Timestamp(seconds: 1_700_000_000))
  let store: MsgrStore
  let streams = Streams()
  static let owner: [UInt8] = [1]
  static let queue = PushQueue(service: MsgrService.name, kinds: Set(PushKind.allCases))

  /// The outbox, for those who carry it.
  var outbox: PushStore { PushStore(store: store.store, clock: store.clock) }
  var source: MsgrPushes { MsgrPushes(store: store, page: "/msgr/") }

  init(_ location: StoreLocation = .memory, limits: MsgrStore.Limits = MsgrStore.Limits())
    async throws
  {
    // Two of them may share a file, on a slow disk.
    let store = try await Store.open(
      location, migrations: MsgrService.migrations,
      configuration: StoreConfiguration(busyTimeout: .seconds(60)))
    self.store = MsgrStore(
      store: store, limits: limits, pushes: Self.queue, clock: { [clock] in clock.now },
      randomBytes: SecureRandom.bytes,
      strategy: LocalInboxStrategy { [streams] _ in streams.all })
  }

  static func device(_ number: Int, prefix: String = "aaaaaaaa") -> DeviceID {
    let digits = String(number, radix: 16)
    let text = prefix + String(repeating: "0", count: 56 - digits.count) + digits
    return DeviceID(stored: text)
  }

  static func name(_ text: String) throws -> UserName { try UserName(text, in: .username) }

  /// Makes an account, if there is none, with some devices.
  func makeUser(_ name: String, _ devices: DeviceID...) async throws {
    let now = clock.now
    try await store.store.write { transaction in
      try transaction.execute(
        "INSERT OR IGNORE INTO msgr_users (username, password, created_at) VALUES (?, '', ?)",
        name, now)
      for device in devices {
        try transaction.execute(
          "INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, ?)", device,
          name, now)
      }
    }
  }

  /// Stores a message, and with it its pushes.
  @discardableResult
  func send(
    _ text: String = "hello", from sender: String = "anna", to recipient: String,
    isAddRequest: Bool = false, streaming: Bool = false
  ) async throws -> MsgrMessageID {
    let text = try MessageText(text)
    let sender = try Self.name(sender)
    let recipient = try Self.name(recipient)
    return try await store.store.write { [store, streams] transaction in
      if streaming {
        let devices = try store.pushedDevices(of: recipient, transaction).map(\.id)
        streams.set(Dictionary(uniqueKeysWithValues: devices.map { ($0, .zero) }))
      }
      defer { streams.set([:]) }
      let post = InboxPost(
        sender: sender, owner: sender, recipient: recipient, text: text,
        isAddRequest: isAddRequest)
      guard let receipt = try store.deliver([post], transaction)[0] else {
        throw RequestRefusal.forbidden
      }
      return receipt.id
    }
  }

  func lease(
    _ count: Int = 100, owner: [UInt8] = PushFixture.owner, of kind: PushKind = .apns
  ) async throws -> [LeasedPush] {
    try await outbox.lease(atMost: count, owner: owner, of: kind, for: [MsgrService.name])
      .pushes.sorted { $0.id < $1.id }
  }

  /// Tries to push, with the payload that the service makes.
  static func push(_ push: LeasedPush, by provider: any PushProvider) async throws -> PushOutcome {
    await provider.push(push, try #require(push.payload))
  }

  func complete(
    _ push: LeasedPush, _ completion: PushCompletion, owner: [UInt8] = PushFixture.owner
  ) async throws {
    try await outbox.complete(push, owner: owner, completion, target: "target", source)
  }

  /// Pushes until nothing waits; the clock runs fast while nothing is under way, so that nobody waits.
  func runUntilEmpty(
    _ kind: PushKind, _ provider: any PushProvider, page: String = "/msgr/", step: Duration
  ) async throws {
    var limits = OutboxMachine.Limits(of: kind)
    limits.poll = .milliseconds(20)
    let outbox = PushOutbox(
      kind, store: outbox, provider: provider,
      services: [
        MsgrService.name: PushOutbox.Service(
          source: MsgrPushes(store: store, page: page), log: nil)
      ],
      limits: limits, leases: DirectLeases(owner: Self.owner),
      log: Log(level: .error, descriptor: -1),
      metrics: PushMetrics(Metrics(), clock: store.clock))
    try await withThrowingTaskGroup { group in
      group.addTask { await outbox.run() }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        if try await count("push_outbox") == 0 { return true }
        if try await leased() == 0 { clock.advance(by: step) }
        outbox.wake()
        return false
      }
      group.cancelAll()
    }
  }

  /// Returns the number of pushes that are under way.
  private func leased() async throws -> Int {
    try await store.store.read { snapshot in
      try snapshot.value("SELECT count(*) FROM push_outbox WHERE lease_owner = ?", Self.owner)
    } ?? 0
  }

  func count(_ table: StaticString) async throws -> Int {
    try await store.store.read { snapshot in
      switch "\(table)" {
      case "push_outbox": try snapshot.one("SELECT count(*) FROM push_outbox") { try $0[0] } ?? 0
      default: try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] } ?? 0
      }
    }
  }

  /// Returns the texts of the pushes that wait, in order.
  static func texts(_ store: Store) async throws -> [String] {
    try await store.read { snapshot in
      try snapshot.all("SELECT content FROM push_outbox ORDER BY id") { text(of: try $0[0]) }
    }
  }

  /// Returns the text in a push's content.
  static func text(of content: [UInt8]) -> String {
    JSONValue(parsing: content)?["Message"]?.string ?? ""
  }

  /// A push that no store has seen.
  static func push(
    _ id: Int64 = 1, device: DeviceID = Self.device(1), text: String = "hello",
    from sender: String = "anna", isAddRequest: Bool = false, badge: Int = 1,
    expires: Int64 = 1_700_600_000, attempts: Int = 1, parts: MessageParts = MessageParts(),
    isDeclarative: Bool = false
  ) throws -> LeasedPush {
    let message = PushedMessage(
      id: MsgrMessageID(rawValue: 0x18c), sender: UserName(stored: sender),
      text: try MessageText(text), created: Timestamp(milliseconds: 0),
      isAddRequest: isAddRequest, badge: badge, isDeclarative: isDeclarative, parts: parts)
    return LeasedPush(
      id: id, service: MsgrService.name, device: Array(device.text.utf8), account: [],
      address: try #require(device.pushAddress), pushID: "4a1e7f32-7a3c-4a0b-9b1c-0123456789ab",
      content: message.content, urgency: parts.isLow ? .low : .high,
      collapseKey: nil, created: Timestamp(milliseconds: 0),
      expires: Timestamp(seconds: expires), leaseEnd: Timestamp(milliseconds: .max),
      attempts: attempts)
  }

  /// A push to one of Apple's devices that no store has seen.
  static func push(_ id: Int64, device: Int) throws -> LeasedPush {
    try push(id, device: Self.device(device))
  }
}

// What a push holds for this service.
extension LeasedPush {
  var deviceID: DeviceID { DeviceID(stored: String(decoding: device, as: UTF8.self)) }
  var message: PushedMessage? { PushedMessage(self) }
  var text: String? { message?.text.text }
  var payload: PushPayload? {
    guard let message else { return nil }
    return switch address.kind {
    case .apns, .apnsSandbox: .apns(APNsPayload.json(of: message))
    case .fcm: .fcm(data: FCMMessage.data(of: message))
    case .web: .web(WebPushPayload.json(of: message, isShort: isShort, page: "/msgr/"))
    }
  }
}
