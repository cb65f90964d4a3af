internal import COpenSSL
internal import Glibc

/// The reason for which a test client could not go on.
enum ClientError: Error, Equatable {
  case cannotConnect(Int32)
  /// The server reset the connection, or nobody reads any more.
  case reset
  /// The connection ended amid a response or frame.
  case ended
  /// Nothing came for a minute.
  case timedOut
  case malformed(String)
  case failed(Int32)
  /// TLS can't be spoken; OpenSSL's reason.
  case noTLS(Int32)
}

/// A response as it came.
struct ReceivedResponse: Equatable {
  var status: Int
  var fields: [String: String]
  var body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A blocking socket, with nothing of the engine in it.
final class Client {
  private(set) var descriptor: Int32
  private var input: [UInt8] = []
  /// OpenSSL's connection, once TLS is spoken.
  private(set) var tls: OpaquePointer?

  /// Connects to a port of 127.0.0.1.
  ///
  /// - Parameters:
  ///   - source: the last byte of the client's own address, 127.0.0.1 or another one.
  ///   - receiveBuffer: the size of the kernel's receive buffer, for a slow reader.
  init(port: UInt16, source: UInt8 = 1, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: 60, tv_usec: 0))
    set(SOL_SOCKET, SO_SNDTIMEO, timeval(tv_sec: 60, tv_usec: 0))
    set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = (0x7f00_0000 | UInt32(source)).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeBytes(of: &address) {
      $0.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, size) }
    }
    guard bound == 0 else { throw ClientError.cannotConnect(errno) }
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    try connect(&address)
  }

  /// Connects to a Unix socket.
  init(path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: 60, tv_usec: 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    try connect(&address)
  }

  deinit {
    close()
    SSL_free(tls)
  }

  /// Begins to speak TLS.
  func startTLS(_ connection: OpaquePointer) throws {
    tls = connection
    SSL_set_fd(connection, descriptor)
    ERR_clear_error()
    guard SSL_connect(connection) == 1 else {
      throw ClientError.noTLS(Int32(ERR_peek_error() & 0x7f_ffff))
    }
  }

  private func connect<Address>(_ address: inout Address) throws {
    let length = socklen_t(MemoryLayout<Address>.size)
    let result = withUnsafeBytes(of: &address) { bytes in
      Glibc.connect(
        descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
    }
    guard result == 0 else { throw ClientError.cannotConnect(errno) }
  }

  private func set<Value: BitwiseCopyable>(_ level: Int32, _ name: Int32, _ value: Value) {
    withUnsafeBytes(of: value) { bytes in
      _ = setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
    }
  }

  // MARK: - Sending

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    var offset = 0
    while offset < bytes.count {
      let sent = bytes[offset...].withUnsafeBytes {
        if let tls { return Int(SSL_write(tls, $0.baseAddress, Int32(min($0.count, 65536)))) }
        return Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { throw error() }
      offset += sent
    }
  }

  /// Sends what the kernel takes at once.
  func sendWithoutWaiting(_ bytes: [UInt8]) throws -> Int {
    let sent = Glibc.send(
      descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if sent < 0, errno == EAGAIN { return 0 }
    guard sent >= 0 else { throw error() }
    return sent
  }

  func get(_ target: String, _ fields: String...) throws {
    try send(
      (["GET \(target) HTTP/1.1", "Host: t"] + fields + ["", ""]).joined(separator: "\r\n"))
  }

  /// Sends a request with a body, and `Content-Length` if it is not empty.
  func post(_ target: String, _ fields: String..., body: [UInt8] = []) throws {
    var lines = ["POST \(target) HTTP/1.1", "Host: t"] + fields
    if !body.isEmpty { lines.append("Content-Length: \(body.count)") }
    try send(Array((lines + ["", ""]).joined(separator: "\r\n").utf8) + body)
  }

  /// Closes TLS for writing, in one segment with a closure's output.
  func endTLS(after body: () throws -> Void) rethrows {
    set(Int32(IPPROTO_TCP), TCP_CORK, Int32(1))
    try body()
    SSL_shutdown(tls)
    set(Int32(IPPROTO_TCP), TCP_CORK, Int32(0))
  }

  func shutdownWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  func close() {
    guard descriptor >= 0 else { return }
    Glibc.close(descriptor)
    descriptor = -1
  }

  /// Closes with a reset.
  func reset() {
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    close()
  }

  private func error() -> ClientError {
    switch errno {
    case ECONNRESET, EPIPE: .reset
    case EAGAIN: .timedOut
    case let code: .failed(code)
    }
  }

  // MARK: - Reading

  /// Whether there is something to read, or the end.
  func hasInput(withinMilliseconds limit: Int32) throws -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, limit) > 0
  }

  /// Reads what has come, if anything, and drops it.
  ///
  /// - Returns: whether the connection goes on.
  func readWhatIsThere() throws -> Bool {
    while try hasInput(withinMilliseconds: 0) { guard try fill() else { return false } }
    input = []
    return true
  }

  /// Reads once.
  ///
  /// - Returns: whether there was something, as opposed to the end.
  private func fill() throws -> Bool {
    var room = [UInt8](repeating: 0, count: 65536)
    if let tls {
      errno = 0
      var count = SSL_read(tls, &room, Int32(room.count))
      while count <= 0, errno == EINTR {
        errno = 0
        count = SSL_read(tls, &room, Int32(room.count))
      }
      if count > 0 { input += room[..<Int(count)] }
      if count <= 0, SSL_get_error(tls, count) == SSL_ERROR_SYSCALL { throw error() }
      return count > 0
    }
    var count = recv(descriptor, &room, room.count, 0)
    // With a time-out, a wait that the process was stopped in is not taken up again by itself.
    while count < 0, errno == EINTR { count = recv(descriptor, &room, room.count, 0) }
    guard count >= 0 else { throw error() }
    input += room[..<count]
    return count > 0
  }

  /// The next bytes of the stream.
  func read(_ count: Int) throws -> [UInt8] {
    while input.count < count { guard try fill() else { throw ClientError.ended } }
    defer { input.removeFirst(count) }
    return Array(input[..<count])
  }

  /// All bytes until the server ends its side.
  func readToEnd() throws -> [UInt8] {
    while try fill() {}
    defer { input = [] }
    return input
  }

  /// The status line and the fields of the next response, interim ones included.
  func readHead() throws -> ReceivedResponse {
    var searched = 0
    while true {
      if let end = headEnd(from: searched) { return try ReceivedResponse(head: read(end)) }
      searched = max(0, input.count - 3)
      guard try fill() else { throw ClientError.ended }
    }
  }

  private func headEnd(from start: Int) -> Int? {
    guard input.count >= 4 else { return nil }
    for index in start..<input.count - 3
    where input[index] == 13 && input[index + 1] == 10 && input[index + 2] == 13
      && input[index + 3] == 10
    {
      return index + 4
    }
    return nil
  }

  /// The next response with its body.
  func readResponse(headOnly: Bool = false) throws -> ReceivedResponse {
    var response = try readHead()
    guard !headOnly, let length = response.fields["content-length"] else { return response }
    guard let count = Int(length) else { throw ClientError.malformed("Content-Length") }
    response.body = try read(count)
    return response
  }

  /// Reads until the connection ends.
  ///
  /// - Returns: whether it ended with a reset.
  func endsWithReset() throws -> Bool {
    do {
      _ = try readToEnd()
      return false
    } catch ClientError.reset {
      return true
    }
  }
}

extension ReceivedResponse {
  fileprivate init(head: [UInt8]) throws {
    let lines = String(decoding: head.dropLast(4), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ")
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
      throw ClientError.malformed(String(lines[0]))
    }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), line[colon...].hasPrefix(": ") else {
        throw ClientError.malformed(String(line))
      }
      let name = line[..<colon].lowercased()
      guard fields[name] == nil else { throw ClientError.malformed("\(name) twice") }
      fields[name] = String(line[colon...].dropFirst(2))
    }
    self.init(status: status, fields: fields, body: [])
  }
}
