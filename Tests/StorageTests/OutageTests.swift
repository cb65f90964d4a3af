internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform

@testable import Storage

/// A PostgreSQL that fails, or that isn't as a store needs it. Each test has a server of its own where it harms that.
@Suite(.withOtherPrograms, .ownThreads) struct OutageTests {
  /// The outcome of each written row.
  private final class Record: Sendable {
    private struct State {
      var written: Set<String> = []
      var unknown: Set<String> = []
      var errors: [StoreError] = []
    }

    private let state = Lock(State())

    var written: Set<String> { state.withLock(\.written) }
    var unknown: Set<String> { state.withLock(\.unknown) }
    var errors: [StoreError] { state.withLock(\.errors) }

    func write(_ text: String, to store: Store) async {
      do {
        try await store.write { try add(text, $0) }
        state.withLock { _ = $0.written.insert(text) }
      } catch let error as StoreError {
        state.withLock { state in
          state.errors.append(error)
          if error.code == .unknown { state.unknown.insert(text) }
        }
      } catch {
        Issue.record(error)
      }
    }
  }

  /// Tasks that write one row after the other.
  private struct Load {
    private let record = Record()
    private let tasks: [Task<Void, Never>]

    init(_ store: Store) {
      tasks = (0..<12).map { [record] task in
        Task {
          var number = 0
          while !Task.isCancelled {
            await record.write("\(task) \(number)", to: store)
            number += 1
          }
        }
      }
    }

    var errors: [StoreError] { record.errors }

    func more(_ count: Int) async throws {
      let start = record.written.count
      try await waitUntil { record.written.count >= start + count }
    }

    /// Ends the load, and compares the table with the outcomes.
    func end(_ store: Store) async throws {
      for task in tasks { task.cancel() }
      for task in tasks { await task.value }
      let there = Set(try await texts(store))
      #expect(record.written.subtracting(there) == [])
      #expect(there.subtracting(record.written).subtracting(record.unknown) == [])
    }
  }

  private let databases = TestDatabases()

  private func address(
    _ server: PostgreSQLServer, _ database: String, user: String = PostgreSQLServer.user,
    password: String = ""
  ) throws -> StoreLocation {
    .postgreSQL(
      try PostgreSQLAddress(server.url(of: database, user: user), password: password))
  }

