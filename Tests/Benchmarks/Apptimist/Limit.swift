internal import Cryptography
internal import Glibc
internal import Storage
internal import Platform

/// The rate that no server of this kind could exceed on one core with one message of each pair on the way: the
/// work that each message needs and nothing else. With more on the way one call carries several.
struct Limit {
  /// The time to open the header's box and to seal one, in seconds.
  let boxes: Double
  /// The time for a durable row of one message's size, written by one of 64 tasks that each await their
  /// row, in seconds.
  let row: Double
  /// The processor time of two receives and two sends through TCP on loopback, in seconds.
  let sockets: Double

  var rate: Double { 1 / (boxes + row + sockets) }

  static func measure() async throws -> Limit {
    Limit(boxes: try boxes(), row: try await row(), sockets: try sockets())
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

  /// Measures the processor time of what a server calls for a message: it is received from one connection
  /// and sent to another, whose reader's answer is received and answered to the sender.
  ///
  /// The other ends are a thread's. What the kernel does for both ends within the server's calls counts.
  private static func sockets() throws -> Double {
    let rounds = 50_000
    let (sender, reader) = (try connected(), try connected())
    defer { for descriptor in [sender.server, reader.server] { close(descriptor) } }
    let clients = try WorkerThread(named: "clients") {
      var bytes = [UInt8](repeating: 7, count: message)
      for _ in 0..<rounds {
        send(sender.client, bytes, message, 0)
        recv(reader.client, &bytes, message, Int32(MSG_WAITALL))
        send(reader.client, bytes, answer, 0)
        recv(sender.client, &bytes, answer, Int32(MSG_WAITALL))
      }
      for descriptor in [sender.client, reader.client] { close(descriptor) }
    }
    var bytes = [UInt8](repeating: 7, count: message)
    let start = threadTime()
    for _ in 0..<rounds {
      recv(sender.server, &bytes, message, Int32(MSG_WAITALL))
      send(reader.server, bytes, message, 0)
      recv(reader.server, &bytes, answer, Int32(MSG_WAITALL))
      send(sender.server, bytes, answer, 0)
    }
    let time = threadTime() - start
    clients.join()
    return time / Double(rounds)
  }

  /// The bytes of a message of one kilobyte on the wire, and of an answer.
  private static let (message, answer) = (1164, 64)

  /// Makes a connection through TCP on loopback, and gives both ends.
  private static func connected() throws -> (client: Int32, server: Int32) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        // The system chooses the port.
        bind(listener, pointer, size) == 0 && listen(listener, 1) == 0
          && getsockname(listener, pointer, &size) == 0 && connect(client, pointer, size) == 0
      }
    }
    let server = accept(listener, nil, nil)
    guard isConnected, server >= 0 else { throw LoadError("no connection on loopback") }
    for descriptor in [client, server] {
      var on: Int32 = 1
      setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }
    return (client, server)
  }

  /// The processor time that this thread has used, in seconds.
  private static func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
