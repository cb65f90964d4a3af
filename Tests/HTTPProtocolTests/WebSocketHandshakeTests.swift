internal import HTTPProtocol
internal import Testing

struct WebSocketHandshakeTests {
  static let key = Array("dGhlIHNhbXBsZSBub25jZQ==".utf8)

  /// The hash of the example in RFC 6455 section 1.3; the library's SHA-1 is not this module's.
  private func sha1(_ bytes: [UInt8]) -> [UInt8] {
    #expect(bytes == Self.key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
    return [
      0xb3, 0x7a, 0x4f, 0x2c, 0xc0, 0x62, 0x4f, 0x16, 0x90, 0xf6, 0x46, 0x06, 0xcf, 0x38, 0x59,
      0x45, 0xb2, 0xbe, 0xc4, 0xea,
    ]
  }

  private static let good = [
    "Upgrade": "websocket", "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
  ]

  private func check(
    _ changes: [String: String?], line: String = "GET /chat HTTP/1.1", more: String = ""
  ) throws -> (status: UInt16, fields: HeaderFields) {
    var fields: [String: String?] = Self.good
    fields.merge(changes) { $1 }
    let lines = fields.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.joined()
    switch WebSocketHandshake.check(try head("\(line)\r\nHost: a\r\n\(lines)\(more)\r\n")) {
    case .accept(let key):
      #expect(key == Self.key)
      return (101, HeaderFields())
    case .refuse(let response): return (response.status.code, response.fields)
    }
  }

  @Test(
    arguments: [
      ([:], 101), (["Connection": "keep-alive, Upgrade"], 101),
      (["Upgrade": "WebSocket", "Connection": "uPgRaDe"], 101),
      (["Sec-WebSocket-Extensions": "x-nonsense"], 101),
      (["Sec-WebSocket-Key": nil], 400), (["Sec-WebSocket-Key": "AAAA"], 400),
      (["Sec-WebSocket-Key": "!!!!not-base64-at-all!=="], 400), (["Sec-WebSocket-Key": ""], 400),
      (["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQA="], 400),
      (["Sec-WebSocket-Version": "8"], 426), (["Sec-WebSocket-Version": nil], 426),
      (["Sec-WebSocket-Version": "13, 8"], 426), (["Upgrade": nil], 426), (["Upgrade": "h2c"], 426),
      (["Connection": nil], 426),
    ] as [([String: String?], UInt16)])
  func checksRequests(changes: [String: String?], status: UInt16) throws {
    let response = try check(changes)
    #expect(response.status == status)
    if status == 426 {
      #expect(response.fields.first(.secWebSocketVersion) == "13")
      #expect(response.fields.first(.upgrade) == "websocket")
    }
  }

  @Test func refusesOtherRequests() throws {
    #expect(try check([:], line: "GET / HTTP/1.0").status == 400)
    #expect(try check([:], line: "POST / HTTP/1.1", more: "Content-Length: 0\r\n").status == 400)
    #expect(try check([:], more: "Content-Length: 3\r\n").status == 400)
    #expect(try check([:], more: "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n").status == 400)
    #expect(try check([:], more: "Sec-WebSocket-Version: 13\r\n").status == 426)
  }

  @Test func responds() {
    #expect(
      WebSocketHandshake.accept(key: Self.key, sha1: sha1) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    let response = WebSocketHandshake.response(key: Self.key, subprotocol: "chat", sha1: sha1)
    #expect(response.status == .switchingProtocols)
    #expect(response.fields.first(.secWebSocketAccept) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    #expect(response.fields.first(.secWebSocketProtocol) == "chat")
    #expect(response.fields.first(.upgrade) == "websocket")
  }

