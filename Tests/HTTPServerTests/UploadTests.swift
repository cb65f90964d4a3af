internal import Formats
internal import HTTPProtocol
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import HTTPServer

/// Bodies that are handled while they come.
@Suite struct UploadTests {
  /// Counts a body's bytes once a gate is open.
  private static func plan(_ gate: Gate) -> @Sendable (String, RequestHead) -> RequestPlan {
    { _, _ in
      .upload(bodyLimit: 4 << 20) { _, body in
        await gate.wait()
        var count = 0
        do {
          while let piece = try await body.next() { count += piece.count }
        } catch { return Response(.badRequest) }
        return Response(.ok, type: "text/plain", text: "\(count)")
      }
    }
  }

  /// Sends a body in frames, as far as the server's windows let it.
  private struct Sender {
    let client: HTTP2Client
    let stream: UInt32
    var streamRoom = 65_535
    var connectionRoom = 65_535
    var sent = 0

    /// Sends what there is room for, and takes note of more room before that.
    mutating func send(upTo total: Int) throws {
      try client.send(HTTP2Frame(kind: .ping, payload: Array(repeating: 1, count: 8)))
      while true {
        let frame = try client.step()
        if frame.kind == .ping, frame.flags & HTTP2Frame.acknowledges != 0 { break }
        if frame.kind == .settings, let window = client.settings[4], frame.flags == 0 {
          streamRoom += Int(window) - 65_535
        }
        guard frame.kind == .windowUpdate else { continue }
        if frame.stream == 0 { connectionRoom += Int(frame.number(at: 0)) }
        if frame.stream == stream { streamRoom += Int(frame.number(at: 0)) }
      }
      while sent < total {
        let count = min(16 << 10, total - sent, streamRoom, connectionRoom)
        guard count > 0 else { return }
        sent += count
        streamRoom -= count
        connectionRoom -= count
        try client.sendBody(stream, Array(repeating: 0x61, count: count), ends: sent == total)
      }
    }
  }

  @Test func shortPiecesAreJoined() async throws {
    let body = RequestBody(drained: {})
    for number in 0..<100_000 { body.append([UInt8(truncatingIfNeeded: number)]) }
    #expect(body.count == 100_000)
    body.append([UInt8](repeating: 7, count: 20_000))
    body.finish()
    var pieces: [[UInt8]] = []
    while let piece = try await body.next() { pieces.append(piece) }
    #expect(pieces.count == 8 && pieces.map(\.count).max() == 20_000)
    let expected = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(Array(pieces.dropLast().joined()) == expected)
  }

  @Test func anHTTP2ClientWaitsForTheHandler() async throws {
    let gate = Gate()
    try await withServer(.secure(), plan: Self.plan(gate)) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/", method: "POST", ends: false)
      var sender = Sender(client: client, stream: 1)
      let total = 3 << 20
      // The handler takes nothing: what it has room for comes, and no more.
      for _ in 0..<20 { try sender.send(upTo: total) }
      try demand(sender.sent >= RequestBody.limit, "only \(sender.sent) bytes were sent")
      try demand(sender.sent <= 3 * RequestBody.limit, "\(sender.sent) bytes were sent")
      gate.open()
      while sender.sent < total { try sender.send(upTo: total) }
      #expect(try client.response(1).text == "\(total)")
    }
  }

  @Test func anHTTP2ClientThatGoesCutsTheBody() async throws {
    let failures = Journal<Bool>()
    let begun = Flag()
    let plan: @Sendable (String, RequestHead) -> RequestPlan = { _, _ in
      .upload(bodyLimit: 4 << 20) { _, body in
        do {
          while try await body.next() != nil { begun.set() }
          failures.note(false)
        } catch { failures.note(true) }
        return Response(.ok)
      }
    }
    try await withServer(.secure(), plan: plan) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/", method: "POST", ends: false)
      try client.sendBody(1, Array(repeating: 0x61, count: 1000), ends: false)
      #expect(TestServer.eventually { begun.isSet })
      try client.send(HTTP2Frame(kind: .reset, stream: 1, payload: bigEndian(8)))
      #expect(TestServer.eventually { failures.entries == [true] })
      // The connection goes on.
      try client.ask(3, "/", method: "POST")
      #expect(try client.response(3).status == "200")
    }
  }

  @Test func anHTTP2BodyBeyondTheLimitIsRefused() async throws {
    let gate = Gate()
    gate.open()
    try await withServer(.secure(), plan: Self.plan(gate)) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/", method: "POST", ends: false)
      var sender = Sender(client: client, stream: 1)
      while sender.sent < (4 << 20) + 1, client.responses[1]?.status == nil {
        try sender.send(upTo: 5 << 20)
      }
      let response = try client.response(1)
      #expect(response.status == "413" && response.text == "too large for /")
    }
  }

  @Test func aChunkedBodyBeyondTheLimitIsRefused() async throws {
    let gate = Gate()
    gate.open()
    try await withServer(plan: Self.plan(gate)) { server in
      let client = try server.connect()
      try client.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n400001\r\n")
      for _ in 0..<64 { try client.send([UInt8](repeating: 0x61, count: 64 << 10)) }
      try client.send("a\r\n0\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == 413 && response.text == "too large for /")
      #expect(response.fields["connection"] == "close")
    }
  }
}
