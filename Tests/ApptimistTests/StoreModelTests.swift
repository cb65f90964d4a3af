import ApptimistProtocol
import Cryptography
import Storage
import Testing

@testable import Apptimist

/// The queues against a model, by what is told of them.
@Suite struct StoreModelTests {
  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test(arguments: (0..<8).map { _ in UInt64.random(in: 0...UInt64.max) } + [1, 2])
  func `queues are what the model says`(_ seed: UInt64) async throws {
    print("StoreModelTests seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    var limits = ApptimistStore.Limits()
    limits.queueEntries = generator.pick(1...15)
    limits.queueBytes = generator.pick(100...900)
    limits.rememberedMessages = generator.pick(0...20)
    var store = try await fixture.open(limits)
    try await store.makeUsers(1...4)
    var models = (1...4).map { QueueModel(owner: $0, limits: limits) }
    var newest = 0

    for step in 0..<400 {
      switch generator.pick(0...99) {
      case 0..<60:
        let sender = generator.pick(1...4)
        var data = Array(
          repeating: UInt8.random(in: 0...255, using: &generator), count: generator.pick(0...150))
        let recipients = (0..<generator.pick(1...4)).map { _ in generator.pick(1...4) }
        var copies: [MessageCopy] = []
        var expected: [Enqueued] = []
        for recipient in recipients {
          let isRetry = generator.pick(0...3) == 0
          if !isRetry { newest += 1 }
          let id = isRetry ? generator.pick(0...newest) : newest
          if generator.pick(0...2) == 0 { data.append(1) }
          let header = [UInt8(truncatingIfNeeded: recipient &* 37)]
          copies.append(
            MessageCopy(
              recipient: StoreFixture.key(recipient), id: StoreFixture.id(id), header: header,
              data: data))
          expected.append(
            models[recipient - 1].enqueue(id, from: sender, content: header + data))
        }
        #expect(
          try await store.enqueue(copies, from: StoreFixture.key(sender)) == expected,
          "seed \(seed), step \(step)")
      case 60..<78:
        let user = generator.pick(1...4)
        let id = generator.pick(Swift.max(0, newest - 30)...newest)
        let expected = models[user - 1].truncate(id)
        #expect(try await store.truncate(id, of: user) == expected, "seed \(seed), step \(step)")
      case 78..<98:
        let user = generator.pick(1...4)
        let head = generator.pick(0...4) == 0 ? nil : generator.pick(0...newest)
        let max = generator.pick(0...2) == 0 ? 0 : generator.pick(1...20)
        let start = try await store.start(
          of: StoreFixture.key(user), head: head.map(StoreFixture.id) ?? MessageID(), max: max)
        #expect(
          start.rawValue == models[user - 1].start(head: head, max: max),
          "seed \(seed), step \(step)")
        let told = try await store.entries(
          of: user, after: start, maxBytes: generator.pick(0...400),
          maxEntries: generator.pick(1...6))
        #expect(
          told == models[user - 1].stream(after: start.rawValue), "seed \(seed), step \(step)")
      default:
        await store.store.close()
        store = try await fixture.open(limits)
      }
    }

    for user in 1...4 {
      #expect(try await store.entries(of: user) == models[user - 1].stream(after: 0))
      let last = try await store.lastPosition(of: StoreFixture.key(user))
      #expect(last.rawValue == models[user - 1].last)
    }
    try await expectConsistency(of: store)
  }

  /// No row is left over, and all sums are right.
  private func expectConsistency(of store: ApptimistStore) async throws {
    let wrong = try await store.count(
      """
      SELECT
        (SELECT count(*) FROM apptimist_messages
         WHERE id NOT IN (SELECT message FROM apptimist_entries)) +
        (SELECT count(*) FROM apptimist_bodies
         WHERE id NOT IN (SELECT body FROM apptimist_messages WHERE body IS NOT NULL)) +
        (SELECT count(*) FROM apptimist_queues q WHERE
          (entries, bytes) IS NOT
            (SELECT count(*), coalesce(sum(size), 0) FROM apptimist_entries e
             WHERE e.user = q.user)
          OR dropped IS NOT (SELECT count(*) FROM apptimist_dropped d WHERE d.user = q.user)) +
        (SELECT count(*) FROM apptimist_shares s WHERE (entries, bytes, oldest) IS NOT
          (SELECT count(*), sum(size), min(position) FROM apptimist_entries e
           WHERE e.user = s.user AND e.sender = s.sender)) +
        (SELECT count(*) FROM (SELECT DISTINCT user, sender FROM apptimist_entries)) -
        (SELECT count(*) FROM apptimist_shares)
      """)
    #expect(wrong == 0)
    let ids = try await store.count(
      """
      SELECT (SELECT count(*) FROM apptimist_message_ids) -
        (SELECT count(*) FROM apptimist_entries WHERE kind <> 2) -
        (SELECT count(*) FROM apptimist_dropped)
      """)
    #expect(ids == 0)
  }
}
