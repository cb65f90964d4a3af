internal import Platform
internal import TestSupport
internal import Testing

@testable import Storage

/// Statements that go to PostgreSQL together.
@Suite(.withOtherPrograms, .ownThreads) struct PipelineTests {
  private let databases = TestDatabases()

  private func texts(_ texts: String...) throws -> PostgreSQLParameters {
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: texts)
    return parameters
  }

  private let insertion: StaticString = "INSERT INTO notes (text) SELECT t FROM unnest(?) t"

  @Test func eachStatementHasItsRows() async throws {
    let store = try await databases.make().open()
    let found = try await store.write(isolation: .rowLocks) { transaction in
      var before: [Int] = []
      var after: [String] = []
      try transaction.pipeline([
        PipelinedStatement("SELECT count(*) FROM notes") { row in before.append(try row[0]) },
        PipelinedStatement(insertion, try texts("a", "b")),
        PipelinedStatement("SELECT text FROM notes ORDER BY text") { row in
          after.append(try row[0])
        },
        PipelinedStatement("SELECT count(*) FROM notes") { row in before.append(try row[0]) },
      ])
      return (before, after)
    }
    #expect(found.0 == [0, 2])
    #expect(found.1 == ["a", "b"])
    #expect(try await store.read { try count($0) } == 2)
    await store.close()
  }

  @Test func manyRowsAndLongParametersFit() async throws {
    let store = try await databases.make().open()
    let long = String(repeating: "x", count: 1 << 20)
    let lengths = try await store.write(isolation: .rowLocks) { transaction in
      var lengths: [Int] = []
      let statements = try (0..<24).map { _ in
        PipelinedStatement(
          "SELECT t FROM unnest(?) t", try texts(long)
        ) { row in lengths.append(try row.withBytes(0) { $0.count }) }
      }
      try transaction.pipeline(statements, commits: true)
      return lengths
    }
    #expect(lengths == Array(repeating: 1 << 20, count: 24))
    await store.close()
  }

  @Test(arguments: [false, true]) func oneFailureFailsAll(_ commits: Bool) async throws {
    let store = try await databases.make().open()
    let error = await #expect(throws: StoreError.self) {
      try await store.write(isolation: .rowLocks) { transaction in
        // A closure that ignores the failure can't commit.
        try? transaction.pipeline(
          [
            PipelinedStatement(insertion, try texts("a")),
            PipelinedStatement("SELECT 1 / (count(*) - 1) FROM notes"),
            PipelinedStatement(insertion, try texts("b")),
          ], commits: commits)
      }
    }
    #expect(error?.sqlState == "22012")
    #expect(try await store.read { try count($0) } == 0)
    // The connection is good for the next one.
    try await store.write(isolation: .rowLocks) { transaction in
      try transaction.pipeline([PipelinedStatement(insertion, try texts("c"))], commits: true)
    }
    #expect(try await store.read { try count($0) } == 1)
    await store.close()
  }

  @Test func nothingRunsBehindTheCommit() async throws {
    let store = try await databases.make().open()
    await #expect(throws: StoreError(.other, "")) {
      try await store.write(isolation: .rowLocks) { transaction in
        try transaction.pipeline([PipelinedStatement(insertion, try texts("a"))], commits: true)
        try add("b", transaction)
      }
    }
    #expect(try await store.read { try $0.values("SELECT text FROM notes") as [String] } == ["a"])
    await store.close()
  }

  @Test func wrongNumbersOfParametersAreRefused() async throws {
    let store = try await databases.make().open()
    await #expect(throws: StoreError(.other, "")) {
      try await store.write(isolation: .rowLocks) { transaction in
        try transaction.pipeline([PipelinedStatement(insertion)])
      }
    }
    await store.close()
  }

  /// The server ends the connection during the COMMIT, so that nobody knows whether it is done.
  @Test func aConnectionLostBeforeTheCommitsAnswerIsUnknown() async throws {
    let store = try await databases.make().open()
    try await store.write { transaction in
      try transaction.execute(
        """
        CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$
        """)
      try transaction.execute(
        """
        CREATE CONSTRAINT TRIGGER end_connection AFTER INSERT ON notes
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()
        """)
    }
    let tries = Lock(0)
    await #expect(throws: StoreError(.unknown, "")) {
      try await store.write(isolation: .rowLocks) { transaction in
        tries.withLock { $0 += 1 }
        try transaction.pipeline([PipelinedStatement(insertion, try texts("a"))], commits: true)
      }
    }
    #expect(tries.withLock(\.self) == 1)
    await store.close()
  }

  /// Where a statement has failed before the COMMIT, the closure runs again.
  @Test(arguments: [false, true]) func aConnectionLostEarlierIsTriedAgain(_ isCommitting: Bool)
    async throws
  {
    let store = try await databases.make().open()
    let tries = Lock(0)
    try await store.write(isolation: .rowLocks) { transaction in
      let isFirst = tries.withLock { number in
        number += 1
        return number == 1
      }
      var statements = [PipelinedStatement(insertion, try texts("a"))]
      if isFirst {
        statements.append(PipelinedStatement("SELECT pg_terminate_backend(pg_backend_pid())"))
      }
      if isCommitting {
        try transaction.pipeline(statements, commits: true)
      } else {
        try transaction.pipeline(statements)
      }
    }
    #expect(tries.withLock(\.self) == 2)
    #expect(try await store.read { try count($0) } == 1)
    await store.close()
  }
}
