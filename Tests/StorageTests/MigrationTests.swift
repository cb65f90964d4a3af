internal import Foundation
internal import TestSupport
internal import Testing

@testable import Storage

@Suite(.ownThreads) struct MigrationTests {
  private let folder = TemporaryFolder()
  private let databases = TestDatabases()

  private let first = Self.both(1, "CREATE TABLE a (x bigint); INSERT INTO a VALUES (1);")
  private let second = Self.both(2, "INSERT INTO a VALUES (2)")
  private let other = Self.both(1, of: "b", "INSERT INTO a VALUES (3)")

  /// Makes a step whose text both engines take.
  private static func both(
    _ number: Int, of owner: String = "a", _ sql: String
  ) -> Migration {
    Migration(owner: owner, number: number, sqlite: sql, postgreSQL: sql)
  }

  private func rows(_ migrations: [Migration], in database: TestDatabase) async throws -> [Int] {
    let store = try await database.open(migrations)
    // The order of insertion, as nothing is deleted.
    let rows = try await store.read { try $0.all("SELECT x FROM a") { try $0[0] as Int } }
    await store.close()
    return rows
  }

  private func apply(_ migrations: [Migration]) async throws -> [Int] {
    let store = try await folder.open(migrations)
    let rows = try await store.read { try $0.all("SELECT x FROM a") { try $0[0] as Int } }
    await store.close()
    return rows
  }

  @Test(arguments: Engine.tested) func eachIsAppliedOnceInOrder(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    #expect(try await rows([first], in: database) == [1])
    #expect(try await rows([first, second], in: database) == [1, 2])
    #expect(try await rows([first, second], in: database) == [1, 2])
    // A service is added later.
    #expect(try await rows([other, first, second], in: database) == [1, 2, 3])
  }

  @Test func eachEngineHasItsOwnSteps() async throws {
    let steps = [
      Migration(owner: "a", number: 1, sqlite: "CREATE TABLE a (x)"),
      Migration(
        owner: "a", number: 2, sqlite: "INSERT INTO a VALUES (1)",
        postgreSQL: "CREATE TABLE a (x bigint); INSERT INTO a VALUES (2)"),
      Migration(owner: "a", number: 3, postgreSQL: "INSERT INTO a VALUES (3)"),
    ]
    for _ in 0..<2 {
      #expect(try await apply(steps) == [1])
    }
    let database = try databases.make()
    for _ in 0..<2 {
      #expect(try await rows(steps, in: database) == [2, 3])
    }
  }

  @Test(arguments: Engine.tested)
  func theOldestKnownStepStandsForThoseBeforeIt(_ engine: Engine) async throws {
    let oldest = Self.both(2, "CREATE TABLE a (x bigint); INSERT INTO a VALUES (12);")
    let third = Self.both(3, "INSERT INTO a VALUES (4)")
    let new = try databases.make(engine)
    for _ in 0..<2 { #expect(try await rows([oldest, third, other], in: new) == [12, 4, 3]) }
    // A database that has all steps one by one lacks only the newest.
    let others = TestDatabases()
    let old = try others.make(engine)
    #expect(try await rows([first, second], in: old) == [1, 2])
    for _ in 0..<2 { #expect(try await rows([oldest, third], in: old) == [1, 2, 4]) }
  }

  @Test(arguments: Engine.tested)
  func aDatabaseBeforeTheOldestKnownStepIsRefusedInWords(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    _ = try await rows([first], in: database)
    let error = await #expect(throws: StoreError(.incompatibleSchema, "")) {
      _ = try await rows([second], in: database)
    }
    #expect(error?.message.contains("start version 1.0.0 with it once") == true)
    #expect(try await rows([first], in: database) == [1])
  }

  @Test(arguments: Engine.tested)
  func whatContradictsTheDatabaseIsRefusedInWords(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    let third = Self.both(3, "INSERT INTO a VALUES (9)")
    let fourth = Self.both(4, "INSERT INTO a VALUES (10)")
    _ = try await rows([first, third, other], in: database)
    let cases: [([Migration], String)] = [
      ([first, other], "newer version"),
      ([first, third], "service b"),
      ([first, fourth, other], "migration 3 of a, which this program does not know"),
      ([first, second, third, other], "migration 2 of a was added before 3"),
      ([third, first, other], "out of order"),
      ([first, first, third, other], "out of order"),
    ]
    for (migrations, words) in cases {
      let error = await #expect(throws: StoreError(.incompatibleSchema, "")) {
        _ = try await rows(migrations, in: database)
      }
      #expect(error?.message.contains(words) == true, "\(words): \(error?.message ?? "")")
    }
    #expect(try await rows([first, third, other], in: database) == [1, 9, 3])
  }

  @Test(arguments: Engine.tested)
  func aFailureLeavesTheDatabaseAsItWas(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    _ = try await rows([first], in: database)
    let failing = Self.both(2, "INSERT INTO a VALUES (9); SELEC")
    await #expect(throws: StoreError.self) { _ = try await rows([first, failing], in: database) }
    #expect(try await rows([first, second], in: database) == [1, 2])
  }

  @Test func aFailureOnSQLiteUndoesTheStepsBeforeItToo() async throws {
    #expect(try await apply([first]) == [1])
    let failing = Self.both(3, "INSERT INTO a VALUES (9); SELEC")
    await #expect(throws: StoreError.self) { _ = try await apply([first, second, failing]) }
    // A program that doesn't know the second step would refuse a database that has it.
    #expect(try await apply([first]) == [1])
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

  @Test(arguments: Engine.tested)
  func manyProgramsMayStartAtOnce(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    // On a slow disk the last of them waits for the commits of seven others.
    let configuration = StoreConfiguration(busyTimeout: .seconds(60))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let store = try await database.open([first, second, other], configuration)
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
