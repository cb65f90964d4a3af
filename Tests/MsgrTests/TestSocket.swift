internal import Foundation
internal import HTTPProtocol

/// The client's end of a WebSocket over a blocking socket; nothing is awaited longer than a minute.
final class TestSocket: @unchecked Sendable {
  // Safe to share: each test uses its own, from one task at a time.
  private let descriptor: Int32
  private var decoder = WebSocketDecoder(role: .client, maximumMessage: 1 << 20)
  private var input: [UInt8] = []
  /// Whether pings are answered.
  var answersPings = true
  /// The status of the answer to the handshake.
  private(set) var status = 0
  private(set) var refusal = ""

  struct Failure: Error {
    let message: String
  }

  enum Event: Equatable {
    case text(String)
    case closed(UInt16?)
    /// The connection ended without a close frame.
    case ended
  }

  init(port: UInt16, target: String, token: String?) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(message: "no connection: \(errno)") }
    var fields = HeaderFields()
    if let token { fields.append(.authorization, "Bearer \(token)") }
    let handshake = WebSocketClientHandshake(
      host: "127.0.0.1:\(port)", target: target, nonce: Array(0..<16), fields: fields)
    try write(handshake.request)
    while true {
      if let end = input.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        status = Int(head.split(separator: " ")[1]) ?? 0
        input.removeSubrange(..<end.upperBound)
        if status != 101 { refusal = String(decoding: input, as: UTF8.self) }
        return
      }
      guard try read() else { throw Failure(message: "no answer") }
    }
  }

  deinit { close(descriptor) }

  private func write(_ bytes: [UInt8]) throws {
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    else { throw Failure(message: "can't write") }
  }

  /// False at the end.
  private func read() throws -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    var count = recv(descriptor, &buffer, buffer.count, 0)
    // With a time-out, a wait that the process was stopped in is not taken up again by itself.
    while count < 0, errno == EINTR { count = recv(descriptor, &buffer, buffer.count, 0) }
    guard count >= 0 else {
      if errno == ECONNRESET { return false }
      throw Failure(message: "nothing came: \(errno)")
    }
    input += buffer.prefix(count)
    return count > 0
  }

  private func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) throws {
    var frame: [UInt8] = []
    WebSocketFrame.append(opcode, payload, mask: 0x1234_5678, to: &frame)
    try write(frame)
  }

  func send(_ text: String) throws { try send(.text, Array(text.utf8)) }
  func sendBinary(_ bytes: [UInt8]) throws { try send(.binary, bytes) }

  func sendClose(_ code: UInt16) throws {
    var frame: [UInt8] = []
    WebSocketFrame.append(
      .close, WebSocketFrame.closePayload(code), mask: 1, to: &frame)
    try write(frame)
  }

  /// Ends the connection without a word, as a phone in a tunnel.
  func cut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// The next message or the end; pings are answered in between.
  func next() async throws -> Event {
    // Not on a thread that others' tasks need.
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try self.awaitNext() }) }
    }
  }

  private func awaitNext() throws -> Event {
    while true {
      var offset = 0
      let event = input.withUnsafeBytes { decoder.next($0.bytes, from: &offset) }
      input.removeFirst(offset)
      switch event {
      case .message(.text(let text)): return .text(String(decoding: text, as: UTF8.self))
      case .message(.binary): throw Failure(message: "binary")
      case .ping(let payload): if answersPings { try send(.pong, payload) }
      case .pong: continue
      case .close(let code, _): return .closed(code)
      case .violation(let code): throw Failure(message: "violation \(code)")
      case nil:
        guard try read() else { return .ended }
      }
    }
  }

  /// The next message, decoded.
  func nextObject() async throws -> [String: Any] {
    guard case .text(let text) = try await next() else { throw Failure(message: "it ended") }
    return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }
}
