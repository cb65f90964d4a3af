internal import Foundation
internal import TestSupport
@testable import Storage
internal import Testing

@Suite(.ownThreads) struct StoreTests {
  private let folder = TemporaryFolder()

  struct Refusal: Error {}

  @Test func valuesComeBackAsTheyWent() async throws {
    let store = try await Store.open(.memory)
    try await store.write { transaction in
      try transaction.execute("CREATE TABLE t (i, r, s, b, e, n, y)")
      try transaction.execute(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", Int64.min, 0.1, "naïve \u{0} 🙂",
        [0, 255] as [UInt8], [] as [UInt8], String?.none, true)
      try transaction.forEach("SELECT * FROM t") { row in
        try #expect(row[0] == Int64.min)
        try #expect(row[1] == 0.1)
        try #expect(row[2] == "naïve \u{0} 🙂")
        try #expect(row[3] == [0, 255] as [UInt8])
        try #expect(row[4] == [] as [UInt8])
        try #expect(row[5] == String?.none)
        try #expect(row[6] == true)
        try #expect(row.withBytes(3) { $0.count } == 2)
        try #expect(row.withBytes(5) { $0.count } == 0)
        #expect(throws: StoreError.self) { let _: Int = try row[7] }
        #expect(throws: StoreError.self) { let _: String = try row[0] }
        #expect(throws: StoreError.self) { let _: String = try row[5] }
        #expect(throws: StoreError.self) { try row.withBytes(-1) { _ in } }
      }
    }
    await store.close()
  }

  @Test func countsTheChangedRows() async throws {
    let store = try await folder.open()
    try await store.write { transaction in
      try add("a", transaction)
      try add("b", transaction)
      try transaction.execute("UPDATE notes SET text = text || ?", "!")
      #expect(transaction.changes == 2)
    }
    await store.close()
  }

  @Test func aQueryInsideItsOwnRows() async throws {
    let store = try await folder.open()
    let pairs = try await store.write { transaction in
      try add("a", transaction)
      try add("b", transaction)
      return try transaction.all("SELECT text FROM notes ORDER BY id") { row in
        let outer: String = try row[0]
        return try transaction.all("SELECT text FROM notes ORDER BY id") { row in
          let inner: String = try row[0]
          return outer + inner
        }
      }
    }
    #expect(pairs == [["aa", "ab"], ["ba", "bb"]])
    await store.close()
  }

