internal import TestSupport
internal import Testing
internal import Time

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
    #expect(try await !a.stay())
    #expect(try await !b.stay())
    #expect(try await a.stay())
    try await b.compare(["keys": [1]])
    #expect(try await names(store) == ["a", "b"])
    try await store.write {
      try $0.execute("UPDATE store_nodes SET seen_at = seen_at - interval '21 s' WHERE name = 'b'")
    }
    #expect(try await a.stay())
    #expect(try await names(store) == ["a"])
    // What referred to it is gone with it.
    try await a.compare(["keys": [2]])
    #expect(try await !b.stay())
    #expect(try await names(store) == ["a", "b"])
    await a.leave()
    await b.leave()
    await b.leave()
    #expect(try await names(store) == [])
    await store.close()
  }

  @Test func nodesHaveTheSameKeys() async throws {
    let database = try databases.make()
    let store = try await database.open()
    let (a, b) = (node("a", store), node("b", store))
    try await a.stay()
    try await b.stay()
    try await a.compare([:])
    try await b.compare([:])
    try await a.compare(["apptimist.keys": [1], "msgr.key": [2]])
    try await b.compare(["apptimist.keys": [1], "msgr.key": [2]])
    for (files, words) in [
      (["apptimist.keys": [3], "msgr.key": [2]], "this node has another file than the node a"),
      (["msgr.key": [2]], "this node lacks the file of the node a"),
    ] as [([String: [UInt8]], String)] {
      let mismatch = await #expect(throws: NodeRegistry.Mismatch.self) {
        try await b.compare(files)
      }
      #expect(mismatch?.description.contains(words) == true, "\(mismatch?.description ?? "")")
      #expect(mismatch?.description.contains("apptimist.keys") == true)
    }
    // Those of a node that has left count no more.
    await a.leave()
    try await b.compare(["apptimist.keys": [3]])
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
