internal import Foundation
internal import TestSupport
internal import Testing

@testable import Storage

/// Behaviour of PostgreSQL alone.
@Suite(.withOtherPrograms, .ownThreads) struct PostgreSQLTests {
  private let databases = TestDatabases()

  private func open(_ connections: Int = 1) async throws -> (TestDatabase, Store) {
    let database = try databases.make()
    return (database, try await database.open(notes, StoreConfiguration(connections: connections)))
  }

  @Test func parametersAreNumberedAsSQLiteDoes() {
    func text(_ sql: StaticString) -> String {
      let text = PostgreSQLText(sql)
      return "\(text.text) \(text.parameterCount)"
    }
    #expect(text("SELECT ?, ? || '?', \"a?\", ?") == "SELECT $1, $2 || '?', \"a?\", $3 3")
    #expect(text("SELECT ?3, ?, ?1") == "SELECT $3, $4, $1 4")
    #expect(text("SELECT 'it''s ?', ?12") == "SELECT 'it''s ?', $12 12")
    #expect(text("") == " 0")
    #expect(
      text("SELECT ? /*postgresql FOR UPDATE */ LIMIT ? /* a */")
        == "SELECT $1 FOR UPDATE  LIMIT $2 /* a */ 2")
    #expect(
      text("SELECT '/*postgresql ' /*postgresql || '*/' */") == "SELECT '/*postgresql ' || '*/'  0")
  }

  @Test func valuesOfAllTypesAreRead() async throws {
    let (_, store) = try await open()
    try await store.read { snapshot in
      try snapshot.forEach(
        """
        SELECT true, 7::int2, (-8)::int4, 9::int8, 0.5::float4, 'a'::varchar, 'b'::char(1), 'c'::name,
          1.5::numeric, NULL::bool, 1 = 2
        """
      ) { row in
        try #expect(row[0] == true)
        try #expect(row[1] == 7)
        try #expect(row[2] == -8)
        try #expect(row[3] == 9)
        try #expect(row[4] == 0.5)
        try #expect(row[5] == "a")
        try #expect(row[6] == "b")
        try #expect(row[7] == "c")
        #expect(throws: StoreError(.unexpectedValue, "")) { let _: Double = try row[8] }
        try #expect(row.withBytes(8) { $0.count } == 0)
        try #expect(row[9] == Bool?.none)
        try #expect(row[10] == false)
      }
    }
    await store.close()
  }

  @Test func aCommitThatUndoesIsAFailure() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try databases.make()
    let connection = try PostgreSQLConnection(
      PostgreSQLAddress(server.url(of: database.name)), lockTimeout: .seconds(1))
    connection.begin("BEGIN")
    #expect(throws: StoreError.self) { try connection.run("SELECT 1 / 0") }
    // As somebody would who doesn't know of it.
    let error = #expect(throws: StoreError(.other, "")) { try connection.commit() }
    #expect(error?.message.contains("undone") == true)
  }

  @Test func theNextUseOfAStatementBindsAllAnew() async throws {
    let (_, store) = try await open()
    try await store.write { transaction in
      let text: StaticString = "SELECT coalesce(CAST(? AS text), 'NULL') || ' ' || CAST(? AS text)"
      func read(_ row: borrowing Row) throws -> String { try row[0] }
      try #expect(transaction.one(text, Int?.none, "b", transform: read) == "NULL b")
      try #expect(transaction.one(text, 1, "a", transform: read) == "1 a")
      #expect(throws: StoreError(.other, "")) { try transaction.execute(text, 2) }
      #expect(throws: StoreError(.other, "")) { try transaction.execute(text, 2, 3, 4) }
      try #expect(transaction.one(text, Int?.none, 0.5, transform: read) == "NULL 0.5")
      try #expect(transaction.one(text, [7] as [UInt8], false, transform: read) == "\\x07 0")
      // A failed count of values has not reached PostgreSQL.
      try add("a", transaction)
    }
    #expect(try await texts(store) == ["a"])
    await store.close()
  }

  @Test func textHasNoNUL() async throws {
    let (_, store) = try await open()
    try await store.write { transaction in
      #expect(throws: StoreError(.constraint(.other), "")) { try add("a\u{0}b", transaction) }
      try add("ab", transaction)
    }
    #expect(try await texts(store) == ["ab"])
    await store.close()
  }

  @Test func statementsArePreparedAnewWhenTablesChange() async throws {
    let (database, store) = try await open()
    func columns() async throws -> Int? {
      try await store.write { transaction in
        try transaction.one("SELECT * FROM notes WHERE text = ?", "a") { row in
          (try? row[2] as String?) == nil ? 2 : 3
        }
      }
    }
    try await store.write { try add("a", $0) }
    #expect(try await columns() == 2)
    try PostgreSQLServer.shared.get().query(
      "ALTER TABLE notes ADD more text DEFAULT 'x'", in: database.name)
    #expect(try await columns() == 3)
    // As a pooler does between two of its clients.
    try await store.write { try $0.execute("DEALLOCATE ALL") }
    #expect(try await columns() == 3)
    #expect(store.statistics.retries == 2)
    await store.close()
  }

  @Test func aDeferredRuleFailsAtTheCommit() async throws {
    let (_, store) = try await open()
    await #expect(throws: StoreError(.constraint(.foreignKey), "")) {
      try await store.write { transaction in
        try add("a", transaction)
        try transaction.execute("INSERT INTO tags VALUES (99, 'x')")
      }
    }
    #expect(try await store.read { try count($0) } == 0)
    await store.close()
  }

  @Test func aLostAnswerToACommitIsUnknown() async throws {
    let (database, store) = try await open()
    try PostgreSQLServer.shared.get().query(
      """
      CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.text = 'last') EXECUTE FUNCTION leave()
      """, in: database.name)
    let error = await #expect(throws: StoreError(.unknown, "")) {
      try await store.write { try add("last", $0) }
    }
    #expect(error?.isUnavailable == true)
    // It isn't tried again, and the next has a new connection.
    try await store.write { try add("next", $0) }
    #expect(try await texts(store) == ["next"])
    await store.close()
  }

  // MARK: - Addresses

  @Test(arguments: [
    "postgresql:///awd", "postgres://awd@db1:5432,db2/awd?target_session_attrs=read-write",
    "postgresql://awd@/awd?host=/run/postgresql",
  ])
  func addresses(_ url: String) throws {
    #expect(try "\(PostgreSQLAddress(url))" == url)
  }

  @Test(arguments: [
    "", "db", "host=db dbname=awd", "http://db/awd", "postgresql://db/awd?nonsense=1",
    "postgresql://db:port%/awd", "postgresql://awd@[::1/awd", "postgresql://db/a\u{0}b",
    "postgresql://awd:hunter2@db/awd", "postgresql://db/awd?password=hunter2",
    "postgresql://db/awd?sslpassword=hunter2", "postgresql://awd:hunter2%@db/awd",
  ])
  func noAddresses(_ url: String) {
    let error = #expect(throws: PostgreSQLAddress.Invalid.self) { try PostgreSQLAddress(url) }
    #expect(error?.description.contains("hunter2") == false)
  }

  // MARK: - Retries

  @Test func conflictsAreTriedAgainForATime() {
    let conflict = StoreError(sqlState: "40001", message: "")
    var retries = Retries()
    for number in 0..<50 {
      let pause = retries.pause(after: conflict, isLost: false, elapsed: .seconds(4))
      #expect(pause.map { $0 <= .milliseconds(min(1 << number, 64)) } == true)
    }
    #expect(retries.pause(after: conflict, isLost: false, elapsed: .seconds(5)) == nil)
  }

  @Test func whatIsTriedAgain() {
    func tries(_ sqlState: String?, isLost: Bool = false) -> Int {
      var retries = Retries()
      let error = StoreError(sqlState: sqlState, message: "")
      return (0..<100).prefix { _ in
        retries.pause(after: error, isLost: isLost, elapsed: .zero) != nil
      }.count
    }
    #expect(tries("40001") == 100 && tries("40P01") == 100 && tries("55P03") == 100)
    #expect(tries("23505") == 2 && tries("0A000") == 2 && tries("26000") == 2)
    #expect(tries("23503") == 0 && tries("53100") == 0 && tries("42601") == 0)
    #expect(tries(nil, isLost: true) == 100 && tries("57P01", isLost: true) == 100)
  }
}
