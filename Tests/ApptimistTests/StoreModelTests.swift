internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Testing
internal import TestSupport

@testable import Apptimist

/// Compares the entries of mailboxes with a model.
@Suite struct StoreModelTests {
  @Test(arguments: TestSeeds.random(8, and: [1, 2]))
  func mailboxesAreWhatTheModelSays(_ seed: UInt64) async throws {
    var play = Play(seed: seed)
    try await play.open(StoreFixture())
    try await play.store?.makeUsers(1...4)
    try await play.store?.makeContacts(1...4)
    for _ in 0..<400 { try await play.go() }
    try await play.end()
  }
}

/// Random steps of a model and of a store, if there is one yet.
private struct Play {
  let seed: UInt64
  private var generator: SeededGenerator
  private var limits = ApptimistStore.Limits()
  private(set) var models: [MailboxModel] = []
  /// The data of each message; its identifier for a user comes of this and the user's header.
  private var contents: [[UInt8]] = []
  private var step = 0
  private var fixture: StoreFixture?
  private(set) var store: ApptimistStore?

  init(seed: UInt64) {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    limits.mailboxEntries = generator.pick(1...15)
    limits.mailboxBytes = generator.pick(200...2500)
    limits.rememberedMessages = generator.pick(0...20)
    limits.pendingDeliveries = generator.pick(0...40)
    limits.pendingPerMailbox = generator.pick(1...10)
    limits.pendingBytes = generator.pick(0...3000)
    models = (1...4).map { [limits] in MailboxModel(owner: $0, limits: limits) }
  }

  mutating func open(_ fixture: StoreFixture) async throws {
    store = try await fixture.open(limits)
    self.fixture = fixture
  }

  private var place: Comment { "seed \(seed), step \(step)" }

  mutating func go() async throws {
    step += 1
    switch generator.pick(0...99) {
    case 0..<60: try await deliver()
    case 60..<78:
      let user = generator.pick(1...4)
      let number = generator.pick(Swift.max(0, contents.count - 30)...contents.count)
      let id = id(of: number, for: user)
      let expected = models[user - 1].truncate(id)
      guard let store else { return }
      #expect(
        try await store.truncate(id, of: StoreFixture.login(user)).truncation == expected, place)
    case 78..<97:
      let user = generator.pick(1...4)
      let head =
        generator.pick(0...4) == 0
        ? MessageID() : id(of: generator.pick(0...contents.count), for: user)
      try await read(user, max: generator.pick(0...2) == 0 ? 0 : generator.pick(1...20), head: head)
    case 97: try await crash()
    case 98: try await undo()
    default: try await restart()
    }
  }

  private mutating func deliver() async throws {
    let sender = generator.pick(1...4)
    var copies: [MessageCopy] = []
    var expected: [Delivered] = []
    for _ in 0..<generator.pick(1...2) {
      if contents.isEmpty || generator.pick(0...3) > 0 {
        let byte = UInt8.random(in: 0...255, using: &generator)
        contents.append(Array(repeating: byte, count: generator.pick(0...150)))
      }
      let isRetry = generator.pick(0...3) == 0
      let number = isRetry ? generator.pick(0...contents.count - 1) : contents.count - 1
      for _ in 0..<generator.pick(1...4) {
        let recipient = generator.pick(1...4)
        let copy = MailboxModel.copy(of: number, contents[number], for: recipient)
        copies.append(copy)
        expected.append(models[recipient - 1].deliver(copy, from: sender))
      }
    }
    guard let store else { return }
    #expect(
      try await store.deliver(copies, from: StoreFixture.login(sender)) == expected, place)
  }

  mutating func read(_ user: Int, max: Int, head: MessageID) async throws {
    guard let store else { return }
    let start = try await store.start(of: StoreFixture.key(user), head: head, max: max)
    #expect(start.rawValue == models[user - 1].start(head: head, max: max), place)
    let told = try await store.entries(
      of: user, after: start, maxBytes: generator.pick(0...400), maxEntries: generator.pick(1...6))
    #expect(told == models[user - 1].stream(after: start.rawValue), place)
  }

  /// Undoes a transaction that has changed the cache; nothing of it may be left.
  private func undo() async throws {
    struct Refusal: Error {}
    guard let store else { return }
    await #expect(throws: Refusal.self) {
      try await store.deliveries.write(isolation: .serializable) { deliveries, transaction in
        for user in 1...4 {
          try store.mailboxes.flush(StoreFixture.key(user), &deliveries, transaction)
        }
        throw Refusal()
      }
    }
  }

  private mutating func restart() async throws {
    await store?.store.close()
    store = try await fixture?.open(limits)
  }

  /// Goes on with a copy of what the disk has at this moment.
  private mutating func crash() async throws {
    guard let copy = try fixture?.copy() else { return }
    await store?.store.close()
    try await open(copy)
  }

  func end() async throws {
    guard let store else { return }
    for user in 1...4 {
      #expect(try await store.entries(of: user) == models[user - 1].stream(after: 0), place)
      let last = try await store.lastPosition(of: StoreFixture.key(user))
      #expect(last.rawValue == models[user - 1].last, place)
    }
    try await store.expectConsistency()
  }

  /// The identifier by which a user knows a message, or an unused one if there is no message with this
  /// number.
  private func id(of number: Int, for user: Int) -> MessageID {
    guard number < contents.count else { return StoreFixture.id(number) }
    return MailboxModel.copy(of: number, contents[number], for: user).id
  }
}
