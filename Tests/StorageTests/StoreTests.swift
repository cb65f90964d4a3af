internal import Foundation
internal import TestSupport
@testable import Storage
internal import Testing

@Suite(.ownThreads) struct StoreTests {
  private let folder = TemporaryFolder()
  private let databases = TestDatabases()

  struct Refusal: Error {}

  /// Otherwise a crash at the first start would look like a file that was cut off.
  @Test func aNewFileIsThereWithItsFirstTableOrNotAtAll() async throws {
    let file = try DatabaseFile.ofStore(at: folder.database)
    try SQLiteConnection(reading: folder.database).requireStore(file.name)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/data").count == 1)
    await (try folder.open()).close()
    try Data().write(to: URL(filePath: folder.database))
    let error = await #expect(throws: StoreError.self) { _ = try await folder.open() }
    #expect(error?.code == .corrupt)
  }

  /// Whatever a signal ends takes away the files that are named.
  @Test func everyFileThatSQLiteMakesIsNamed() throws {
    let file = try DatabaseFile.at(folder.database)
    var seen: Set<String> = []
    func look() throws {
      let data = "\(folder.path)/data"
      seen.formUnion(
        try FileManager.default.contentsOfDirectory(atPath: data).map { "\(data)/\($0)" })
    }
    let connection = try SQLiteConnection(file, role: .writer, busyTimeout: .zero)
    try connection.run("CREATE TABLE t (x)")
    try look()
    try connection.run("PRAGMA journal_mode = DELETE")
    try connection.control("BEGIN")
    try connection.run("INSERT INTO t VALUES (1)")
    try look()
    connection.rollBack()
    #expect(seen == Set(StoreLocation.files(of: folder.database)))
    #expect(Set(seen.map(StoreLocation.database)) == [folder.database])
  }

