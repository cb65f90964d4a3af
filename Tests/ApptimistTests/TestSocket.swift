internal import Foundation
internal import HTTPProtocol

/// The client's end of a WebSocket over a blocking socket; nothing is awaited longer than 2 minutes.
final class TestSocket: @unchecked Sendable {
  // Safe to share: each test uses its own, from one task at a time.
  private let descriptor: Int32
  private var decoder = WebSocketDecoder(role: .client, maximumMessage: 8 << 20)
  private var input: [UInt8] = []
  private var isShut = false
  /// The status of the response to the handshake.
  private(set) var status = 0
  private(set) var head = ""
  /// All frames that were sent, as they went out.
  private(set) var recorded: [UInt8] = []

  struct Failure: Error {
    let message: String
  }

  enum Event: Equatable {
    case message([UInt8])
    case closed(UInt16?)
    /// The connection ended without a close frame.
    case ended
  }

  init(port: UInt16, target: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var limit = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(message: "no connection: \(errno)") }
    let request = WebSocketHandshake.request(
      host: "127.0.0.1:\(port)", target: target, nonce: Array(0..<16))
    try write(request.bytes)
    while true {
      if let end = input.firstRange(of: Array("\r\n\r\n".utf8)) {
        head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        status = Int(head.split(separator: " ")[1]) ?? 0
        input.removeSubrange(..<end.upperBound)
        return
      }
      guard try read() else { throw Failure(message: "no answer") }
    }
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(message: "can't write: \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads some bytes.
  ///
  /// - Returns: false at the end.
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

  func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) throws {
    var frame: [UInt8] = []
    WebSocketFrame.append(opcode, payload, mask: 0x1234_5678, to: &frame)
    recorded += frame
    try write(frame)
  }

  func sendClose(_ code: UInt16) throws {
    var frame: [UInt8] = []
    WebSocketFrame.appendClose(code, mask: 1, to: &frame)
    try write(frame)
  }

  /// Ends the connection without a close frame, as a phone in a tunnel does.
  func cut() {
    guard !isShut else { return }
    isShut = true
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Waits for the next message or the end, and replies to pings.
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
      case .message(.binary(let message)): return .message(message)
      case .message(.text): throw Failure(message: "text")
      case .ping(let payload): try send(.pong, payload)
      case .pong: continue
      case .close(let code, _): return .closed(code)
      case .violation(let code): throw Failure(message: "violation \(code)")
      case nil:
        guard try read() else { return .ended }
      }
    }
  }
}
