internal import Cryptography
internal import MsgrProtocol
internal import Observability
internal import Storage
internal import TestSupport
internal import Threading
internal import Time

@testable import Msgr

/// The devices that stream, each with the message after which the stream began.
final class Streams: Sendable {
  private let starts = Lock<[DeviceID: MessageID]>([:])

  func set(_ new: [DeviceID: MessageID]) { starts.withLock { $0 = new } }

  var all: [(device: DeviceID, start: MessageID)] {
    starts.withLock { $0.map { ($0.key, $0.value) } }
  }
}

/// A store in memory with accounts, and a clock that is set by hand.
struct PushFixture: Sendable {
  let clock = TestClock(Timestamp(seconds: 1_700_000_000))
  let store: MsgrStore
  let streams = Streams()
  static let owner: [UInt8] = [1]

  init(_ location: StoreLocation = .memory, limits: MsgrStore.Limits = MsgrStore.Limits())
    async throws
  {
    // Two of them may share a file, on a slow disk.
    let store = try await Store.open(
      location, migrations: MsgrService.migrations,
      configuration: StoreConfiguration(busyTimeout: .seconds(60)))
    self.store = MsgrStore(
      store: store, limits: limits, clock: { [clock] in clock.now },
      randomBytes: SecureRandom.bytes,
      deliveries: OwnDeliveries { [streams] _ in streams.all })
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
  ) async throws -> MessageID {
    let text = try MessageText(text)
    let sender = try Self.name(sender)
    let recipient = try Self.name(recipient)
    return try await store.store.write { [store, streams] transaction in
      guard let place = try store.takePlace(in: recipient, for: sender, transaction) else {
        throw RequestRefusal.forbidden
      }
      if streaming {
        let devices = try store.pushedDevices(of: recipient, transaction).map(\.device)
        streams.set(Dictionary(uniqueKeysWithValues: devices.map { ($0, .zero) }))
      }
      defer { streams.set([:]) }
      let message = NewMessage(
        text: text, sender: sender, recipient: recipient, isAddRequest: isAddRequest)
      return try store.put(message, place, transaction).id
    }
  }

  func lease(_ count: Int = 100, owner: [UInt8] = PushFixture.owner) async throws -> [Push] {
    try await store.leasePushes(atMost: count, owner: owner).pushes.sorted { $0.id < $1.id }
  }

  func settle(
    _ push: Push, _ settlement: PushSettlement, owner: [UInt8] = PushFixture.owner
  ) async throws {
    try await store.settle(push, owner: owner, settlement, target: "target")
  }

  /// Returns the number of pushes that an outbox has under way.
  func leased(by owner: [UInt8]) async throws -> Int {
    try await store.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM push_outbox WHERE lease_owner = ?", owner) {
        try $0[0]
      }
        ?? 0
    }
  }

  func count(_ table: StaticString) async throws -> Int {
    try await store.store.read { snapshot in
      switch "\(table)" {
      case "push_outbox": try snapshot.one("SELECT count(*) FROM push_outbox") { try $0[0] } ?? 0
      default: try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] } ?? 0
      }
    }
  }

  /// A push that no store has seen.
  static func push(
    _ id: Int64 = 1, device: DeviceID = Self.device(1), text: String = "hello",
    from sender: String = "anna", isAddRequest: Bool = false, badge: Int = 1,
    expires: Int64 = 1_700_600_000, attempts: Int = 1
  ) throws -> Push {
    Push(
      id: id, device: device, apnsID: "4a1e7f32-7a3c-4a0b-9b1c-0123456789ab",
      message: MessageID(rawValue: 0x18c), sender: UserName(stored: sender),
      text: try MessageText(text), isAddRequest: isAddRequest, badge: badge,
      expires: Timestamp(seconds: expires), attempts: attempts)
  }

  /// A push to one of Apple's devices that no store has seen.
  static func push(_ id: Int64, device: Int) throws -> Push {
    try push(id, device: Self.device(device))
  }
}
