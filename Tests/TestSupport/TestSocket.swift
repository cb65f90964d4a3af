internal import Foundation
package import HTTPProtocol

/// The client's end of a WebSocket over a blocking socket.
package final class TestSocket: @unchecked Sendable {
  // Safe to share: each test uses its own, from one task at a time.
  private let descriptor = Loopback.socket()
  private var decoder = WebSocketDecoder(role: .client, maximumMessage: 8 << 20)
  private var input: [UInt8] = []
  /// Whether pings get pongs.
  package var repliesToPings = true
  /// The head of the response to the handshake.
  package private(set) var head = ""
  /// The status of the response to the handshake.
  package private(set) var status = 0
  /// The body of a response that refuses the handshake.
  package private(set) var refusal = ""
  /// Every frame that was sent, as it went out.
  package private(set) var recorded: [UInt8] = []

  /// The error of a socket that cannot go on.
  package struct Failure: Error {
    let message: String
  }

  /// A message or an end.
  package enum Event: Equatable, Sendable {
    /// A text message.
    case text(String)
    /// A binary message.
    case binary([UInt8])
    /// A close frame with its code.
    case closed(UInt16?)
    /// The connection ended without a close frame.
    case ended
  }

  /// Connects to 127.0.0.1 and sends a handshake.
  ///
  /// - Parameters:
  ///   - port: the server's port.
  ///   - target: path and query.
  ///   - token: a bearer token to authorize with.
  ///   - more: further fields.
  ///   - subprotocols: the subprotocols among them that the server may choose.
  package init(
    port: UInt16, target: String, token: String? = nil, fields more: HeaderFields = HeaderFields(),
    subprotocols: [String] = []
  ) throws {
    var limit = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard Loopback.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
      throw Failure(message: "no connection: \(errno)")
    }
    var fields = HeaderFields()
    if let token { fields.append(.authorization, "Bearer \(token)") }
    fields.append(contentsOf: more)
    let handshake = WebSocketClientHandshake(
      host: "127.0.0.1:\(port)", target: target, nonce: Array(0..<16), fields: fields,
      subprotocols: subprotocols)
    try write(handshake.request)
    while true {
      if let end = input.firstRange(of: Array("\r\n\r\n".utf8)) {
        head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        status = Int(head.split(separator: " ")[1]) ?? 0
        input.removeSubrange(..<end.upperBound)
        if status != 101 { refusal = String(decoding: input, as: UTF8.self) }
        return
      }
      guard try read() else { throw Failure(message: "no response") }
    }
  }

  deinit { close(descriptor) }

  /// Sends bytes as they are.
  package func write(_ bytes: [UInt8]) throws {
    guard Loopback.send(bytes, on: descriptor) else {
      throw Failure(message: "can't write: \(errno)")
    }
  }

  /// Reads what has come.
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

  /// Sends a frame.
  package func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) throws {
    var frame: [UInt8] = []
    WebSocketFrame.append(opcode, payload, mask: 0x1234_5678, to: &frame)
    recorded += frame
    try write(frame)
  }

  /// Sends a text message.
  package func send(_ text: String) throws { try send(.text, Array(text.utf8)) }

  /// Sends a close frame.
  package func sendClose(_ code: UInt16) throws {
    var frame: [UInt8] = []
    WebSocketFrame.append(.close, WebSocketFrame.closePayload(code), mask: 1, to: &frame)
    try write(frame)
  }

  /// Ends the connection without a word, as a phone in a tunnel.
  package func cut() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Waits for the next message or the end, at most 2 minutes; pings get pongs in between.
  package func next() async throws -> Event {
    // Not on a thread that others' tasks need.
    try await onThread { try self.nextEvent() }
  }

  /// Waits for the next message or the end, as ``next()``, and blocks the thread.
  package func nextEvent() throws -> Event {
    while true {
      var offset = 0
      let event = input.withUnsafeBytes { decoder.next($0.bytes, from: &offset) }
      input.removeFirst(offset)
      switch event {
      case .message(.text(let text)): return .text(String(decoding: text, as: UTF8.self))
      case .message(.binary(let bytes)): return .binary(bytes)
      case .ping(let payload): if repliesToPings { try send(.pong, payload) }
      case .pong: continue
      case .close(let code, _): return .closed(code)
      case .violation(let code): throw Failure(message: "violation \(code)")
      case nil:
        guard try read() else { return .ended }
      }
    }
  }

  /// Waits for the next message, a JSON object.
  package func nextObject() async throws -> [String: Any] {
    guard case .text(let text) = try await next() else { throw Failure(message: "no text") }
    return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }
}