  @Test(arguments: Engine.tested) func valuesComeBackAsTheyWent(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    let store = try await database.open()
    let text = "naïve 🙂"
    try await store.write { transaction in
      switch engine {
      case .sqlite: try transaction.execute("CREATE TABLE t (i, r, s, b, e, n, y)")
      case .postgreSQL:
        try transaction.execute(
          "CREATE TABLE t (i int8, r float8, s text, b bytea, e bytea, n text, y int8)")
      }
      try transaction.execute(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", Int64.min, 0.1, text,
        [0, 255] as [UInt8], [] as [UInt8], String?.none, true)
      try transaction.forEach("SELECT * FROM t") { row in
        try #expect(row[0] == Int64.min)
        try #expect(row[1] == 0.1)
        try #expect(row[2] == text)
        try #expect(row[3] == [0, 255] as [UInt8])
        try #expect(row[4] == [] as [UInt8])
        try #expect(row[5] == String?.none)
        try #expect(row[6] == true)
        try #expect(row.withBytes(2) { $0.count } == text.utf8.count)
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

  @Test(arguments: Engine.tested) func changes(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
    try await store.write { transaction in
      try add("a", transaction)
      try add("b", transaction)
      try transaction.execute("UPDATE notes SET text = text || ?", "!")
      #expect(transaction.changes == 2)
      #expect(try count(transaction) == 2)
      #expect(transaction.changes == 2)
      try transaction.forEach("DELETE FROM notes WHERE text = ? RETURNING id", "a!") { _ in }
      #expect(transaction.changes == 1)
      try transaction.execute("INSERT INTO notes (text) VALUES ('b!') ON CONFLICT DO NOTHING")
      #expect(transaction.changes == 0)
    }
    await store.close()
  }

  @Test(arguments: Engine.tested) func aQueryInsideItsOwnRows(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
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

  @Test(
    arguments: Engine.tested,
    ["COMMIT", "ROLLBACK", "SAVEPOINT x", "RELEASE job", "ATTACH 'x' AS y"])
  func transactionControlIsTheStoresAlone(_ engine: Engine, _ sql: String) async throws {
    let store = try await databases.make(engine).open()
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

  @Test(arguments: Engine.tested) func mistakesInSQL(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
    func isRefused(
      _ body: @escaping @Sendable (borrowing Transaction) throws -> Void
    ) async {
      let error = await #expect(throws: StoreError.self) { try await store.write(body) }
      #expect(error?.code == .other && error?.isUnavailable == false)
    }
    await isRefused { try $0.execute("SELEC 1") }
    await isRefused { try $0.execute("") }
    await isRefused { try $0.execute("SELECT 1; SELECT 2") }
    await isRefused { try $0.execute("SELECT ?", 1, 2) }
    await isRefused { try $0.execute("SELECT ?") }
    try await store.write { try $0.execute("SELECT 1; \n ") }
    await store.close()
  }

  @Test(arguments: Engine.tested)
  func constraintsAreTypedAndTellNoValues(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
    func refusal(
      _ body: @escaping @Sendable (borrowing Transaction) throws -> Void
    ) async -> StoreError? {
      await #expect(throws: StoreError.self) { try await store.write(body) }
    }
    try await store.write { try add("secret", $0) }
    let unique = await refusal { try add("secret", $0) }
    #expect(unique?.code == .constraint(.unique))
    let name = engine == .sqlite ? "notes.text" : "notes_text_key"
    #expect(unique?.description.contains(name) == true)
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
    let value = await refusal {
      switch engine {
      case .sqlite: try $0.execute("SELECT json_extract('{}', ?)", "secret[")
      case .postgreSQL: try $0.execute("SELECT CAST(? AS bigint)", "secret[")
      }
    }
    #expect(value != nil)
    #expect(value?.description.contains("secret") == false)
    await store.close()
  }

  @Test(arguments: Engine.tested) func readersSeeASnapshot(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
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

  @Test(arguments: [nil] + Engine.tested, [false, true])
  func readersCannotWrite(_ engine: Engine?, isOneQuery: Bool) async throws {
    let database = try engine.map { try databases.make($0) }
    let store = try await Store.open(database?.location ?? .memory, migrations: notes)
    await #expect(throws: StoreError(.readOnly, "")) {
      try await store.read(isOneQuery: isOneQuery) { snapshot in
        try snapshot.forEach("INSERT INTO notes (text) VALUES ('x') RETURNING id") { _ in }
      }
    }
    #expect(try await store.read(isOneQuery: isOneQuery) { try count($0) } == 0)
    await store.close()
  }

  @Test(arguments: [nil] + Engine.tested) func manyTasks(_ engine: Engine?) async throws {
    let database = try engine.map { try databases.make($0) }
    let store = try await Store.open(database?.location ?? .memory, migrations: notes)
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
    if engine != .postgreSQL { #expect(store.statistics.groupsCommitted < 64 * 20) }
    await store.close()
  }

  @Test(arguments: Engine.tested)
  func aClosedStoreHasDoneItsWorkAndTakesNoMore(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    let store = try await database.open(notes, StoreConfiguration(connections: 1))
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
    if case .file(let path) = database.location {
      #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }
    let again = try await database.open()
    #expect(try await again.read { try count($0) } == 1)
    await again.close()
  }

  @Test(arguments: Engine.tested) func aDroppedStoreStillCommits(_ engine: Engine) async throws {
    let database = try databases.make(engine)
    var store: Store? = try await database.open()
    try await store?.write { try add("a", $0) }
    store = nil
    let again = try await database.open()
    #expect(try await again.read { try count($0) } == 1)
    await again.close()
  }

  @Test(arguments: Engine.tested)
  func stepsKeepTheirOrderAndFailAlone(_ engine: Engine) async throws {
    let store = try await databases.make(engine).open()
    let results = await store.write(
      steps: (0..<30).map { number in
        { @Sendable (transaction: borrowing Transaction) in
          // Each needs the one before.
          let last = try transaction.one("SELECT max(id) FROM notes") { try $0[0] as Int? }
          try add("\(number) after \((last ?? nil) ?? 0)", transaction)
          if number == 5 { throw Refusal() }
        }
      })
    for (number, result) in results.enumerated() {
      if number == 5 {
        #expect(throws: Refusal.self) { try result.get() }
      } else {
        try result.get()
      }
    }
    let all = try await texts(store)
    let numbers = all.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
    #expect(numbers == Array(0..<5) + Array(6..<30))
    let ids = try await store.read {
      try $0.all("SELECT id FROM notes ORDER BY id") { try $0[0] as Int }
    }
    #expect(all.map { $0.split(separator: " ").last.flatMap { Int($0) } } == [0] + ids.dropLast())
    await store.close()
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
