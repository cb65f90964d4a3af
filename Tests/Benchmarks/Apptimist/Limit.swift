internal import Cryptography
internal import Glibc
internal import Storage

/// The rate that no server of this kind could exceed on one core: the work that each message needs and
/// nothing else.
struct Limit {
  /// The time to open the header's box and to seal one, in seconds.
  let boxes: Double
  /// The time for a durable row of one message's size, written by one of 64 tasks that each await their
  /// row, in seconds.
  let row: Double
  /// The time of four system calls that pass a message of one kilobyte through a socket twice, in
  /// seconds.
  let sockets: Double

  var rate: Double { 1 / (boxes + row + sockets) }

  static func measure() async throws -> Limit {
    Limit(boxes: try boxes(), row: try await row(), sockets: sockets())
  }

  private static func boxes() throws -> Double {
    let own = EncryptionKeyPair.generate(for: .session)
    guard let key = BoxKey(own: own, peer: EncryptionKeyPair.generate(for: .session).publicKey)
    else { throw LoadError("no key") }
    let nonce = BoxNonce()
    let box = key.seal([UInt8](repeating: 1, count: 106), nonce: nonce)
    let start = nanoseconds()
    let rounds = 100_000
    for _ in 0..<rounds {
      guard let header = key.open(box, nonce: nonce), key.seal(header, nonce: nonce) == box else {
        throw LoadError("a box doesn't open")
      }
    }
    return Double(nanoseconds() - start) / 1e9 / Double(rounds)
  }

  private static func row() async throws -> Double {
    var folder = Array(
      ((getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp") + "/awd-limit-XXXXXX")
        .utf8CString)
    let path = mkdtemp(&folder).map { String(cString: $0) } ?? "."
    let store = try await Store.open(
      .file(path + "/limit.sqlite3"),
      migrations: [
        Migration(
          owner: "limit", number: 1,
          sql: "CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;")
      ])
    let body = [UInt8](repeating: 7, count: 106 + 1024)
    let (tasks, each) = (64, 500)
    let start = nanoseconds()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<tasks {
        group.addTask {
          for _ in 0..<each {
            try await store.write {
              try $0.execute("INSERT INTO message (body) VALUES (?)", body)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let seconds = Double(nanoseconds() - start) / 1e9
    await store.close()
    for suffix in ["", "-wal", "-shm"] { unlink(path + "/limit.sqlite3" + suffix) }
    rmdir(path)
    return seconds / Double(tasks * each)
  }

  private static func sockets() -> Double {
    var pair: [Int32] = [0, 0]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
    defer { for descriptor in pair { close(descriptor) } }
    var message = [UInt8](repeating: 7, count: 1164)
    let start = nanoseconds()
    let rounds = 100_000
    for _ in 0..<rounds {
      write(pair[0], message, message.count)
      read(pair[1], &message, message.count)
      write(pair[1], message, message.count)
      read(pair[0], &message, message.count)
    }
    return Double(nanoseconds() - start) / 1e9 / Double(rounds)
  }
}