  @Test(arguments: ["COMMIT", "ROLLBACK", "SAVEPOINT x", "RELEASE job", "ATTACH 'x' AS y"])
  func transactionControlIsTheStoresAlone(_ sql: String) async throws {
    let store = try await folder.open()
    await #expect(throws: StoreError.self) {
      try await store.write { transaction in
        try add("a", transaction)
        switch sql {
        case "COMMIT": try transaction.execute("COMMIT")
        case "ROLLBACK": try transaction.execute("ROLLBACK")
        case "SAVEPOINT x": try transaction.execute("SAVEPOINT x")
        case "RELEASE job": try transaction.execute("RELEASE job")
        default: try transaction.execute("ATTACH 'x' AS y")
        }
      }
    }
    #expect(try await store.read { try count($0) } == 0)
    await store.close()
  }

  @Test func textThatIsNotUTF8() async throws {
    let store = try await Store.open(.memory)
    try await store.write { transaction in
      try transaction.forEach("SELECT CAST(? AS TEXT)", [0x61, 0xff] as [UInt8]) { row in
        #expect(throws: StoreError(.unexpectedValue, "")) { let _: String = try row[0] }
        try #expect(row.withBytes(0) { $0.count } == 2)
      }
    }
    await store.close()
  }

  @Test func theNextUseOfAStatementBindsAllAnew() async throws {
    let store = try await Store.open(.memory)
    try await store.write { transaction in
      let text: StaticString = "SELECT quote(?) || ' ' || quote(?)"
      func read(_ row: borrowing Row) throws -> String { try row[0] }
      try #expect(transaction.one(text, 1, "a", transform: read) == "1 'a'")
      #expect(throws: StoreError.self) { try transaction.execute(text, 2) }
      #expect(throws: StoreError.self) { try transaction.execute(text, 2, 3, 4) }
      try #expect(transaction.one(text, Int?.none, 0.5, transform: read) == "NULL 0.5")
      try #expect(transaction.one(text, [7] as [UInt8], false, transform: read) == "X'07' 0")
    }
    await store.close()
  }

  @Test func mistakesInSQL() async throws {
    let store = try await folder.open()
    try await store.write { transaction in
      #expect(throws: StoreError.self) { try transaction.execute("SELEC 1") }
      #expect(throws: StoreError.self) { try transaction.execute("") }
      #expect(throws: StoreError.self) { try transaction.execute("SELECT 1; SELECT 2") }
      #expect(throws: StoreError.self) { try transaction.execute("SELECT ?", 1, 2) }
      #expect(throws: StoreError.self) { try transaction.execute("SELECT ?") }
      try transaction.execute("SELECT 1; \n ")
    }
    await store.close()
  }

  @Test func constraintsAreTypedAndTellNoValues() async throws {
    let store = try await folder.open()
    func refusal(
      _ body: @escaping @Sendable (borrowing Transaction) throws -> Void
    ) async -> StoreError? {
      await #expect(throws: StoreError.self) { try await store.write(body) }
    }
    try await store.write { try add("secret", $0) }
    let unique = await refusal { try add("secret", $0) }
    #expect(unique?.code == .constraint(.unique))
    #expect(unique?.description.contains("notes.text") == true)
    #expect(unique?.description.contains("secret") == false)
    #expect(unique?.isUnavailable == false)
    let null = await refusal {
      try $0.execute("INSERT INTO notes (text) VALUES (?)", String?.none)
    }
    #expect(null?.code == .constraint(.notNull))
    let check = await refusal { try $0.execute("INSERT INTO tags VALUES (1, ?)", "") }
    #expect(check?.code == .constraint(.check))
    let primary = await refusal { try $0.execute("INSERT INTO notes VALUES (1, 'x')") }
    #expect(primary?.code == .constraint(.unique))
    let foreign = await refusal { try $0.execute("INSERT INTO tags VALUES (99, 'x')") }
    #expect(foreign?.code == .constraint(.foreignKey))
    let path = await refusal { try $0.execute("SELECT json_extract('{}', ?)", "secret[") }
    #expect(path != nil)
    #expect(path?.description.contains("secret") == false)
    await store.close()
  }

  @Test func readersSeeASnapshot() async throws {
    let store = try await folder.open()
    try await store.write { try add("a", $0) }
    let isReading = DispatchSemaphore(value: 0)
    let isWritten = DispatchSemaphore(value: 0)
    async let counts = store.read { snapshot in
      let before = try count(snapshot)
      isReading.signal()
      isWritten.wait()
      return [before, try count(snapshot)]
    }
    try await store.write { transaction in
      isReading.wait()
      try add("b", transaction)
    }
    #expect(try await store.read { try count($0) } == 2)
    isWritten.signal()
    #expect(try await counts == [1, 1])
    await store.close()
  }

  @Test func readersCannotWrite() async throws {
    for location in [StoreLocation.file(folder.database), .memory] {
      let store = try await Store.open(location, migrations: notes)
      await #expect(throws: StoreError(.readOnly, "")) {
        try await store.read { snapshot in
          try snapshot.forEach("INSERT INTO notes (text) VALUES ('x') RETURNING id") { _ in }
        }
      }
      #expect(try await store.read { try count($0) } == 0)
      await store.close()
    }
  }

  @Test(arguments: [true, false]) func manyTasks(inMemory: Bool) async throws {
    let store = try await Store.open(
      inMemory ? .memory : .file(folder.database), migrations: notes)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<64 {
        group.addTask {
          for number in 0..<20 {
            let id = try await store.write { transaction in
              try transaction.one(
                "INSERT INTO notes (text) VALUES (?) RETURNING id", "\(task) \(number)"
              ) { try $0[0] as Int64 }
            }
            // Acknowledged writes can be read.
            let text = try await store.read { snapshot in
              try snapshot.one("SELECT text FROM notes WHERE id = ?", id) { try $0[0] as String }
            }
            #expect(text == "\(task) \(number)")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.read { try count($0) } == 64 * 20)
    #expect(store.statistics.writesCommitted == 64 * 20)
    #expect(store.statistics.groupsCommitted < 64 * 20)
    await store.close()
  }

  @Test func aClosedStoreHasDoneItsWorkAndTakesNoMore() async throws {
    let store = try await folder.open()
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    let queued = Task { try await store.write { try add("queued", $0) } }
    try await gate.wait(for: 1, store)
    async let first: Void = store.close()
    async let second: Void = store.close()
    gate.open()
    _ = await (first, second)
    try await held.value
    try await queued.value
    await #expect(throws: StoreError(.closed, "")) {
      try await store.write { try add("late", $0) }
    }
    await #expect(throws: StoreError(.closed, "")) {
      try await store.read { try count($0) }
    }
    #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
    let again = try await folder.open()
    #expect(try await again.read { try count($0) } == 1)
    await again.close()
  }

  @Test func aDroppedStoreStillCommits() async throws {
    var store: Store? = try await folder.open()
    try await store?.write { try add("a", $0) }
    store = nil
    let again = try await folder.open()
    #expect(try await again.read { try count($0) } == 1)
    await again.close()
  }

  @Test func filesAreTheOwnersAlone() async throws {
    let database = folder.path + "/new/data/test.sqlite3"
    let store = try await Store.open(.file(database), migrations: notes)
    try await store.write { try add("a", $0) }
    func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
    for suffix in ["", "-wal", "-shm"] {
      #expect(try mode(database + suffix) == 0o600)
    }
    for path in ["/new", "/new/data"] { #expect(try mode(folder.path + path) == 0o700) }
    await store.close()
  }

  @Test func noDatabaseAndNoFolder() async throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/data", withIntermediateDirectories: true)
    try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: folder.database))
    await #expect(throws: StoreError(.corrupt, "")) { try await folder.open() }
    await #expect(throws: StoreError(.ioError, "")) {
      try await Store.open(.file(folder.database + "/below/a/file"))
    }
  }
}
