// Measures the messages of the store alone. 64 tasks write the rows that Msgr writes for each message,
// and each awaits that they are durable before it writes the next, without HTTP, passwords or look-ups.
//
//     message-benchmark SECONDS RECIPIENTS
//
// It prints messages per second, and the median and the 99th percentile of the wait in milliseconds.
internal import Glibc
internal import Msgr
internal import Storage
internal import Platform

let tasks = 64
let seconds = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 4
let recipients = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 4096
let week: Int64 = 7 * 86_400_000

func temporaryFolder() -> String {
  let template =
    (getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp") + "/awd-messages-XXXXXX"
  var path = Array(template.utf8CString)
  return mkdtemp(&path).map { String(cString: $0) } ?? "."
}

func digits(_ number: Int, _ count: Int) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: count - text.utf8.count) + text
}

/// Writes the rows of a message: the recipient's counts and last identifier, the message, and its push.
@Sendable func insert(_ number: Int, _ transaction: borrowing Transaction) throws {
  let now = Timestamp.now().milliseconds
  let recipient = "user\(number % recipients)"
  try transaction.execute(
    """
    UPDATE msgr_users SET messages = messages + 1, unread = unread + 1,
      last_id = CASE WHEN last_id < ?1 THEN ?1 ELSE last_id + 1 END
    WHERE username = ?2
    """, now << 16, recipient)
  let id: Int64 =
    try transaction.one("SELECT last_id FROM msgr_users WHERE username = ?", recipient) {
      try $0[0]
    } ?? 0
  let text = "Hello there, this is message number \(number)."
  try transaction.execute(
    """
    INSERT INTO msgr_messages (id, recipient, sender, text, sent_at, is_add_request)
    VALUES (?, ?, ?, ?, ?, 0)
    """, id, recipient, "user\(number % tasks)", text, now)
  try transaction.execute(
    """
    INSERT INTO push_outbox (
      service, device, account, kind, address, push_id, content, urgency, position, created_at,
      expires_at, due_at, is_next)
    VALUES ('msgr', ?1, ?2, 0, ?1, ?3, ?4, 1, ?5, ?6, ?7, ?6,
      CASE WHEN EXISTS (
        SELECT 1 FROM push_outbox WHERE service = 'msgr' AND device = ?1) THEN 0 ELSE 1 END)
    """, Array(digits(number % recipients, 64).utf8), Array(recipient.utf8),
    "9c1185a5-c5e9-4f61-8f3e-0123456789ab",
    Array(
      #"{"Id":"\#(digits(Int(id), 16))","Badge":1,"UserFrom":"user\#(number % tasks)","Message":"\#(text)"}"#
        .utf8), id, now, now + week)
}

let folder = temporaryFolder()
let store = try await Store.open(
  .file(folder + "/benchmark.sqlite3"), migrations: MsgrService.migrations)
try await store.write { transaction in
  for number in 0..<recipients {
    try transaction.execute(
      "INSERT INTO msgr_users (username, password, created_at) VALUES (?, '', 0)", "user\(number)")
    try transaction.execute(
      "INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, 0)",
      digits(number, 64), "user\(number)")
  }
}
let (start, before) = (ContinuousClock.now, clock())
let end = start + .seconds(seconds)
let waits = try await withThrowingTaskGroup(of: [Double].self) { group in
  for task in 0..<tasks {
    group.addTask {
      var waits: [Double] = []
      var number = task
      while ContinuousClock.now < end {
        let begin = ContinuousClock.now
        let message = number
        try await store.write { try insert(message, $0) }
        waits.append((ContinuousClock.now - begin) / .milliseconds(1))
        number += tasks
      }
      return waits
    }
  }
  var all: [Double] = []
  while let waits = try await group.next() { all += waits }
  return all.sorted()
}
let took = (ContinuousClock.now - start) / .seconds(1)
let cost = Double(clock() - before) / Double(CLOCKS_PER_SEC) * 1e6 / Double(waits.count)
await store.close()
for suffix in ["", "-wal", "-shm"] { unlink(folder + "/benchmark.sqlite3" + suffix) }
rmdir(folder)
print(Double(waits.count) / took, waits[waits.count / 2], waits[waits.count * 99 / 100], cost)
