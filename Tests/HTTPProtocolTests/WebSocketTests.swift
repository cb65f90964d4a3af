internal import TestSupport
internal import Testing

@testable import HTTPProtocol

/// Feeds bytes cut at the given positions; all of them must be taken.
private func events(
  _ bytes: [UInt8], role: WebSocketDecoder.Role = .server, cuts: [Int] = [], maximum: Int = 1 << 20
) -> [WebSocketDecoder.Event] {
  var decoder = WebSocketDecoder(role: role, maximumMessage: maximum)
  var events: [WebSocketDecoder.Event] = []
  var start = 0
  for end in cuts + [bytes.count] {
    let piece = Array(bytes[start..<end])
    start = end
    var offset = 0
    while let event = decoder.next(piece.span.bytes, from: &offset) { events.append(event) }
    #expect(offset == piece.count)
  }
  return events
}

/// The bytes in which a frame gives a length behind its second byte.
private func lengthBytes(for length: UInt64) -> Int {
  switch length {
  case ..<126: 0
  case ..<65536: 2
  default: 8
  }
}

/// The length in a frame's second byte, which says how many bytes of it follow.
private func shortLength(_ length: UInt64, form: Int) -> UInt8 {
  switch form {
  case 0: UInt8(length)
  case 2: 126
  default: 127
  }
}

/// A masked frame with any first byte, and any length and form of the length.
private func frame(
  _ first: UInt8, _ payload: [UInt8] = [], length: UInt64? = nil, form: Int? = nil
) -> [UInt8] {
  let length = length ?? UInt64(payload.count)
  let form = form ?? lengthBytes(for: length)
  var bytes: [UInt8] = [first, 0x80 | shortLength(length, form: form)]
  for shift in (0..<form).reversed() {
    bytes.append(UInt8(truncatingIfNeeded: length >> (8 * shift)))
  }
  let key: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]
  return bytes + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
}

private let hello = Array("Hello".utf8)

struct WebSocketDecoderTests {
  @Test func tellsHowFarAMessageIs() {
    var decoder = WebSocketDecoder(role: .server, maximumMessage: 100)
    func take(_ bytes: [UInt8]) -> Int? {
      var offset = 0
      while decoder.next(bytes.span.bytes, from: &offset) != nil {}
      return decoder.unfinishedCount
    }
    #expect(take([]) == nil)
    #expect(take(Array(frame(0x89, hello).dropLast())) == nil)
    #expect(take(Array(frame(0x89, hello).suffix(1))) == nil)
    #expect(take([0x02]) == 0)
    #expect(take(Array(frame(0x02, hello).dropFirst())) == 5)
    #expect(take(frame(0x89, hello)) == 5)
    #expect(take(Array(frame(0x80, hello).dropLast())) == 9)
    #expect(take(Array(frame(0x80, hello).suffix(1))) == nil)
    #expect(take([0x82, 0x80, 0, 0, 0]) == 0)
    #expect(take([0]) == nil)
  }