  @Test func asksAndTakesTheResponse() throws {
    var fields = HeaderFields()
    fields.append(.secWebSocketProtocol, "chat")
    let handshake = WebSocketClientHandshake(
      host: "a:1", target: "/ws?x", nonce: Array("the sample nonce".utf8), fields: fields,
      subprotocols: ["chat"])
    let head = try head(String(decoding: handshake.request, as: UTF8.self))
    #expect(head.host == "a" && head.query?.text == "x")
    guard case .accept(let key) = WebSocketHandshake.check(head) else {
      Issue.record("refused")
      return
    }
    #expect(key == Self.key)
    var response: [UInt8] = []
    WebSocketHandshake.response(key: key, subprotocol: "chat", sha1: sha1)
      .serializeHead(into: &response, date: [], keepAlive: true, version10: false, headOnly: false)
    let length = response.count
    response += [0x89, 0]
    for count in 0...response.count {
      #expect(
        verdict(on: Array(response[..<count]), by: handshake)
          == (count < length ? .incomplete : .accepted(frames: Array(response[length..<count]))))
    }
    // Byte by byte.
    var patient = handshake
    for (index, byte) in response[..<length].enumerated() {
      #expect(
        patient.received([byte].span.bytes, sha1: sha1)
          == (index + 1 < length ? .incomplete : .accepted(frames: [])))
    }
    // Nothing was offered.
    #expect(verdict(on: response, by: Self.plainHandshake) == .invalid)
  }

  private static let plainHandshake = WebSocketClientHandshake(
    host: "a", target: "/", nonce: Array("the sample nonce".utf8))

  private func verdict(
    on response: [UInt8], by handshake: WebSocketClientHandshake
  ) -> WebSocketClientHandshake.Outcome {
    var handshake = handshake
    return handshake.received(response.span.bytes, sha1: sha1)
  }

  @Test func sendsFurtherFields() {
    var fields = HeaderFields()
    fields.append(.authorization, "Bearer t")
    let handshake = WebSocketClientHandshake(
      host: "h:8080", target: "/x?q", nonce: Array("the sample nonce".utf8), fields: fields)
    let text = String(decoding: handshake.request, as: UTF8.self)
    #expect(text.hasPrefix("GET /x?q HTTP/1.1\r\nHost: h:8080\r\n"))
    #expect(text.hasSuffix("Authorization: Bearer t\r\n\r\n"))
  }

  private static let accepting =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

  @Test(
    arguments: [
      ("HTTP/1.1 404 Not Found\r\n\r\n", .refused(.notFound)),
      ("HTTP/1.1 503\r\n\r\n", .refused(.serviceUnavailable)),
      ("HTTP/1.1 101 \r\n\(accepting)\r\nab", .accepted(frames: [0x61, 0x62])),
      ("HTTP/1.1 101 X\r\n\(accepting)Sec-WebSocket-Extensions: x\r\n\r\n", .invalid),
      ("HTTP/1.1 101 X\r\n\(accepting)Upgrade: websocket\r\n\r\n", .invalid),
      ("HTTP/1.1 101 X\r\n\(accepting)Sec-WebSocket-Accept: x\r\n\r\n", .invalid),
      ("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", .invalid),
      ("HTTP/1.1 101 X\r\n\(accepting)Bad Name: x\r\n\r\n", .invalid),
      ("HTTP/1.1 101 X\r\n\(accepting)\n\r\n", .invalid), ("HTTP/1.1 101\n\r\n", .invalid),
      ("HTTP/1.0 101 X\r\n\(accepting)\r\n", .invalid), ("HTTP/1.1 0x1 X\r\n\r\n", .invalid),
      ("HTTP/1.1 101X\r\n\(accepting)\r\n", .invalid), ("\r\n\r\n", .invalid),
      (String(repeating: "x", count: 16384), .invalid), ("HTTP/1.1 1", .incomplete),
      ("SSH-2.0-OpenSSH\r\n\r\n", .invalid),
    ] as [(String, WebSocketClientHandshake.Outcome)])
  func checksResponses(text: String, expected: WebSocketClientHandshake.Outcome) {
    #expect(verdict(on: Array(text.utf8), by: Self.plainHandshake) == expected)
  }
}
