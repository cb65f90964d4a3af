internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import Storage
internal import Synchronization
internal import Testing
internal import TestSupport

@testable import Apptimist

/// Messages that were acknowledged and are not in their mailboxes yet.
@Suite(.enabled(if: TestStore.isSQLite)) struct StoreDeliveryTests {
  private struct Refusal: Error {}

  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  private static func at(_ position: Int64) -> MailboxPosition {
    MailboxPosition(rawValue: position)
  }

  /// Limits with which all deliveries are pending until somebody reads.
  private static var patient: ApptimistStore.Limits {
    var limits = ApptimistStore.Limits()
    limits.pendingPerMailbox = 10_000
    return limits
  }

  // MARK: - Undone transactions

  private typealias Write = @Sendable (ApptimistStore) async throws -> [Delivered]

  /// Delivers a message to users 1 to 3.
  private static func message(_ number: Int, size: Int = 3) -> Write {
    { store in
      try await store.deliver(
        (1...3).map {
          MailboxModel.copy(of: number, Array(repeating: UInt8(number), count: size), for: $0)
        }, from: StoreFixture.login(1))
    }
  }

  /// Delivers a message, puts it into two mailboxes, and fails.
  private static func refusal(_ number: Int) -> Write {
    { store in
      try await store.deliveries.write(isolation: .serializable) { deliveries, transaction in
        let copies = (1...3).map { MailboxModel.copy(of: number, [UInt8(number)], for: $0) }
        _ = try store.mailboxes.deliver(
          copies[...], from: StoreFixture.login(1), &deliveries, transaction)
        for user in 1...2 {
          try store.mailboxes.flush(StoreFixture.key(user), &deliveries, transaction)
        }
        throw Refusal()
      }
    }
  }

  /// Fails, and undoes the whole transaction.
  private static let rollback: Write = { store in
    try await store.store.write { transaction in
      try transaction.execute("INSERT OR ROLLBACK INTO apptimist_settled VALUES (NULL)")
    }
    return []
  }

  /// Makes writes in one group, in order.
  private func group(
    _ writes: [Write], _ store: ApptimistStore
  ) async throws -> [Result<[Delivered], any Error>] {
    let gate = ThreadGate()
    let held = Task {
      try await store.store.write { _ in gate.pass() }
    }
    try await gate.waitUntilReached()
    var tasks: [Task<[Delivered], any Error>] = []
    for write in writes {
      tasks.append(Task { try await write(store) })
      try await waitUntil { store.store.statistics.queuedWrites == tasks.count }
    }
    gate.open()
    try await held.value
    var results: [Result<[Delivered], any Error>] = []
    for task in tasks { results.append(await task.result) }
    return results
  }

  /// Expects users 1 to 3 all to have these messages.
  private func expect(_ numbers: [Int], size: Int = 3, in store: ApptimistStore) async throws {
    for user in 1...3 {
      let entries = numbers.enumerated().map { index, number in
        let copy = MailboxModel.copy(
          of: number, Array(repeating: UInt8(number), count: size), for: user)
        return MailboxEntry(
          position: Self.at(Int64(index + 1)), id: copy.id,
          content: .message(header: copy.header, data: copy.data))
      }
      #expect(try await store.entries(of: user) == entries)
    }
  }

  @Test(arguments: [0, 10_000])
  func aClosureThatFailsTakesNothingOfTheOthersInItsGroupAlong(
    _ pendingPerMailbox: Int
  ) async throws {
    var limits = Self.patient
    limits.pendingPerMailbox = pendingPerMailbox
    var store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    _ = try await Self.message(1)(store)
    let results = try await group(
      [
        Self.message(2), Self.refusal(3), Self.message(3), Self.refusal(4), Self.message(1),
        Self.message(4), Self.refusal(5),
      ], store)
    func delivered(_ position: Int64) -> [Delivered] {
      Array(repeating: .delivered(Self.at(position)), count: 3)
    }
    #expect(try results[0].get() == delivered(2))
    #expect(throws: Refusal.self) { try results[1].get() }
    #expect(try results[2].get() == delivered(3))
    #expect(try results[4].get() == Array(repeating: .known(Self.at(1)), count: 3))
    #expect(try results[5].get() == delivered(4))
    #expect(throws: Refusal.self) { try results[6].get() }
    try await expect([1, 2, 3, 4], in: store)
    #expect(try await Self.message(5)(store) == delivered(5))
    await store.store.close()
    store = try await fixture.open(limits)
    try await expect([1, 2, 3, 4, 5], in: store)
    try await store.expectConsistency()
  }

  @Test func aTransactionThatIsUndoneLeavesNoGapAndARetryIsNew() async throws {
    var store = try await fixture.open(Self.patient)
    try await store.makeUsers(1...3)
    _ = try await Self.message(1)(store)
    let results = try await group(
      [Self.message(2), Self.message(3), Self.rollback, Self.message(4)], store)
    #expect(throws: StoreError.self) { try results[0].get() }
    #expect(throws: StoreError.self) { try results[1].get() }
    #expect(try results[3].get().first == .delivered(Self.at(2)))
    let again = try await group([Self.message(2), Self.rollback], store)
    #expect(throws: StoreError.self) { try again[0].get() }
    #expect(try await Self.message(3)(store).first == .delivered(Self.at(3)))
    #expect(try await Self.message(2)(store).first == .delivered(Self.at(4)))
    await store.store.close()
    store = try await fixture.open(Self.patient)
    #expect(try await Self.message(3)(store).first == .known(Self.at(3)))
    try await expect([1, 4, 3, 2], in: store)
    try await store.expectConsistency()
  }

  @Test func aMessageThatAFullDiskRefusesLeavesNoTrace() async throws {
    var store = try await fixture.open(Self.patient)
    try await store.makeUsers(1...3)
    let pages = try await store.count("PRAGMA page_count")
    try await store.store.write { [pages] transaction in
      // A pragma takes no parameters.
      #expect(pages < 90)
      try transaction.forEach("PRAGMA max_page_count = 100") { _ in }
    }
    var accepted: [Int] = []
    var refused: [Int] = []
    for number in 1...100 {
      do {
        let queued = try await Self.message(number, size: 3000)(store)
        accepted.append(number)
        #expect(queued == Array(repeating: .delivered(Self.at(Int64(accepted.count))), count: 3))
      } catch {
        #expect((error as? StoreError)?.code == .full)
        refused.append(number)
      }
    }
    #expect(accepted.count > 5 && refused.count > 5)
    try await store.store.write { try $0.forEach("PRAGMA max_page_count = 1000000") { _ in } }
    for number in refused {
      accepted.append(number)
      #expect(
        try await Self.message(number, size: 3000)(store).last
          == .delivered(Self.at(Int64(accepted.count))))
    }
    await store.store.close()
    store = try await fixture.open(Self.patient)
    try await expect(accepted, size: 3000, in: store)
    try await store.expectConsistency()
  }

  // MARK: - Races

  private static func raceLimits(_ seed: UInt64) -> ApptimistStore.Limits {
    var limits = ApptimistStore.Limits()
    var generator = SeededGenerator(seed: seed)
    guard generator.pick(0...3) > 0 else { return limits }
    limits.pendingDeliveries = generator.pick(0...40)
    limits.pendingPerMailbox = generator.pick(1...10)
    limits.pendingBytes = generator.pick(0...5000)
    return limits
  }

  @Test(arguments: TestSeeds.random(6))
  func aReaderGetsEveryMessageThatWasAcknowledgedBefore(_ seed: UInt64) async throws {
    let limits = Self.raceLimits(seed)
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    let race = StoreRace(store: store, seed: seed, senders: 6)
    let (copy, acknowledged) = try await withThrowingTaskGroup(of: Void.self) { group in
      for sender in 0..<6 { group.addTask { try await race.send(24, as: sender) } }
      for user in 1...3 { group.addTask { try await race.follow(user) } }
      group.addTask { try await race.fail() }
      // As a crash would leave it while all are at it.
      try await race.reach(40)
      let acknowledged = race.acknowledged
      let copy = try fixture.copy()
      try await group.waitForAll()
      return (copy, acknowledged)
    }
    try await race.expect(race.acknowledged, isEnd: true, in: store)
    try await store.expectConsistency()
    await store.store.close()

    let crashed = try await copy.open(limits)
    try await race.expect(acknowledged, isEnd: false, in: crashed)
    for user in 1...3 {
      let last = try await crashed.lastPosition(of: StoreFixture.key(user))
      let next = MailboxModel.copy(of: 1_000_000, [7], for: user)
      let queued = try await crashed.deliver([next], from: StoreFixture.login(1))
      #expect(queued == [.delivered(last.next)])
      #expect(try await crashed.entries(of: user, after: last).map(\.id) == [next.id])
    }
    try await crashed.expectConsistency()
  }

  // MARK: - Memory

  @Test func eachCopyCountsInFullAsItIsHashedWhenTheLogIsReadAgain()
    async throws
  {
    var limits = Self.patient
    limits.pendingBytes = 10_000
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    func waiting() async throws -> Int {
      try await store.deliveries.write(isolation: .serializable) { deliveries, _ in deliveries.count
      }
    }
    _ = try await Self.message(1, size: 3000)(store)
    #expect(try await waiting() == 3)
    _ = try await Self.message(2, size: 3000)(store)
    // Enough of them have both.
    #expect(try await waiting() == 0)
    try await expect([1, 2], size: 3000, in: store)
  }

  @Test func pendingDeliveriesStayWithinTheLimitsReadOrNot()
    async throws
  {
    var limits = ApptimistStore.Limits()
    limits.pendingDeliveries = 50
    limits.pendingPerMailbox = 20
    limits.pendingBytes = 20_000
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    func pending() async throws -> (count: Int, bytes: Int) {
      try await store.deliveries.write(isolation: .serializable) { deliveries, _ in
        (deliveries.count, deliveries.bytes)
      }
    }
    // Nobody reads 1; 2 reads all the time.
    _ = try await store.send(0, from: 1, to: 1)
    for number in 1...300 {
      let data = Array(repeating: UInt8(0), count: 200)
      let copy = MailboxModel.copy(of: number, data, for: 2)
      _ = try await store.deliver([copy], from: StoreFixture.login(1))
      _ = try await store.lastPosition(of: StoreFixture.key(2))
      let (count, bytes) = try await pending()
      #expect(count <= 50 && bytes <= 20_000)
    }
    // The first messages did not stay in the way of the rest.
    #expect(
      try await store.count("SELECT count(*) FROM apptimist_settled WHERE before > 150") == 1)
    // Nobody reads.
    for number in 1001...1300 {
      _ = try await store.deliver(
        (1...3).map { MailboxModel.copy(of: number, [1], for: $0) }, from: StoreFixture.login(1))
      let (count, bytes) = try await pending()
      #expect(count <= 50 && bytes <= 20_000)
    }
    let pending = try await store.count(
      """
      SELECT count(*) FROM apptimist_contents WHERE id >= (SELECT before FROM apptimist_settled)
      """)
    #expect(pending <= 64 + 50)
  }

  @Test func whoTakesAnAccountOverHasNoOnesContacts() {
    let contacts = RecentContacts()
    let impostor = StoreFixture.login(1)
    contacts.insert(StoreFixture.key(2), of: impostor)
    #expect(contacts.contains(StoreFixture.key(2), of: impostor))
    let owner = AccountLogin(
      user: StoreFixture.key(1), authenticationKey: StoreFixture.authenticationKey(3),
      isVersion1: false)
    #expect(!contacts.contains(StoreFixture.key(2), of: owner))
  }
}
