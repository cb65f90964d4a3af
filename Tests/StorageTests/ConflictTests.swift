internal import TestSupport
internal import Testing
internal import Platform

@testable import Storage

/// Closures that run at once on PostgreSQL, in one store and in two.
@Suite(.withOtherPrograms, .ownThreads) struct ConflictTests {
  private struct Refusal: Error {}

  /// Knows which closures have run.
  private final class Tries: Sendable {
    private let known = Lock<Set<Int>>([])

    func isFirst(_ number: Int) -> Bool { known.withLock { $0.insert(number).inserted } }
  }

  private let databases = TestDatabases()

  private static let counter = Migration(
    owner: "counter", number: 1,
    postgreSQL: "CREATE TABLE counter (n bigint NOT NULL); INSERT INTO counter VALUES (0)")

  /// Two stores on one database, as two nodes have them.
  private struct Nodes {
    let stores: [Store]

    init(_ database: TestDatabase, _ configuration: StoreConfiguration) async throws {
      let migrations = notes + [ConflictTests.counter]
      stores = [
        try await database.open(migrations, configuration),
        try await database.open(migrations, configuration),
      ]
    }

    var retries: Int { stores.map(\.statistics.retries).reduce(0, +) }

    /// Calls a closure for each number at once, for the one or the other store by turns.
    func atOnce<Value: Sendable>(
      _ count: Int, _ body: @escaping @Sendable (Store, Int) async throws -> Value
    ) async throws -> [Value] {
      try await withThrowingTaskGroup(of: Value.self) { group in
        for number in 0..<count {
          group.addTask { [stores] in try await body(stores[number % 2], number) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }

    func close() async { for store in stores { await store.close() } }
  }

  private func nodes(
    _ configuration: StoreConfiguration = StoreConfiguration()
  ) async throws -> Nodes {
    try await Nodes(databases.make(), configuration)
  }

  @Test func whatIsReadAndThenWrittenIsExact() async throws {
    let nodes = try await nodes()
    let outcomes = Lock([0, 0])
    _ = try await nodes.atOnce(100) { store, _ in
      try await store.write(outcome: { isWritten in
        outcomes.withLock { $0[isWritten ? 1 : 0] += 1 }
      }) { transaction in
        let n = try transaction.one("SELECT n FROM counter") { try $0[0] as Int } ?? -1
        try transaction.execute("UPDATE counter SET n = ?", n + 1)
      }
    }
    let n = try await nodes.stores[0].read {
      try $0.one("SELECT n FROM counter") { try $0[0] as Int }
    }
    #expect(n == 100)
    #expect(nodes.retries > 0)
    // Each outcome is told once, after the last try.
    #expect(outcomes.withLock(\.self) == [0, 100])
    await nodes.close()
  }

  @Test func rowLocksNeedNoSecondTry() async throws {
    let nodes = try await nodes()
    _ = try await nodes.atOnce(100) { store, _ in
      try await store.write(isolation: .rowLocks) { transaction in
        try transaction.execute("UPDATE counter SET n = n + 1")
      }
    }
    let n = try await nodes.stores[0].read {
      try $0.one("SELECT n FROM counter") { try $0[0] as Int }
    }
    #expect(n == 100)
    #expect(nodes.retries == 0)
    await nodes.close()
  }

  /// No two of them change the same row, but each counts the rows of all.
  @Test func aLimitHolds() async throws {
    let nodes = try await nodes()
    let isIn = try await nodes.atOnce(40) { store, number in
      try await store.write { transaction in
        guard try count(transaction) < 5 else { return false }
        try add("\(number)", transaction)
        return true
      }
    }
    #expect(isIn.count { $0 } == 5)
    #expect(try await nodes.stores[1].read { try count($0) } == 5)
    await nodes.close()
  }

  @Test(arguments: [Isolation.serializable, .rowLocks])
  func theSameRowAtOnceIsMadeOnce(_ isolation: Isolation) async throws {
    let nodes = try await nodes()
    for round in 0..<5 {
      let ids = try await nodes.atOnce(16) { store, _ in
        try await store.write(isolation: isolation) { transaction in
          let found = try transaction.one("SELECT id FROM notes WHERE text = ?", "\(round)") {
            try $0[0] as Int
          }
          if let found { return found }
          return try transaction.one(
            "INSERT INTO notes (text) VALUES (?) RETURNING id", "\(round)"
          ) { try $0[0] as Int } ?? -1
        }
      }
      #expect(Set(ids).count == 1)
    }
    #expect(try await nodes.stores[0].read { try count($0) } == 5)
    await nodes.close()
  }

  @Test func aRealDuplicateIsTheClosuresError() async throws {
    let nodes = try await nodes()
    let tries = Lock(0)
    try await nodes.stores[0].write { try add("a", $0) }
    await #expect(throws: StoreError(.constraint(.unique), "")) {
      try await nodes.stores[1].write { transaction in
        tries.withLock { $0 += 1 }
        try add("a", transaction)
      }
    }
    #expect(tries.withLock(\.self) == 3)
    await #expect(throws: Refusal.self) {
      try await nodes.stores[1].write { transaction in
        do { try add("a", transaction) } catch { throw Refusal() }
      }
    }
    await nodes.close()
  }