  /// The examples of RFC 6455 section 5.7.
  @Test func readsTheExamples() {
    #expect(
      events([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], role: .client)
        == [.message(.text(hello))])
    #expect(
      events([0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
        == [.message(.text(hello))])
    #expect(
      events([0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f], role: .client)
        == [.message(.text(hello))])
    #expect(events([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], role: .client) == [.ping(hello)])
    #expect(
      events([0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]) == [.pong(hello)])
    for (header, count) in [
      ([0x82, 0x7e, 1, 0] as [UInt8], 256), ([0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0], 65536),
    ] {
      let payload = [UInt8](repeating: 7, count: count)
      #expect(events(header + payload, role: .client) == [.message(.binary(payload))])
    }
  }

  static let violations: [(bytes: [UInt8], code: UInt16)] =
    (1...7).map { (frame(0x82 | $0 << 4, hello), 1002) }
    + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { (frame(0x80 | $0), 1002) }
    + [
      ([0x81, 0x00], 1002), ([0x89, 0x00], 1002), ([0x88, 0x00], 1002),  // not masked
      (frame(0x89, [UInt8](repeating: 0, count: 126)), 1002), (frame(0x8a, length: 65536), 1002),
      (frame(0x09, hello), 1002), (frame(0x0a), 1002), (frame(0x08), 1002),
      (frame(0x80, hello), 1002), (frame(0x00, hello), 1002),
      (frame(0x02) + frame(0x82), 1002), (frame(0x02) + frame(0x01), 1002),
      (frame(0x82, length: 1 << 63 | 5), 1002), (frame(0x82, length: 1 << 62), 1009),
      (frame(0x82, length: 1 << 20 | 1), 1009), (frame(0x82, length: 125, form: 2), 1002),
      (frame(0x82, length: 65535, form: 8), 1002),
      (frame(0x02, [1]) + frame(0x80, length: 1 << 20), 1009),
      (frame(0x88, [3]), 1002), (frame(0x88, [3, 232, 0xff]), 1007),
      (frame(0x88, [3, 232, 0xe2, 0x82]), 1007),
    ]
    + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535].map {
      (frame(0x88, [UInt8($0 >> 8), UInt8($0 & 255)]), 1002)
    }
    + [
      [0x80], [0xbf], [0xc0, 0xaf], [0xc1, 0xbf], [0xe0, 0x80, 0xaf], [0xe0, 0x9f, 0xbf],
      [0xf0, 0x80, 0x80, 0xaf], [0xf0, 0x8f, 0xbf, 0xbf], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
      [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xf8, 0x88], [0xfe], [0xff],
      [0x61, 0x62, 0x63, 0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98],
      Array("12345678".utf8) + [0xc3, 0x28],
    ].map { (frame(0x81, $0), 1007) }

  @Test(arguments: violations)
  func refuses(bytes: [UInt8], code: UInt16) {
    let after = bytes + frame(0x89, hello)
    #expect(events(after) == [.violation(code)])
    #expect(events(after, cuts: Array(after.indices)) == [.violation(code)])
  }

  /// Bad text is found at the first byte that no valid text has there, even before the frame ends.
  @Test(
    arguments: [[0xf4, 0x90], [0xed, 0xa0], [0xc0], [0x61, 0xff], [0xe0, 0x9f]] as [[UInt8]])
  func failsFast(text: [UInt8]) {
    let bytes = frame(0x01, text + Array("and so on".utf8))
    let end = 6 + text.count
    #expect(events(Array(bytes[..<(end - 1)])) == [])
    #expect(events(Array(bytes[..<end])) == [.violation(1007)])
    #expect(
      events(frame(0x01, Array(text.dropLast())) + frame(0x00, text.suffix(1))).last
        == .violation(1007))
  }

  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999] as [UInt16])
  func readsCloses(code: UInt16) {
    let body = [UInt8(code >> 8), UInt8(code & 255)] + Array("ä".utf8)
    #expect(
      events(frame(0x02, hello) + frame(0x88, body) + frame(0x89))
        == [.close(code, reason: Array("ä".utf8))])
    #expect(events(frame(0x88) + frame(0x88)) == [.close(nil, reason: [])])
  }

  @Test func controlsComeAmidMessages() {
    let bytes =
      frame(0x01, [0xe2]) + frame(0x89, [0xff]) + frame(0x00) + frame(0x8a)
      + frame(0x80, [0x82, 0xac])
      + frame(0x81) + frame(0x82)
    let expected: [WebSocketDecoder.Event] = [
      .ping([0xff]), .pong([]), .message(.text(Array("€".utf8))), .message(.text([])),
      .message(.binary([])),
    ]
    #expect(events(bytes) == expected)
    #expect(events(bytes, cuts: Array(bytes.indices)) == expected)
  }

  @Test func limitsTheMessage() {
    #expect(events(frame(0x82, hello), maximum: 5) == [.message(.binary(hello))])
    #expect(events(frame(0x82, hello), maximum: 4) == [.violation(1009)])
    #expect(events(frame(0x02, hello) + frame(0x80), maximum: 5) == [.message(.binary(hello))])
    #expect(events(frame(0x02, hello) + frame(0x80, [1]), maximum: 5) == [.violation(1009)])
    #expect(events(frame(0x89, hello), maximum: 0) == [.ping(hello)])
  }

  @Test func isSmall() {
    #expect(MemoryLayout<WebSocketDecoder>.size <= 64)
  }

  /// Random messages in random fragments, masks and cuts come out as they went in.
  @Test(arguments: [WebSocketDecoder.Role.server, .client], TestSeeds.random(1))
  func roundTrips(role: WebSocketDecoder.Role, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      var bytes: [UInt8] = []
      var expected: [WebSocketDecoder.Event] = []
      func mask() -> UInt32? { role == .server ? .random(in: 0 ... .max, using: &generator) : nil }
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let isText = Bool.random(using: &generator)
        let text = String(
          (0..<Int.random(in: 0...200, using: &generator)).map { _ in
            "aé€😀".randomElement(using: &generator) ?? "a"
          })
        let payload =
          isText
          ? Array(text.utf8)
          : (0..<[0, 1, 125, 126, 127, 65535, 65536].randomElement(using: &generator)!).map { _ in
            UInt8.random(in: 0 ... .max, using: &generator)
          }
        var rest = payload[...]
        var opcode: WebSocketFrame.Opcode = isText ? .text : .binary
        repeat {
          let piece = rest.prefix(Int.random(in: 0...max(rest.count, 1), using: &generator))
          rest = rest.dropFirst(piece.count)
          WebSocketFrame.append(opcode, piece, isFinal: rest.isEmpty, mask: mask(), to: &bytes)
          opcode = .continuation
          if !rest.isEmpty, Bool.random(using: &generator) {
            WebSocketFrame.append(.ping, hello, mask: mask(), to: &bytes)
            expected.append(.ping(hello))
          }
        } while !rest.isEmpty
        expected.append(.message(isText ? .text(payload) : .binary(payload)))
      }
      WebSocketFrame.append(
        .close, WebSocketFrame.closePayload(1001, reason: "bye"), mask: mask(), to: &bytes)
      expected.append(.close(1001, reason: Array("bye".utf8)))
      let cuts = (0..<5).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
      #expect(events(bytes, role: role, cuts: cuts) == expected)
    }
  }

  /// The validator against the standard library, on every string of up to three bytes of a kind.
  @Test func validatesAsTheLibraryDoes() {
    let kinds: [UInt8] = [
      0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed,
      0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5,
    ]
    for a in kinds {
      for b in kinds {
        for c in kinds {
          for d in [0x00, 0x7f, 0x80, 0xbf, 0xc2] as [UInt8] {
            let bytes = [a, b, c, d]
            var validator = UTF8Validator()
            let isValid = bytes.withUnsafeBytes { validator.accept($0) } && validator.isComplete
            #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil))
          }
        }
      }
    }
  }
}