  /// Expects that a store can't be opened.
  private func refusal(
    _ location: StoreLocation, _ code: StoreError.Code, _ words: String,
    _ migrations: [Migration] = notes
  ) async {
    let error = await #expect(throws: StoreError.self) {
      try await Store.open(location, migrations: migrations)
    }
    #expect(error?.code == code && error?.message.contains(words) == true, "\(error as Any)")
  }

  // MARK: - Failures

  @Test func aServerThatStopsLosesNothing() async throws {
    let server = try PostgreSQLServer()
    let location = try address(server, server.makeDatabase())
    let store = try await Store.open(location, migrations: notes)
    let load = Load(store)
    try await load.more(100)
    for _ in 0..<3 {
      try server.stop(immediately: true)
      try server.start()
      try await load.more(100)
    }
    try server.stop(immediately: true)
    let errors = load.errors.count
    // More than one for each connection: those behind them needn't wait as long.
    try await waitUntil { load.errors.count > errors + 50 }
    #expect(load.errors.allSatisfy { $0.isUnavailable })
    let error = await #expect(throws: StoreError(.ioError, "")) {
      try await store.read { try count($0) }
    }
    #expect(error?.isUnavailable == true)
    try server.start()
    try await load.more(100)
    try await load.end(store)
    #expect(store.statistics.retries > 0)
    await store.close()
  }

  @Test func aLostConnectionIsMadeAnew() async throws {
    let database = try databases.make()
    let server = try PostgreSQLServer.shared.get()
    let store = try await database.open()
    let load = Load(store)
    for _ in 0..<20 {
      try await load.more(20)
      try server.query(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '\(database.name)' AND pid <> pg_backend_pid()
        """, in: "postgres")
    }
    #expect(load.errors.filter { $0.code != .unknown }.map(\.description) == [])
    try await load.end(store)
    await store.close()
  }

  @Test func aStoreIsClosedWithoutItsServer() async throws {
    let server = try PostgreSQLServer()
    let location = try address(server, server.makeDatabase())
    let store = try await Store.open(
      location, migrations: notes, configuration: StoreConfiguration(connections: 1))
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    let queued = (0..<10).map { number in
      Task { try await store.write { try add("\(number)", $0) } }
    }
    try await gate.wait(for: queued.count, store)
    try server.stop()
    gate.open()
    // The first one is being tried.
    try await waitUntil { store.statistics.queuedWrites < queued.count }
    await store.close()
    // It writes nothing, and so has nothing to lose.
    try await held.value
    for task in queued {
      await #expect(throws: StoreError(.ioError, "")) { try await task.value }
    }
    await refusal(location, .ioError, "cannot connect to PostgreSQL")
  }

  @Test(.enabled(if: getuid() == 0)) func aFullDiskIsTypedAndHeals() async throws {
    let server = try PostgreSQLServer(smallDisk: 24)
    try server.query("CREATE TABLESPACE small LOCATION '\(server.smallFolder)'", in: "postgres")
    let name = try server.makeDatabase("TABLESPACE small")
    let store = try await Store.open(address(server, name), migrations: notes)
    try await store.write { transaction in
      try transaction.execute("CREATE TABLE big (data bytea)")
      // Not compressed.
      try transaction.execute("ALTER TABLE big ALTER data SET STORAGE EXTERNAL")
    }
    let load = Load(store)
    try await load.more(100)
    let data = [UInt8](repeating: 0, count: 1 << 20)
    let error = await #expect(throws: StoreError(.full, "")) {
      for _ in 0..<100 {
        try await store.write { try $0.execute("INSERT INTO big VALUES (?)", data) }
      }
    }
    #expect(error?.isUnavailable == true)
    // The probe's own row has its place already.
    await #expect(throws: StoreError(.full, "")) { try await store.writeProbe() }
    try await store.write { try $0.execute("DROP TABLE big") }
    try await store.writeProbe()
    try await load.more(100)
    #expect(load.errors.allSatisfy { [.full, .unknown].contains($0.code) }, "\(load.errors)")
    try await load.end(store)
    await store.close()
  }

  @Test func aDatabaseThatMayOnlyBeReadIsTypedAndHeals() async throws {
    let database = try databases.make()
    let server = try PostgreSQLServer.shared.get()
    let store = try await database.open()
    func setReadOnly(_ value: String) throws {
      try server.query(
        """
        ALTER DATABASE \(database.name) SET default_transaction_read_only = \(value);
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'
        """, in: "postgres")
    }
    try setReadOnly("on")
    let error = await #expect(throws: StoreError(.readOnly, "")) {
      try await store.write { try add("refused", $0) }
    }
    #expect(error?.isUnavailable == true)
    #expect(try await store.read { try count($0) } == 0)
    await refusal(database.location, .readOnly, "may only be read")
    try setReadOnly("off")
    try await store.write { try add("taken", $0) }
    #expect(try await texts(store) == ["taken"])
    await store.close()
  }

  /// As where the URL names several servers, and the one that was the primary is a standby now.
  @Test func aDemotedServerIsWaitedFor() async throws {
    let server = try PostgreSQLServer()
    let location = try address(server, server.makeDatabase())
    let store = try await Store.open(location, migrations: notes)
    func setReadOnly(_ value: String) throws {
      for sql in [
        "ALTER SYSTEM SET default_transaction_read_only = \(value)", "SELECT pg_reload_conf()",
      ] {
        try server.query(sql, in: "postgres")
      }
    }
    try await store.write { try add("before", $0) }
    let retries = store.statistics.retries
    try setReadOnly("on")
    // The server reads its configuration soon.
    try await waitUntil {
      try server.query("SHOW default_transaction_read_only", in: "postgres") == "on"
    }
    async let late: Void = store.write { try add("after", $0) }
    try await waitUntil { store.statistics.retries > retries + 2 }
    try setReadOnly("off")
    try await late
    #expect(try await texts(store) == ["before", "after"])
    await store.close()
  }

  @Test func fewConnectionsAreEnough() async throws {
    let server = try PostgreSQLServer(settings: [
      "max_connections": "6", "superuser_reserved_connections": "1", "max_wal_senders": "0",
    ])
    let location = try address(server, server.makeDatabase())
    let store = try await Store.open(
      location, migrations: notes, configuration: StoreConfiguration(connections: 20))
    let load = Load(store)
    try await load.more(300)
    #expect(load.errors.isEmpty)
    await refusal(location, .ioError, "too many clients")
    try await load.end(store)
    await store.close()
  }

  // MARK: - Refusals

  @Test func aPasswordIsNeeded() async throws {
    let server = try PostgreSQLServer.shared.get()
    _ = try? server.query("CREATE ROLE locked LOGIN PASSWORD 'secret word'", in: "postgres")
    let name = try databases.make(.postgreSQL, "OWNER locked").name
    func location(_ password: String) throws -> StoreLocation {
      try address(server, name, user: "locked", password: password)
    }
    let error = await #expect(throws: StoreError(.ioError, "")) {
      try await Store.open(location("hunter2"), migrations: notes)
    }
    #expect(error?.message.contains("password authentication failed for user \"locked\"") == true)
    #expect(error?.message.contains("hunter2") == false)
    await refusal(try location(""), .ioError, "no password supplied")
    let store = try await Store.open(location("secret word"), migrations: notes)
    try await store.write { try add("a", $0) }
    await store.close()
  }

  @Test func aUserNeedsRights() async throws {
    let database = try databases.make()
    let server = try PostgreSQLServer.shared.get()
    _ = try? server.query("CREATE ROLE stranger LOGIN", in: "postgres")
    let stranger = try address(server, database.name, user: "stranger")
    await refusal(stranger, .readOnly, "permission denied for schema public")
    await (try database.open()).close()
    await refusal(stranger, .readOnly, "permission denied for table store_migrations")
  }

  @Test func theEncodingIsUTF8() async throws {
    let database = try databases.make(.postgreSQL, "ENCODING 'SQL_ASCII' LOCALE 'C'")
    await refusal(database.location, .incompatibleSchema, "encoding SQL_ASCII, it must be UTF8")
  }

  @Test func aDatabaseOfAnotherProgramIsLeftAlone() async throws {
    let database = try databases.make()
    let server = try PostgreSQLServer.shared.get()
    try server.query("CREATE TABLE orders (id int)", in: database.name)
    await refusal(
      database.location, .incompatibleSchema, "another program: it has the table orders")
    let tables = "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'"
    #expect(try server.query(tables, in: database.name) == "orders")
    await refusal(try address(server, "nowhere"), .ioError, "database \"nowhere\" does not exist")
  }
}