  @Test func aFailureThatIsPassedOverUndoesAll() async throws {
    let nodes = try await nodes()
    await #expect(throws: StoreError(.constraint(.check), "")) {
      try await nodes.stores[0].write { transaction in
        try add("a", transaction)
        try? transaction.execute("INSERT INTO tags VALUES (1, '')")
        // PostgreSQL takes nothing more in this transaction.
        #expect(throws: StoreError(.constraint(.check), "")) { try add("b", transaction) }
      }
    }
    #expect(try await nodes.stores[0].read { try count($0) } == 0)
    await nodes.close()
  }

  @Test func anothersLockIsWaitedFor() async throws {
    let nodes = try await nodes(StoreConfiguration(busyTimeout: .milliseconds(50)))
    let gate = ThreadGate()
    let held = Task {
      try await nodes.stores[0].write(isolation: .rowLocks) { transaction in
        try transaction.execute("UPDATE counter SET n = n + 1")
        gate.pass()
      }
    }
    try await gate.waitUntilReached()
    let error = await #expect(throws: StoreError(.busy, "")) {
      try await nodes.stores[1].write(isolation: .rowLocks) { transaction in
        try transaction.execute("UPDATE counter SET n = n + 1")
      }
    }
    #expect(error?.isUnavailable == true)
    gate.open()
    try await held.value
    await nodes.close()
  }

  @Test func deadlocksAreTriedAgain() async throws {
    let nodes = try await nodes(StoreConfiguration(busyTimeout: .seconds(30)))
    try await nodes.stores[0].write { transaction in
      for number in 1...2 { try add("\(number)", transaction) }
    }
    let both = [ThreadGate(), ThreadGate()]
    let tries = Tries()
    let tasks = (0..<2).map { number in
      Task {
        try await nodes.stores[number].write(isolation: .rowLocks) { transaction in
          for step in 0..<2 {
            try transaction.execute(
              "UPDATE notes SET text = text || 'x' WHERE id = ?", number == step ? 1 : 2)
            // Each has one row when it asks for the other's.
            if tries.isFirst(number) { both[number].pass() }
          }
        }
      }
    }
    for gate in both { try await gate.waitUntilReached() }
    for gate in both { gate.open() }
    for task in tasks { try await task.value }
    #expect(try await texts(nodes.stores[0]) == ["1xx", "2xx"])
    // The one that was undone may have its first row again before the other takes it: another deadlock.
    #expect(nodes.retries >= 1)
    await nodes.close()
  }
}
