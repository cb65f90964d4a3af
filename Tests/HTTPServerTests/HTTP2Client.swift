internal import CNghttp2
internal import HTTPServer
internal import TestSupport
internal import Testing

/// A frame of HTTP/2 (RFC 9113 section 4.1).
struct HTTP2Frame: Equatable {
  enum Kind: UInt8 {
    case data, headers, priority, reset, settings, push, ping, goaway, windowUpdate, continuation
    case unknown = 0xbb
  }

  var kind: Kind
  var flags: UInt8 = 0
  var stream: UInt32 = 0
  var payload: [UInt8] = []

  static let endStream: UInt8 = 1
  static let acknowledges: UInt8 = 1
  static let endHeaders: UInt8 = 4

  var bytes: [UInt8] {
    bigEndian(UInt32(payload.count)).dropFirst() + [kind.rawValue, flags] + bigEndian(stream)
      + payload
  }

  /// The 32-bit number at a place of the payload.
  func number(at offset: Int) -> UInt32 {
    payload.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
}

func bigEndian(_ value: UInt32) -> [UInt8] {
  (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
}

/// An HTTP/2 client whose frames are made by hand, so that it can misbehave; only what it gets is decompressed by
/// nghttp2.
final class HTTP2Client {
  /// The frames that have come on a stream.
  struct ReceivedResponse {
    var fields: [(name: String, value: String)] = []
    var interim: [String] = []
    var body: [UInt8] = []
    var isWhole = false
    var resetCode: UInt32?

    var status: String? { self[":status"] }
    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
  }

  let client: Client
  private let inflater: OpaquePointer
  private(set) var responses: [UInt32: ReceivedResponse] = [:]
  /// Last stream and code of the GOAWAYs that came.
  private(set) var goaways: [(last: UInt32, code: UInt32)] = []
  /// The server's first SETTINGS.
  private(set) var settings: [UInt32: UInt32] = [:]
  /// Whether room is made for as much data as comes.
  var opensWindow = true
  /// Whether pings are acknowledged.
  var acknowledgesPings = true

  /// - Parameters:
  ///   - window: the number of bytes that a stream may get before it is given more room.
  ///   - receiveBuffer: the size of the kernel's receive buffer, for a slow reader.
  init(_ server: TestServer, window: UInt32? = nil, receiveBuffer: Int32? = nil) throws {
    client = try server.connectTLS(
      TLSOptions(protocols: ["h2", "http/1.1"]), receiveBuffer: receiveBuffer)
    var inflater: OpaquePointer?
    nghttp2_hd_inflate_new(&inflater)
    self.inflater = try #require(inflater)
    guard client.agreedProtocol == "h2" else { throw ClientError.malformed("no h2") }
    try client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    let window = window.map { [0, 4] + bigEndian($0) } ?? []
    try send(HTTP2Frame(kind: .settings, payload: window))
  }

  deinit { nghttp2_hd_inflate_del(inflater) }

  // MARK: - Sending

  func send(_ frames: HTTP2Frame...) throws { try client.send(frames.flatMap(\.bytes)) }

  /// Asks; without `ends` a body follows.
  func ask(
    _ stream: UInt32, _ path: String, method: String = "GET",
    fields: [(String, String)] = [], ends: Bool = true
  ) throws {
    try send(
      HTTP2Frame(
        kind: .headers, flags: HTTP2Frame.endHeaders | (ends ? HTTP2Frame.endStream : 0),
        stream: stream,
        payload: HTTP2Client.block(HTTP2Client.request(path, method: method) + fields)))
  }

  func sendBody(_ stream: UInt32, _ body: [UInt8], ends: Bool = true) throws {
    try send(
      HTTP2Frame(
        kind: .data, flags: ends ? HTTP2Frame.endStream : 0, stream: stream, payload: body))
  }

  static func request(_ path: String, method: String = "GET") -> [(String, String)] {
    [(":method", method), (":scheme", "https"), (":path", path), (":authority", "t")]
  }

  /// A header block of literals without indexing (RFC 7541 section 6.2.2).
  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { name, value in [0] + text(name) + text(value) }
  }

  private static func text(_ text: String) -> [UInt8] {
    var length = text.utf8.count
    guard length >= 127 else { return [UInt8(length)] + text.utf8 }
    var bytes: [UInt8] = [127]
    length -= 127
    while length >= 128 {
      bytes.append(UInt8(length & 127) | 128)
      length >>= 7
    }
    return bytes + [UInt8(length)] + text.utf8
  }

  // MARK: - Reading

  func readFrame() throws -> HTTP2Frame {
    let head = try client.read(9)
    let count = head[..<3].reduce(0) { $0 << 8 | Int($1) }
    let kind = try #require(HTTP2Frame.Kind(rawValue: head[3]))
    let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
    return HTTP2Frame(
      kind: kind, flags: head[4], stream: stream, payload: try client.read(count))
  }

  /// Reads a frame and takes note of it.
  @discardableResult
  func step() throws -> HTTP2Frame {
    let frame = try readFrame()
    let isEnd = frame.flags & HTTP2Frame.endStream != 0
    switch frame.kind {
    case .headers:
      #expect(frame.flags & HTTP2Frame.endHeaders != 0)
      let fields = try inflate(frame.payload)
      if let status = fields.first?.value, status.hasPrefix("1") {
        responses[frame.stream, default: ReceivedResponse()].interim.append(status)
      } else {
        responses[frame.stream, default: ReceivedResponse()].fields = fields
      }
      responses[frame.stream]?.isWhole = isEnd
    case .data:
      responses[frame.stream]?.body += frame.payload
      responses[frame.stream]?.isWhole = isEnd
      if opensWindow, !frame.payload.isEmpty {
        let room = bigEndian(UInt32(frame.payload.count))
        try send(HTTP2Frame(kind: .windowUpdate, payload: room))
        if !isEnd {
          try send(HTTP2Frame(kind: .windowUpdate, stream: frame.stream, payload: room))
        }
      }
    case .reset:
      responses[frame.stream, default: ReceivedResponse()].resetCode = frame.number(at: 0)
    case .settings where frame.flags & HTTP2Frame.acknowledges == 0:
      for offset in stride(from: 0, to: frame.payload.count, by: 6) {
        settings[UInt32(frame.payload[offset + 1])] = frame.number(at: offset + 2)
      }
      try send(HTTP2Frame(kind: .settings, flags: HTTP2Frame.acknowledges))
    case .ping where acknowledgesPings && frame.flags & HTTP2Frame.acknowledges == 0:
      try send(HTTP2Frame(kind: .ping, flags: HTTP2Frame.acknowledges, payload: frame.payload))
    case .goaway: goaways.append((frame.number(at: 0), frame.number(at: 4)))
    default: break
    }
    return frame
  }

  /// Reads until a stream's response has ended, one way or the other.
  func response(_ stream: UInt32) throws -> ReceivedResponse {
    while true {
      if let response = responses[stream], response.isWhole || response.resetCode != nil {
        return response
      }
      try step()
    }
  }

  /// Reads until the connection ends.
  func readToEnd() throws {
    do {
      while true { try step() }
    } catch ClientError.ended {}
  }

  private func inflate(_ block: [UInt8]) throws -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    var offset = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let taken = block[offset...].withUnsafeBufferPointer {
        nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
      }
      guard taken >= 0 else { throw ClientError.malformed("header block") }
      offset += Int(taken)
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
        let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
        let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
        fields.append(
          (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
      }
    }
  }
}
