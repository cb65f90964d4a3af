internal import Fuzzing
internal import HTTPProtocol

/// Fuzzes the WebSocket decoder in both roles: however the bytes are cut, it gives the same events; and a message that is
/// sent to it as frames comes out again.
///
/// The first two bytes choose the cuts, the rest is the stream.
@main enum WebSocketFuzzer: Fuzzer {
  static let maximumLength = 9000

  static func test(_ input: [UInt8]) {
    let bytes = Array(input.dropFirst(2))
    let choice = Int(input.first ?? 0)
    let first = bytes.count * choice / 256
    let second = first + (bytes.count - first) * Int(input.dropFirst().first ?? 0) / 256
    for role in [WebSocketDecoder.Role.server, .client] {
      let whole = events(bytes, role: role, cuts: [])
      precondition(events(bytes, role: role, cuts: [first]) == whole)
      precondition(events(bytes, role: role, cuts: [first, second]) == whole)
      if bytes.count < 512 {
        precondition(events(bytes, role: role, cuts: Array(bytes.indices)) == whole)
      }
    }
    var handshake = WebSocketClientHandshake(host: "h", target: "/", nonce: [])
    if case .accepted(let frames) = handshake.received(bytes.span.bytes, sha1: { _ in [] }) {
      precondition(bytes.suffix(frames.count).elementsEqual(frames))
    }
    if bytes.count <= maximumMessage {
      checkRoundTrip(bytes, pieces: 1 + choice % 8, mask: nil)
      checkRoundTrip(bytes, pieces: 1 + choice % 8, mask: 0x1234_5678 &* UInt32(choice + 1))
    }
  }
}

private let maximumMessage = 4096

private func events(
  _ bytes: [UInt8], role: WebSocketDecoder.Role, cuts: [Int]
) -> [WebSocketDecoder.Event] {
  var decoder = WebSocketDecoder(role: role, maximumMessage: maximumMessage)
  var events: [WebSocketDecoder.Event] = []
  var start = 0
  for end in cuts + [bytes.count] {
    let piece = Array(bytes[start..<end])
    start = end
    var offset = 0
    while let event = decoder.next(piece.span.bytes, from: &offset) {
      precondition(offset <= piece.count)
      check(event)
      events.append(event)
    }
    precondition(offset == piece.count)
  }
  return events
}

/// Checks the limits that every event keeps.
private func check(_ event: WebSocketDecoder.Event) {
  switch event {
  case .message(.text(let text)):
    precondition(text.count <= maximumMessage && String(validating: text, as: UTF8.self) != nil)
  case .message(.binary(let bytes)): precondition(bytes.count <= maximumMessage)
  case .ping(let bytes), .pong(let bytes): precondition(bytes.count <= 125)
  case .close(let code, let reason):
    precondition(String(validating: reason, as: UTF8.self) != nil)
    precondition(code != 1005 && code != 1006 && reason.count <= 123)
  case .violation(let code): precondition([1002, 1007, 1008, 1009].contains(code))
  }
}

/// Sends bytes as a fragmented message with pings between, and expects them back.
private func checkRoundTrip(_ bytes: [UInt8], pieces: Int, mask: UInt32?) {
  let size = max(1, bytes.count / pieces)
  var stream: [UInt8] = []
  var pings = 0
  var start = 0
  repeat {
    let end = min(start + size, bytes.count)
    WebSocketFrame.append(
      start == 0 ? .binary : .continuation, bytes[start..<end], isFinal: end == bytes.count,
      mask: mask, to: &stream)
    start = end
    if start < bytes.count {
      WebSocketFrame.append(.ping, bytes.prefix(125), mask: mask, to: &stream)
      pings += 1
    }
  } while start < bytes.count
  let expected =
    Array(repeating: WebSocketDecoder.Event.ping(Array(bytes.prefix(125))), count: pings)
    + [.message(.binary(bytes))]
  precondition(events(stream, role: mask == nil ? .client : .server, cuts: []) == expected)
}
