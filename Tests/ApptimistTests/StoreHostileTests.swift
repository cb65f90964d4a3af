internal import ApptimistProtocol
internal import Storage
internal import TestSupport
internal import Testing

@testable import Apptimist

/// The store withstands other users, and whoever wrote the file.
@Suite struct StoreHostileTests {
  private let fixture = StoreFixture()

  /// The statements on which each message of a full mailbox waits, each with what it is to be looked up by.
  private static let plans: [(sql: StaticString, index: String)] = [
    (
      """
      EXPLAIN QUERY PLAN SELECT sender, oldest FROM apptimist_shares WHERE owner = 1
      ORDER BY entries DESC, oldest LIMIT 1
      """, "apptimist_shares_by_entries"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT sender, oldest FROM apptimist_shares WHERE owner = 1
      ORDER BY bytes DESC, oldest LIMIT 1
      """, "apptimist_shares_by_bytes"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT position FROM apptimist_entries
      WHERE owner = 1 AND sender = 2 AND position > 3 AND begins_run = 1 ORDER BY position LIMIT 1
      """, "apptimist_entries_by_run (owner=? AND sender=? AND position>?)"
    ),
    (
      "EXPLAIN QUERY PLAN SELECT sender = 1 FROM apptimist_entries WHERE owner = 1 AND position = 2",
      "PRIMARY KEY (owner=? AND position=?)"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT hash FROM apptimist_ephemeral_keys
      WHERE owner = 1 ORDER BY expires_at DESC LIMIT 1000 OFFSET 4096
      """, "apptimist_ephemeral_keys_by_owner"
    ),
    (
      "EXPLAIN QUERY PLAN SELECT count(*) FROM apptimist_users WHERE author = 1",
      "apptimist_users_by_author"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT id, search_name FROM apptimist_users
      WHERE id > 1 AND search_name IS NOT NULL ORDER BY id LIMIT 9
      """, "INTEGER PRIMARY KEY"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT id, search_name FROM apptimist_users
      WHERE search_name >= x'61' AND search_name < x'62' AND (search_name > x'61' OR id > 1)
      ORDER BY search_name, id LIMIT 9
      """, "apptimist_users_by_name"
    ),
    (
      "EXPLAIN QUERY PLAN SELECT count(*), sum(size) FROM apptimist_files WHERE directory = 1",
      "apptimist_files_by_directory"
    ),
    (
      """
      EXPLAIN QUERY PLAN SELECT position FROM apptimist_message_ids
      WHERE owner = 1 AND message_id = x'00'
      """, "PRIMARY KEY (owner=? AND message_id=?)"
    ),
  ]

  @Test(.enabled(if: TestStore.isSQLite)) func nothingIsLookedForRowByRow() async throws {
    let store = try await fixture.open()
    for plan in Self.plans {
      let steps: [String] = try await store.store.read { snapshot in
        try snapshot.all(plan.sql) { try $0[3] }
      }
      #expect(steps.contains { $0.contains(plan.index) }, "\(plan.sql): \(steps)")
      for step in steps {
        #expect(!step.contains("SCAN") && !step.contains("TEMP B-TREE"), "\(plan.sql): \(step)")
      }
    }
  }

  @Test func thousandsOfSendersCannotSlowAFullMailboxDown() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 2_000
    limits.pendingDeliveries = 1
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...1_001)
    // Two of each sender, the second of them far behind the first.
    for id in 0..<2_000 { _ = try await store.send(id, from: 2 + id % 1_000, to: 1) }
    let start = ContinuousClock.now
    for id in 2_000..<3_000 { _ = try await store.send(id, from: 2 + id % 1_000, to: 1) }
    // Each looked at a thousand rows twice before.
    #expect(ContinuousClock.now - start < .seconds(20))
    let entries = try await store.entries(of: 1)
    #expect(entries.map(\.id) == (1_000..<3_000).map(StoreFixture.id))
  }

  @Test(
    .enabled(if: TestStore.isSQLite),
    arguments: [
      "UPDATE apptimist_queues SET last_position = 9223372036854775807",
      "UPDATE apptimist_queues SET last_position = -9223372036854775808",
      "UPDATE apptimist_queues SET bytes = 9223372036854775807",
      "UPDATE apptimist_queues SET entries = -9223372036854775808, bytes = -1",
      "UPDATE apptimist_users SET file_bytes = 9223372036854775807",
      "UPDATE apptimist_entries SET size = -9223372036854775808",
      """
      UPDATE apptimist_entries SET position = 9223372036854775807
      WHERE position = (SELECT max(position) FROM apptimist_entries)
      """,
      "UPDATE apptimist_contents SET recipients = randomblob(15)",
      "UPDATE apptimist_contents SET header = x'', data = x'', holders = -9223372036854775808",
      "UPDATE apptimist_settled SET before = 9223372036854775807",
      "UPDATE apptimist_settled SET before = -9223372036854775808",
      "DELETE FROM apptimist_settled",
      "UPDATE apptimist_shares SET entries = 9223372036854775807, oldest = -9223372036854775808",
      "UPDATE apptimist_files SET size = 9223372036854775807",
    ] as [StaticString])
  func noNumberInTheFileStopsTheProgram(_ damage: StaticString) async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 2
    var store = try await fixture.open(limits)
    try await store.makeUsers(1...2)
    for id in 0..<2 { _ = try await store.send(id, from: 1, to: 2) }
    _ = try await store.entries(of: 2)
    _ = try await store.write([1], to: "f", of: 1, by: 1)
    _ = try await store.send(3, from: 1, to: 2)
    await store.store.close()
    store = try await fixture.open(limits)
    try await store.store.write { try $0.execute(damage) }
    // What they come to does not matter, as long as something is returned or thrown.
    for id in 4..<8 {
      _ = try? await store.send(id, from: 1, to: 2)
      _ = try? await store.truncate(id - 1, of: 2)
      _ = try? await store.page(
        of: StoreFixture.key(2), after: .zero, maxBytes: 1_000, maxEntries: 10)
      _ = try? await store.start(of: StoreFixture.key(2), head: StoreFixture.id(1), max: 2)
    }
    _ = try? await store.write([1, 2], to: "f", of: 1, by: 1)
    _ = try? await store.write([1, 2], to: "g", of: 1, by: 1)
    _ = try? await store.remove("f", of: 1, by: 1)
  }
}
