internal import COpenSSL
internal import Cryptography
internal import HTTPProtocol

/// The client's side of a WebSocket (RFC 6455) without I/O: the handshake, frames, pings and the close.
///
/// Bytes and the clock go in; events come out, and bytes to be written gather in ``output``.
struct WebSocketMachine {
  enum Event: Equatable {
    /// The handshake is done.
    case opened
    /// A whole message came.
    case message(WebSocketMessage)
    /// Nothing more comes; what stands in `output` is still to be written.
    case ended(WebSocketEnd)
  }

  private enum Phase {
    case handshake
    case open
    /// Our close frame is on its way; the server's is awaited until then.
    case closing(UInt64)
    case over
  }

  /// What is to be written; whoever writes it takes it out.
  var output: [UInt8] = []

  private var phase = Phase.handshake
  private let key: [UInt8]
  /// The server's answer as far as it has come.
  private var answer: [UInt8] = []
  private var decoder: WebSocketDecoder
  private let pingInterval: UInt64
  private let closeTimeout: UInt64
  /// When the server was last heard of, in milliseconds.
  private var lastHeard: UInt64
  /// How many pings were sent since.
  private var pings: UInt64 = 0

  /// A machine whose output begins with the request.
  ///
  /// - Parameters:
  ///   - url: what is asked for.
  ///   - fields: further fields of the request.
  ///   - options: times and limits.
  ///   - now: the clock, in milliseconds.
  init(_ url: WebSocketURL, fields: HeaderFields, _ options: WebSocketOptions, now: UInt64) {
    let request = WebSocketHandshake.request(
      host: url.authority, target: url.target, nonce: SecureRandom.bytes(16), fields: fields)
    output = request.bytes
    key = request.key
    decoder = WebSocketDecoder(role: .client, maximumMessage: options.maximumMessage)
    pingInterval = options.pingInterval.inMilliseconds
    closeTimeout = options.closeTimeout.inMilliseconds
    lastHeard = now
  }

  // MARK: - Input

  /// Takes bytes of the server.
  ///
  /// - Parameters:
  ///   - bytes: what came.
  ///   - now: the clock, in milliseconds.
  /// - Returns: what they amount to, in order.
  mutating func received(_ bytes: [UInt8], now: UInt64) -> [Event] {
    lastHeard = now
    pings = 0
    switch phase {
    case .handshake: return takeAnswer(bytes)
    case .open, .closing: return decode(bytes[...])
    case .over: return []
    }
  }

  private mutating func takeAnswer(_ bytes: [UInt8]) -> [Event] {
    answer += bytes
    switch WebSocketHandshake.checkAnswer(answer, key: key, sha1: Self.sha1) {
    case .incomplete: return []
    case .accepted(let length):
      phase = .open
      let frames = answer[length...]
      answer = []
      return [.opened] + decode(frames)
    case .refused(let status):
      return [fail(.refused(status), "the server answered with status \(status.code)")]
    case .invalid: return [fail(.malformed, "the server's answer is no WebSocket handshake")]
    }
  }

  private mutating func decode(_ bytes: ArraySlice<UInt8>) -> [Event] {
    var events: [Event] = []
    var offset = 0
    while let event = unsafe decoder.next(bytes.span.bytes, from: &offset) {
      switch event {
      case .message(let message):
        if case .open = phase { events.append(.message(message)) }
      case .ping(let payload): WebSocketFrame.append(.pong, payload, mask: Self.mask, to: &output)
      case .pong: break
      case .close(let code, let reason):
        if case .open = phase {
          WebSocketFrame.appendClose(code, mask: Self.mask, to: &output)
        }
        phase = .over
        let reason = String(decoding: reason, as: UTF8.self)
        events.append(.ended(.closed(code ?? 1005, reason: reason)))
      case .violation(let code):
        if case .open = phase {
          WebSocketFrame.appendClose(code, mask: Self.mask, to: &output)
        }
        events.append(
          code == 1009
            ? fail(.tooLarge, "a message is longer than it may be")
            : fail(.malformed, "the server broke the WebSocket protocol (\(code))"))
      }
    }
    return events
  }

  /// Takes the end of the connection.
  ///
  /// - Returns: the end of the WebSocket, unless it came before.
  mutating func disconnected() -> Event? {
    if case .over = phase { return nil }
    phase = .over
    return .ended(.failed(.disconnected))
  }

  private mutating func fail(_ code: WebSocketError.Code, _ message: String) -> Event {
    phase = .over
    return .ended(.failed(WebSocketError(code, message)))
  }

  // MARK: - Output

  /// Sends a message; before the handshake is done and once the close has begun, nothing.
  mutating func send(_ message: WebSocketMessage) {
    guard case .open = phase else { return }
    switch message {
    case .text(let bytes): WebSocketFrame.append(.text, bytes, mask: Self.mask, to: &output)
    case .binary(let bytes): WebSocketFrame.append(.binary, bytes, mask: Self.mask, to: &output)
    }
  }

  /// Begins the close handshake.
  ///
  /// - Parameters:
  ///   - code: a code that may stand in a close frame.
  ///   - reason: at most 123 bytes of text.
  ///   - now: the clock, in milliseconds.
  mutating func close(_ code: UInt16, reason: String, now: UInt64) {
    guard case .open = phase else { return }
    WebSocketFrame.appendClose(code, reason: reason, mask: Self.mask, to: &output)
    phase = .closing(now + closeTimeout)
  }

  // MARK: - Time

  /// Takes the time: pings a silent server, and gives up on one that stays silent.
  ///
  /// - Parameters:
  ///   - now: the clock, in milliseconds.
  ///   - isReading: whether the socket is read; if not, the server's silence is ours.
  /// - Returns: the end of the WebSocket, if this is it.
  mutating func tick(now: UInt64, isReading: Bool) -> Event? {
    switch phase {
    case .handshake, .over: return nil
    case .closing(let deadline):
      guard now > deadline else { return nil }
      return fail(.timedOut, "the server did not answer the close frame")
    case .open:
      guard isReading else {
        lastHeard = now
        return nil
      }
      let intervals = (now - lastHeard) / pingInterval
      guard intervals <= 2 else {
        return fail(.timedOut, "the server does not answer pings any more")
      }
      if intervals > pings {
        pings = intervals
        WebSocketFrame.append(.ping, [], mask: Self.mask, to: &output)
      }
      return nil
    }
  }

  /// A fresh key for a frame (RFC 6455 section 5.3).
  private static var mask: UInt32 { .random(in: .min ... .max) }

  private static func sha1(_ bytes: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
      var length: UInt32 = 0
      unsafe EVP_Digest(bytes, bytes.count, digest.baseAddress, &length, EVP_sha1(), nil)
      count = Int(length)
    }
  }
}

extension Duration {
  /// The whole milliseconds, at least one; more than a century is one.
  var inMilliseconds: UInt64 {
    let seconds = min(components.seconds, 100 * 366 * 86_400)
    return UInt64(max(1, seconds * 1000 + components.attoseconds / 1_000_000_000_000_000))
  }
}
