internal import Glibc
internal import Synchronization
internal import SystemCalls
internal import Threading

/// Listens on 127.0.0.1 and gives each connection a thread that runs a script.
///
/// It listens until the process ends: a test that has taken its URL may be done with the object before it is asked.
final class RawServer: Sendable {
  let port: UInt16
  private let listener: Int32
  private let accepted = Atomic<Int>(0)

  /// How many connections have come.
  var connections: Int { accepted.load(ordering: .relaxed) }

  /// - Parameter script: is given each connection, which is closed when it returns.
  init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutableBytes(of: &address) { bytes in
      guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else {
        return false
      }
      return bind(listener, address, length) == 0 && listen(listener, 16) == 0
        && getsockname(listener, address, &length) == 0
    }
    guard bound else { throw Failure() }
    port = UInt16(bigEndian: address.sin_port)
    _ = try WorkerThread(named: "test") { [self] in
      // Closed by the thread that accepts: its number may be another's socket as soon as it is closed.
      defer { close(listener) }
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        accepted.add(1, ordering: .relaxed)
        _ = try? WorkerThread(named: "test") {
          script(RawConnection(socket: socket))
          close(socket)
        }
      }
    }
  }

  /// Takes no further connection.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// A server that reads one request's head and answers with the given bytes.
  static func answering(_ text: String) throws -> RawServer {
    try RawServer { connection in
      _ = connection.readHead()
      connection.write(text)
    }
  }

  var url: String { "http://127.0.0.1:\(port)/" }

  struct Failure: Error {}
}

struct RawConnection: Sendable {
  let socket: Int32

  /// What comes up to an empty line, or to the end.
  func readHead() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(socket, &byte, 1) == 1 {
      bytes.append(byte)
      if bytes.suffix(4) == [13, 10, 13, 10] { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits for the other side's end.
  func waitForEnd() {
    var byte: UInt8 = 0
    while read(socket, &byte, 1) == 1 {}
  }

  /// - Returns: whether the other side still takes it.
  @discardableResult
  func write(_ text: String) -> Bool {
    var rest = ArraySlice(text.utf8)
    while !rest.isEmpty {
      let sent = Array(rest).withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { return false }
      rest.removeFirst(sent)
    }
    return true
  }
}
