internal import Foundation
internal import TestSupport
internal import Testing

@testable import Storage

@Suite struct MigrationTests {
  private let folder = TemporaryFolder()

  private let first = Migration(
    owner: "a", number: 1, sql: "CREATE TABLE a (x); INSERT INTO a VALUES (1);")
  private let second = Migration(owner: "a", number: 2, sql: "INSERT INTO a VALUES (2)")
  private let other = Migration(owner: "b", number: 1, sql: "INSERT INTO a VALUES (3)")

  private func apply(_ migrations: [Migration]) async throws -> [Int] {
    let store = try await folder.open(migrations)
    let rows = try await store.read {
      try $0.all("SELECT x FROM a ORDER BY rowid") { try $0[0] as Int }
    }
    await store.close()
    return rows
  }

  @Test func eachIsAppliedOnceInOrder() async throws {
    #expect(try await apply([first]) == [1])
    #expect(try await apply([first, second]) == [1, 2])
    #expect(try await apply([first, second]) == [1, 2])
    // A service is added later.
    #expect(try await apply([other, first, second]) == [1, 2, 3])
  }

  @Test func whatContradictsTheFileIsRefusedInWords() async throws {
    let third = Migration(owner: "a", number: 3, sql: "INSERT INTO a VALUES (9)")
    _ = try await apply([first, third, other])
    let cases: [([Migration], String)] = [
      ([first, other], "newer version"),
      ([first, third], "service b"),
      ([third, other], "migration 1 of a, which this program does not know"),
      ([first, second, third, other], "migration 2 of a was added before 3"),
      ([third, first, other], "out of order"),
      ([first, first, third, other], "out of order"),
    ]
    for (migrations, words) in cases {
      let error = await #expect(throws: StoreError(.incompatibleSchema, "")) {
        _ = try await apply(migrations)
      }
      #expect(error?.message.contains(words) == true, "\(words): \(error?.message ?? "")")
    }
    #expect(try await apply([first, third, other]) == [1, 9, 3])
  }

  @Test func aFailureLeavesTheFileAsItWas() async throws {
    _ = try await apply([first])
    let failing = Migration(owner: "a", number: 2, sql: "INSERT INTO a VALUES (9); SELEC")
    await #expect(throws: StoreError.self) { _ = try await apply([first, failing]) }
    #expect(try await apply([first, second]) == [1, 2])
  }

  @Test func tablesThatAreReferredToCanBeRebuilt() async throws {
    let tables = Migration(
      owner: "c", number: 1,
      sql: """
        CREATE TABLE a (x INTEGER PRIMARY KEY);
        CREATE TABLE child (x REFERENCES a ON DELETE CASCADE);
        INSERT INTO a VALUES (1);
        INSERT INTO child VALUES (1);
        """)
    let rebuild = Migration(
      owner: "c", number: 2,
      sql: """
        CREATE TABLE new (x INTEGER PRIMARY KEY, y);
        INSERT INTO new SELECT x, x FROM a;
        DROP TABLE a;
        ALTER TABLE new RENAME TO a;
        """)
    #expect(try await apply([tables]) == [1])
    let store = try await folder.open([tables, rebuild])
    #expect(try await store.read { try $0.one("SELECT x FROM child") { try $0[0] as Int } } == 1)
    // Foreign keys are enforced again.
    try await store.write { try $0.execute("DELETE FROM a") }
    #expect(try await store.read { try $0.one("SELECT x FROM child") { try $0[0] as Int } } == nil)
    await store.close()
    let orphan = Migration(owner: "c", number: 3, sql: "INSERT INTO child VALUES (7)")
    await #expect(throws: StoreError(.constraint(.foreignKey), "")) {
      _ = try await apply([tables, rebuild, orphan])
    }
  }

  @Test func twoProgramsMayStartAtOnce() async throws {
    // On a slow disk the last of them waits for the commits of seven others.
    let configuration = StoreConfiguration(busyTimeout: .seconds(60))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let store = try await folder.open([first, second, other], configuration)
          let rows = try await store.read {
            try $0.one("SELECT count(*) FROM a") { try $0[0] as Int }
          }
          #expect(rows == 3)
          await store.close()
        }
      }
      try await group.waitForAll()
    }
  }
}
