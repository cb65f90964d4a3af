internal import TestSupport
internal import Testing

@testable import Storage

/// Adds to the sum of a key, and tells the sum.
private enum Addition: BatchOperation {
  struct Input: Sendable {
    let key: String
    let number: Int64
  }

  struct Negative: Error {}

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Int64 {
    guard input.number >= 0 else { throw Negative() }
    return try transaction.one(
      """
      INSERT INTO sums VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET n = sums.n + excluded.n
      RETURNING n
      """, input.key, input.number
    ) { try $0[0] } ?? -1
  }

  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Int64, any Error>] {
    let keys = Array(Set(inputs.map(\.key))).sorted()
    var parameters = PostgreSQLParameters()
    try parameters.append(texts: keys)
    var sums: [String: Int64] = [:]
    try transaction.pipeline([
      PipelinedStatement(
        "INSERT INTO sums SELECT k, 0 FROM unnest(?) k ON CONFLICT DO NOTHING", parameters),
      PipelinedStatement(
        "SELECT key, n FROM sums WHERE key = ANY (?) ORDER BY key FOR UPDATE", parameters
      ) { row in sums[try row[0]] = try row[1] },
    ])
    let outcomes: [Result<Int64, any Error>] = inputs.map { input in
      guard input.number >= 0 else { return .failure(Negative()) }
      let sum = sums[input.key, default: 0] + input.number
      sums[input.key] = sum
      return .success(sum)
    }
    try parameters.append(integers: keys.map { sums[$0] })
    try transaction.pipeline(
      [
        PipelinedStatement(
          "UPDATE sums SET n = s.n FROM unnest(?, ?) AS s (key, n) WHERE sums.key = s.key",
          parameters)
      ], commits: true)
    return outcomes
  }

  static let schema = Migration(
    owner: "sums", number: 1,
    sqlite:
      "CREATE TABLE sums (key TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 1000000)) STRICT",
    postgreSQL: """
      CREATE TABLE sums (
        key text COLLATE "C" PRIMARY KEY, n bigint NOT NULL CHECK (n < 1000000)
      );
      """)
}

/// Operations that many ask for alike.
@Suite(.ownThreads) struct LaneTests {
  private let databases = TestDatabases()

  private func store(_ engine: Engine, lanes: Int = 2) async throws -> Store {
    try await databases.make(engine).open(
      [Addition.schema], StoreConfiguration(lanes: lanes, busyTimeout: .seconds(30)))
  }

  @Test(arguments: Engine.tested) func eachHasItsOwnOutcome(_ engine: Engine) async throws {
    let store = try await store(engine)
    let totals = try await withThrowingTaskGroup(of: (Int, Int64).self) { group in
      for number in 0..<600 {
        group.addTask {
          let input = Addition.Input(key: "key \(number % 3)", number: 1)
          return (number % 3, try await store.perform(input, by: Addition.self))
        }
      }
      return try await group.reduce(into: [[Int64]](repeating: [], count: 3)) {
        $0[$1.0].append($1.1)
      }
    }
    for key in 0..<3 {
      // Each has seen a sum of its own.
      #expect(totals[key].sorted() == Array(1...200))
    }
    await store.close()
    await #expect(throws: StoreError(.closed, "")) {
      try await store.perform(Addition.Input(key: "a", number: 1), by: Addition.self)
    }
  }

  @Test(arguments: Engine.tested) func whatFailsFailsAlone(_ engine: Engine) async throws {
    let store = try await store(engine, lanes: 1)
    let gate = ThreadGate()
    try await store.write { try $0.execute("INSERT INTO sums VALUES ('held', 0)") }
    let held = Task {
      try await store.write(isolation: .rowLocks) { transaction in
        try transaction.execute("UPDATE sums SET n = 1 WHERE key = 'held'")
        gate.pass()
      }
    }
    try await gate.waitUntilReached()
    func add(_ key: String, _ number: Int64) -> Task<Int64, any Error> {
      Task { try await store.perform(Addition.Input(key: key, number: number), by: Addition.self) }
    }
    let first = add("held", 1)
    let refused = add("a", -1)
    let impossible = add("b", 2_000_000)
    let invalid = add("a\u{0}b", 1)
    let others = (0..<40).map { add("\($0)", 1) }
    if engine == .postgreSQL {
      // They don't wait for the one whose row is locked, nor does the next one.
      for other in others { #expect(try await other.value == 1) }
      let start = ContinuousClock.now
      for number in 0..<10 { _ = try await add("later \(number)", 1).value }
      #expect(ContinuousClock.now - start < .seconds(2))
    }
    gate.open()
    try await held.value
    #expect(try await first.value == 2)
    for other in others { #expect(try await other.value == 1) }
    await #expect(throws: Addition.Negative.self) { try await refused.value }
    await #expect(throws: StoreError(.constraint(.check), "")) { try await impossible.value }
    await #expect(throws: StoreError(.constraint(.other), "")) { try await invalid.value }
    await store.close()
  }
}
