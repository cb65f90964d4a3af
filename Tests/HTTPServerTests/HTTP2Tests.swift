internal import Budgets
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Transport
internal import Formats

@testable import HTTPServer

@Suite("HTTP/2") struct HTTP2Tests {
  @Test func answersAllKindsOfRequests() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/n/one")
      let first = try client.response(1)
      #expect(first.status == "200" && first.text == "/n/one")
      #expect(first["content-length"] == "6" && first["date"]?.hasSuffix(" GMT") == true)
      try client.ask(3, "/n/one", method: "HEAD")
      let head = try client.response(3)
      #expect(head.status == "200" && head["content-length"] == "6" && head.body.isEmpty)
      try client.ask(5, "/nothing")
      #expect(try client.response(5).status == "404")
      for (stream, path) in [(7, "/echo"), (9, "/late")] as [(UInt32, String)] {
        try client.ask(stream, path, method: "POST", ends: false)
        try client.sendBody(stream, Array("first,".utf8), ends: false)
        try client.sendBody(stream, Array("second".utf8))
        #expect(try client.response(stream).text == "first,second")
      }
      try client.ask(11, "/echo", method: "POST")
      #expect(try client.response(11).status == "200")
      #expect(client.settings[3] == 100 && client.settings[6] == 16 << 10)
    }
  }

  @Test func dropsTrailers() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/echo", method: "POST", ends: false)
      try client.sendBody(1, Array("body".utf8), ends: false)
      try client.send(
        HTTP2Frame(
          kind: .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: 1,
          payload: HTTP2Client.block([("x-sum", "1")])))
      #expect(try client.response(1).text == "body")
    }
  }

  @Test func asksForTheBodyThatWaits() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      try client.ask(
        1, "/late", method: "POST", fields: [("expect", "100-continue"), ("content-length", "2")],
        ends: false)
      while client.responses[1]?.interim != ["100"] { try client.step() }
      try client.sendBody(1, Array("ok".utf8))
      #expect(try client.response(1).text == "ok")
    }
  }

  @Test func answersManyAtOnceInAnyOrder() async throws {
    let gate = Gate()
    try await withServer(
      .secure(),
      plan: { path, _ in
        .task(bodyLimit: 0) { _ in
          if path == "/held" { await gate.wait() }
          return Response(.ok, type: "text/plain", text: path)
        }
      }
    ) { server in
      let client = try HTTP2Client(server)
      for index in 0..<50 { try client.ask(UInt32(index * 2 + 1), "/held") }
      try client.ask(101, "/free")
      #expect(try client.response(101).text == "/free")
      #expect(TestServer.eventually { gate.waiting == 50 })
      gate.open()
      for index in 0..<50 { #expect(try client.response(UInt32(index * 2 + 1)).text == "/held") }
    }
  }

  @Test func goesNoFasterThanTheWindows() async throws {
    let body = Bytes((0..<400_000).map { UInt8(truncatingIfNeeded: $0 >> 3) })
    try await withServer(
      .secure(),
      plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(body)) } }
    ) { server in
      let client = try HTTP2Client(server, window: 1000)
      client.opensWindow = false
      for stream in [1, 3, 5] as [UInt32] { try client.ask(stream, "/") }
      while client.responses.values.reduce(0, { $0 + $1.body.count }) < 3000 { try client.step() }
      #expect(try !client.client.hasInput(withinMilliseconds: 100))
      client.opensWindow = true
      for stream in [1, 3, 5] as [UInt32] {
        try client.send(
          HTTP2Frame(kind: .windowUpdate, stream: stream, payload: bigEndian(60_000)))
      }
      for stream in [1, 3, 5] as [UInt32] {
        #expect(try client.response(stream).body == body.array)
      }
    }
  }

  @Test(arguments: [true, false]) func refusesALongBody(isAnnounced: Bool) async throws {
    try await withServer(
      .secure(), plan: { _, _ in .task(bodyLimit: 1000) { _ in Response(.ok) } }
    ) { server in
      let client = try HTTP2Client(server)
      let rest = Array(repeating: [UInt8](repeating: 1, count: 16 << 10), count: 100)
      let fields = isAnnounced ? [("content-length", "\(rest.joined().count)")] : []
      try client.ask(1, "/", method: "POST", fields: fields, ends: false)
      if !isAnnounced { try client.sendBody(1, [UInt8](repeating: 1, count: 1001), ends: false) }
      let response = try client.response(1)
      #expect(response.status == "413" && response.text == "too large for /")
      // The rest is dropped, however much larger than the windows it is.
      for piece in rest { try client.sendBody(1, piece, ends: false) }
      try client.sendBody(1, [])
      try client.ask(3, "/")
      #expect(try client.response(3).status == "200")
      #expect(client.responses[1]?.resetCode == nil && client.goaways.isEmpty)
    }
  }

  @Test func dropsNoMoreThanItsLimit() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/nothing", method: "POST", ends: false)
      #expect(try client.response(1).status == "404")
      let piece = HTTP2Frame(
        kind: .data, stream: 1, payload: [UInt8](repeating: 1, count: 16 << 10)
      ).bytes
      for _ in 0...1024 { try client.client.send(piece) }
      while client.responses[1]?.resetCode == nil { try client.step() }
      #expect(client.responses[1]?.resetCode == 0)
      // With nothing under way the peer starts anew.
      try client.ask(3, "/nothing", method: "POST", ends: false)
      #expect(try client.response(3).status == "404")
      try client.sendBody(3, [1])
      try client.ask(5, "/n/1")
      #expect(try client.response(5).status == "200")
      #expect(client.responses[3]?.resetCode == nil && client.goaways.isEmpty)
    }
  }

  @Test func awaitsNoRequestForEverThatIsAnswered() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      let streams = (0..<100).map { UInt32($0 * 2 + 1) }
      for stream in streams {
        try client.ask(stream, "/nothing", method: "POST", ends: false)
        #expect(try client.response(stream).status == "404")
      }
      // A byte now and then puts nothing off.
      for _ in 0..<10 {
        for stream in streams { try client.sendBody(stream, [1], ends: false) }
        // The time that the server grants runs on meanwhile.
        pause(milliseconds: 100)
      }
      while streams.contains(where: { client.responses[$0]?.resetCode == nil }) {
        try client.step()
      }
      #expect(streams.allSatisfy { client.responses[$0]?.resetCode == 0 })
      try client.ask(201, "/n/1")
      #expect(try client.response(201).status == "200")
    }
  }

  @Test func countsRequestsThatAreAnsweredEarly() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      for stream in (0...100).map({ UInt32($0 * 2 + 1) }) {
        try client.ask(stream, "/nothing", method: "POST", ends: false)
        if stream < 201 { #expect(try client.response(stream).status == "404") }
      }
      // One more than it was told that it may have (RFC 9113 section 5.1.2).
      try client.readToEnd()
      #expect(client.responses[201] == nil && client.goaways.map(\.code) == [1])
    }
  }

  /// The attack of windows that are never opened.
  @Test func beginsNoRequestWhileResponsesAreUntaken() async throws {
    let begun = Journal<String>()
    try await withServer(
      .secure(),
      plan: { path, head in
        guard path == "/large" else { return standardPlan(path, head) }
        return .respond(bodyLimit: 0) { _ in
          begun.note(path)
          return Response(.ok, body: .array([UInt8](repeating: 1, count: 300_000)))
        }
      }
    ) { server in
      let client = try HTTP2Client(server, window: 0)
      let streams = (0..<20).map { UInt32($0 * 2 + 1) }
      for stream in streams { try client.ask(stream, "/large") }
      try client.ask(41, "/nothing")
      #expect(try client.response(41).status == "404")
      #expect(begun.entries.count == 4)
      #expect(server.server.memoryBudget.held < 1_300_000)
      try client.send(HTTP2Frame(kind: .windowUpdate, payload: bigEndian(1 << 30)))
      for stream in streams {
        try client.send(
          HTTP2Frame(kind: .windowUpdate, stream: stream, payload: bigEndian(1 << 20)))
      }
      for stream in streams { #expect(try client.response(stream).body.count == 300_000) }
      #expect(begun.entries.count == 20)
    }
  }

  /// nghttp2 would give all frames that it has at once.
  @Test func makesNoMoreFramesThanAreTaken() async throws {
    let body = [UInt8](repeating: 1, count: 250_000)
    try await withServer(
      .secure(),
      plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .array(body)) } }
    ) { server in
      let client = try HTTP2Client(server, window: 1 << 20, receiveBuffer: 4096)
      try client.send(HTTP2Frame(kind: .windowUpdate, payload: bigEndian(1 << 30)))
      let streams = (0..<4).map { UInt32($0 * 2 + 1) }
      for stream in streams { try client.ask(stream, "/") }
      let loop = try #require(server.server.loops.first)
      let backlogs = Journal<Int>()
      let isWaiting = TestServer.eventually {
        loop.execute { loop.forEachConnection { backlogs.note($0.backlog) } }
        return backlogs.entries.contains { $0 > 0 }
      }
      #expect(isWaiting && backlogs.entries.allSatisfy { $0 < 70_000 })
      for stream in streams { #expect(try client.response(stream).body == body) }
    }
  }

  @Test func holdsNoMoreBodiesThanItMay() async throws {
    try await withServer(.secure { $0.memoryPerOwner = 90_000 }) { server in
      let client = try HTTP2Client(server)
      let piece = [UInt8](repeating: 1, count: 15_000)
      try client.ask(1, "/echo", method: "POST", ends: false)
      for _ in 0..<4 { try client.sendBody(1, piece, ends: false) }
      try client.ask(3, "/echo", method: "POST", fields: [("content-length", "60000")], ends: false)
      for _ in 0..<3 { try client.sendBody(3, piece, ends: false) }
      #expect(try client.response(3).status == "429")
      try client.send(HTTP2Frame(kind: .reset, stream: 1, payload: bigEndian(8)))
      try client.ask(5, "/echo", method: "POST", ends: false)
      try client.sendBody(5, piece, ends: false)
      try client.sendBody(5, piece)
      #expect(try client.response(5).body.count == 30_000)
    }
  }

  /// Faults of a request end its stream at most.
  @Test(
    arguments: [
      ([("X-Upper", "1")], nil, 1), ([("connection", "close")], nil, 1),
      ([("transfer-encoding", "chunked")], nil, 1), ([("host", "other")], "400", nil),
      ([("expect", "nothing")], "417", nil),
      ([("x", String(repeating: "y", count: 9000))], "431", nil),
      ((0..<101).map { ("x\($0)", "") }, "431", nil),
      ((0..<3).map { ("x\($0)", String(repeating: "y", count: 6000)) }, "431", nil),
    ] as [([(String, String)], String?, UInt32?)])
  func refusesAFaultyHead(
    fields: [(String, String)], status: String?, code: UInt32?
  ) async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      let block = HTTP2Client.block(HTTP2Client.request("/n/1") + fields)
      let pieces = stride(from: 0, to: block.count, by: 16_000).map {
        Array(block[$0..<min(block.count, $0 + 16_000)])
      }
      for (index, piece) in pieces.enumerated() {
        try client.send(
          HTTP2Frame(
            kind: index == 0 ? .headers : .continuation,
            flags: (index == 0 ? HTTP2Frame.endStream : 0)
              | (index == pieces.count - 1 ? HTTP2Frame.endHeaders : 0), stream: 1, payload: piece))
      }
      let response = try client.response(1)
      #expect(response.status == status && response.resetCode == code)
      try client.ask(3, "/n/2")
      #expect(try client.response(3).text == "/n/2")
    }
  }

  @Test func sendsWebSocketsToHTTP1() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/ws")
      #expect(try client.response(1).resetCode == 13)
      try client.ask(3, "/n/1")
      #expect(try client.response(3).status == "200")
    }
  }

  /// Another client than the one written for these tests.
  @Test func servesCurl() async throws {
    try await withServer(.secure("rsa")) { server in
      let body = [UInt8](repeating: 0x61, count: 200_000)
      let folder = TemporaryFolder()
      let file = try folder.write("upload", body)
      let authority = try TestCertificates.shared.get().path("rsa.pem")
      func curl(_ arguments: String...) throws -> String {
        let outcome = try ChildProcess.run(
          "curl", ["-s", "--http2", "--cacert", authority] + arguments)
        #expect(outcome.code == 0)
        return outcome.output
      }
      let base = "https://localhost:\(server.port)"
      #expect(try curl("-w", " %{http_version}", "\(base)/n/x") == "/n/x 2")
      let echo = try curl("--data-binary", "@\(file)", "\(base)/late")
      #expect(Array(echo.utf8) == body)
      #expect(try curl("-I", "\(base)/n/x").hasPrefix("HTTP/2 200"))
      // It sends all of its body before it shows the response.
      let early = try curl(
        "--data-binary", "@\(file)", "-H", "Expect:", "-w", "%{http_code}", "\(base)/nothing")
      #expect(early.hasSuffix("404"))
      // A WebSocket's path makes it come again with HTTP/1.1, where it is told what is wanted.
      #expect(try curl("-w", "%{http_version} %{http_code}", "\(base)/ws") == "1.1 426")
    }
  }
}
