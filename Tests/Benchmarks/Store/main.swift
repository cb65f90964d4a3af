// Compares group commit with larger transactions: single awaited writes from 64 tasks, each durable before the
// task's next, against transactions that hold the same rows.
//
//     store-benchmark [ROWS]
internal import Glibc
internal import Storage

let tasks = 64
let rows = (CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 64_000) / tasks * tasks
let rounds = 5

func temporaryFolder() -> String {
  let template = (getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp") + "/awd-store-XXXXXX"
  var path = Array(template.utf8CString)
  return mkdtemp(&path).map { String(cString: $0) } ?? "."
}

/// Runs `body` on a fresh store and returns the rows per second.
func measure(_ body: (Store) async throws -> Void) async throws -> Double {
  let folder = temporaryFolder()
  let store = try await Store.open(
    .file(folder + "/benchmark.sqlite3"),
    migrations: [
      Migration(
        owner: "benchmark", number: 1,
        sql: """
          CREATE TABLE message (
            id INTEGER PRIMARY KEY, recipient INTEGER NOT NULL, body TEXT NOT NULL
          ) STRICT;
          CREATE INDEX message_by_recipient ON message (recipient, id);
          """)
    ])
  let start = ContinuousClock.now
  try await body(store)
  let seconds = (ContinuousClock.now - start) / .seconds(1)
  await store.close()
  for suffix in ["", "-wal", "-shm"] { unlink(folder + "/benchmark.sqlite3" + suffix) }
  rmdir(folder)
  return Double(rows) / seconds
}

let text = String(repeating: "a message of about a thousand bytes; ", count: 27)

@Sendable func insert(_ recipient: Int, _ transaction: borrowing Transaction) throws {
  try transaction.execute("INSERT INTO message (recipient, body) VALUES (?, ?)", recipient, text)
}

/// Writes rows from 64 tasks, each of which waits for its row before it writes the next.
func writeSingly(to store: Store) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for task in 0..<tasks {
      group.addTask {
        for _ in 0..<(rows / tasks) { try await store.write { try insert(task, $0) } }
      }
    }
    try await group.waitForAll()
  }
}

/// Writes as many rows as there are tasks in each transaction, one transaction after the other.
func writeGrouped(to store: Store) async throws {
  for _ in 0..<(rows / tasks) {
    try await store.write { transaction in
      for task in 0..<tasks { try insert(task, transaction) }
    }
  }
}

/// Writes all rows in one transaction.
func writeAtOnce(to store: Store) async throws {
  try await store.write { transaction in
    for row in 0..<rows { try insert(row % tasks, transaction) }
  }
}

var rates: [(single: Double, grouped: Double, whole: Double)] = []
for _ in 0..<rounds {
  rates.append(
    (
      try await measure(writeSingly), try await measure(writeGrouped),
      try await measure(writeAtOnce)
    ))
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
func column(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
func row(_ name: String, _ values: [Double], of single: [Double]) {
  let share = median(zip(single, values).map { $0 / $1 })
  let sorted = values.sorted()
  let spread = (sorted[sorted.count - 1] - sorted[0]) / median(values)
  print(
    name + column("\(Int(median(values)))", 70 - name.count)
      + column("\(Int((spread * 100).rounded())) %", 8)
      + column("\(Int((share * 100).rounded())) %", 10))
}

print(
  "\(rows) rows, median of \(rounds) rounds" + column("rows/s", 40) + column("spread", 8)
    + column("reached", 10))
let single = rates.map(\.single)
row("64 tasks, each row awaited and durable before the next", single, of: single)
row("one awaited transaction for each 64 of the same rows", rates.map(\.grouped), of: single)
row("one transaction of all rows, one fsync", rates.map(\.whole), of: single)