struct WebSocketFrameTests {
  @Test func writesTheExamples() {
    var bytes: [UInt8] = []
    WebSocketFrame.append(.text, hello, mask: nil, to: &bytes)
    #expect(bytes == [0x81, 0x05] + hello)
    bytes = []
    WebSocketFrame.append(.text, hello, mask: 0x37fa_213d, to: &bytes)
    #expect(bytes == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
    bytes = []
    WebSocketFrame.append(.binary, [UInt8](repeating: 0, count: 256), mask: nil, to: &bytes)
    #expect(bytes.prefix(4) == [0x82, 0x7e, 1, 0] && bytes.count == 260)
    bytes = []
    WebSocketFrame.append(.binary, [UInt8](repeating: 0, count: 65536), mask: nil, to: &bytes)
    #expect(bytes.prefix(10) == [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0] && bytes.count == 65546)
    bytes = []
    WebSocketFrame.append(
      .ping, [UInt8](repeating: 0, count: 200), isFinal: false, mask: nil, to: &bytes)
    #expect(bytes.prefix(2) == [0x89, 125] && bytes.count == 127)
  }

  @Test func writesCloses() {
    func close(_ code: UInt16?, _ reason: String = "") -> [UInt8] {
      var bytes: [UInt8] = []
      WebSocketFrame.append(
        .close, WebSocketFrame.closePayload(code, reason: reason), mask: nil, to: &bytes)
      return bytes
    }
    #expect(close(nil, "x") == [0x88, 0])
    #expect(close(1005) == [0x88, 0] && close(1006) == [0x88, 0])
    #expect(close(1000, "hi") == [0x88, 4, 3, 232, 0x68, 0x69])
    let long = close(1000, String(repeating: "€", count: 100))
    #expect(long.count == 2 + 2 + 123)
    #expect(
      events(long, role: .client) == [
        .close(1000, reason: Array(String(repeating: "€", count: 41).utf8))
      ])
  }
}
