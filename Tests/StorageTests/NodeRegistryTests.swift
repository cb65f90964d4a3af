internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform

@testable import Storage

/// The nodes that share a PostgreSQL database.
@Suite(.withOtherPrograms, .ownThreads) struct NodeRegistryTests {
  private let databases = TestDatabases()

  private func names(_ store: Store) async throws -> [String] {
    try await store.read { try $0.all("SELECT name FROM store_nodes ORDER BY name") { try $0[0] } }
  }

  private func node(_ name: String, _ store: Store) -> NodeRegistry {
    NodeRegistry(.random(), named: name, version: "1.0", in: store)
  }

  @Test func aNodeThatIsNotSeenIsRemovedAndComesBack() async throws {
    let database = try databases.make()
    let store = try await database.open()
    let (a, b) = (node("a", store), node("b", store))
    #expect(try await !a.sendHeartbeat())
    #expect(try await !b.sendHeartbeat())
    #expect(try await a.sendHeartbeat())
    #expect(try await names(store) == ["a", "b"])
    try await age("b", store)
    try await a.markDead()
    #expect(try await names(store) == ["a"])
    #expect(try await !b.sendHeartbeat())
    // Nobody buries it, but it wasn't seen for too long.
    try await age("b", store)
    #expect(try await !b.sendHeartbeat())
    #expect(try await b.sendHeartbeat())
    #expect(try await names(store) == ["a", "b"])
    await a.leave()
    await b.leave()
    await b.leave()
    #expect(try await names(store) == [])
    await store.close()
  }

  private func age(_ name: String, _ store: Store) async throws {
    try await store.write {
      try $0.execute(
        "UPDATE store_nodes SET seen_at = seen_at - interval '21 s' WHERE name = ?", name)
    }
  }

  private static func step(_ number: Int, needs: Int? = nil) -> Migration {
    Migration(
      owner: "notes", number: number, sqlite: "SELECT 1", postgreSQL: "SELECT 1", needs: needs)
  }

  @Test func aNewerReleaseWaitsForNodesThatCantGoOnBesideIt() async throws {
    let database = try databases.make()
    let first = notes
    let old = try await database.open(first)
    let node = node("old", old)
    try await node.join()
    let highest = first.map(\.number).max() ?? 0
    // One that the old node can live with, and one that it can't.
    let expanded = first + [Self.step(highest + 1, needs: highest)]
    try await database.open(expanded).close()
    #expect(try await node.sendHeartbeat())
    let contracted = expanded + [Self.step(highest + 2)]
    let refusal = await #expect(throws: StoreError.self) { try await database.open(contracted) }
    #expect(refusal?.code == .incompatibleSchema)
    #expect(refusal?.message.contains("while the node old runs awd 1.0") == true)
    // Another one takes it for dead, and migrates; it comes back, and writes nothing.
    try await age("old", old)
    try await database.open(contracted).close()
    await #expect(throws: NodeRegistry.OutdatedRelease.self) { try await node.sendHeartbeat() }
    let fenced = await #expect(throws: StoreError.self) {
      try await old.write { try $0.execute("DELETE FROM store_probe") }
    }
    #expect(fenced?.code == .readOnly)
    await old.close()
  }

  @Test func aNodeThatWasNotSeenForLongWritesNothing() async throws {
    let database = try databases.make()
    let store = try await database.open()
    let node = node("a", store)
    try await node.join()
    let before = store.statistics.writesCommitted
    store.work.fence.open(until: .now - .seconds(1))
    async let write: Void = store.writeProbe()
    try await Task.sleep(for: .milliseconds(200))
    #expect(store.statistics.writesCommitted == before)
    try await node.sendHeartbeat()
    try await write
    #expect(store.statistics.writesCommitted > before)
    await store.close()
  }

  @Test func anotherHistoryBeginsWhereTheDatabaseIsAnother() async throws {
    let database = try databases.make()
    func history() async throws -> Int64 {
      let store = try await database.open()
      defer { Task { await store.close() } }
      return try await store.read { try $0.history() }
    }
    let first = try await history()
    #expect(first > 0)
    #expect(try await history() == first)
    let store = try await database.open()
    // As if another server had taken over.
    try await store.write { try $0.execute("UPDATE store_history SET mark = '1 2 00000001'") }
    await store.close()
    let second = try await history()
    #expect(second != first)
    #expect(try await history() == second)
  }

  @Test func aCopyOfAFileHasAnotherHistory() async throws {
    let folder = TemporaryFolder()
    func history(_ path: String) async throws -> Int64 {
      let store = try await Store.open(.file(path), migrations: notes)
      let history = try await store.read { try $0.history() }
      await store.close()
      return history
    }
    let first = try await history(folder.database)
    #expect(try await history(folder.database) == first)
    let copy = "\(folder.path)/copy.sqlite3"
    try FileManager.default.copyItem(atPath: folder.database, toPath: copy)
    #expect(try await history(copy) != first)
    #expect(try await history(folder.database) == first)
  }

  @Test(arguments: Engine.tested)
  func aTextWithTheCharacterNULIsRefused(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
    let error = await #expect(throws: StoreError.self) {
      try await store.write { try add("a\0b", $0) }
    }
    #expect(error?.code == .constraint(.other))
    #expect(try await texts(store) == [])
    await store.close()
  }

  @Test func allGoByTheDatabasesTime() async throws {
    let database = try databases.make()
    let store = try await database.open()
    let before = Timestamp.now()
    let time = try await store.time()
    // The server is on this machine.
    #expect(time >= before - .milliseconds(20) && time <= .now() + .milliseconds(20))
    await store.close()
  }
}
