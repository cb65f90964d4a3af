internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@Suite("Start and drain", .ownThreads) struct DrainTests {
  static func waiting(_ gate: Gate) -> @Sendable (String, RequestHead) -> RequestPlan {
    { path, head in
      guard path == "/wait" else { return standardPlan(path, head) }
      return .task(bodyLimit: 1 << 20) { _ in
        await gate.wait()
        return Response(.ok, type: "text/plain", text: "done")
      }
    }
  }

  @Test(arguments: [1, 3])
  func closesIdleConnections(threads: Int) async throws {
    try await withServer(.local(threads: threads)) { server in
      let clients = try (0..<12).map { _ in try server.connect() }
      for client in clients.dropFirst(6) {
        try client.get("/n/1")
        #expect(try client.readResponse().status == 200)
      }
      #expect(server.eventually { $0.accepted == 12 })
      let isOver = server.beginDrain()
      for client in clients {
        #expect(try client.readToEnd() == [])
        client.close()
      }
      #expect(TestServer.eventually { isOver.isSet })
      #expect(throws: ClientError.cannotConnect(ECONNREFUSED)) { try server.connect() }
    }
  }

  @Test func answersWhatItHasBegun() async throws {
    let gate = Gate()
    try await withServer(plan: DrainTests.waiting(gate)) { server in
      let asking = try server.connect()
      try asking.get("/wait")
      let sending = try server.connect()
      try sending.post("/echo", "Content-Length: 5")
      try sending.send("he")
      let idle = try server.connect()
      #expect(TestServer.eventually { gate.waiting == 1 })
      #expect(server.eventually { $0.accepted == 3 && $0.bytesReceived > 80 })
      let isOver = server.beginDrain()
      #expect(try idle.readToEnd() == [])
      idle.close()
      #expect(!isOver.isSet)
      try sending.send("llo")
      let echo = try sending.readResponse()
      #expect(echo.text == "hello")
      #expect(echo.fields["connection"] == "close")
      gate.open()
      let response = try asking.readResponse()
      #expect(response.text == "done")
      #expect(response.fields["connection"] == "close")
      #expect(try asking.readToEnd() == [])
      sending.close()
      asking.close()
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  @Test func sendsAllOfALargeResponse() async throws {
    let large = Bytes([UInt8](repeating: 0x61, count: 16 << 20))
    try await withServer(
      plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(large)) } }
    ) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.get("/")
      #expect(server.eventually { $0.bytesSent > 0 })
      let isOver = server.beginDrain()
      #expect(try client.readResponse().body.count == large.count)
      #expect(try client.readToEnd() == [])
      client.close()
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  /// The task outlives the server and must end all the same.
  @Test func cutsAtTheDeadline() async throws {
    let gate = Gate()
    let hasReturned = Flag()
    try await withServer(
      plan: { _, _ in
        .task(bodyLimit: 0) { _ in
          await gate.wait()
          await Task.yield()
          hasReturned.set()
          return Response(.ok)
        }
      }
    ) { server in
      let asking = try server.connect()
      try asking.get("/wait")
      let trickling = try server.connect()
      try trickling.send("GET / HTT")
      #expect(TestServer.eventually { gate.waiting == 1 })
      // All of it has been read: who has asked for nothing yet would be let go in order.
      #expect(server.eventually { $0.accepted == 2 && $0.bytesReceived == 40 })
      let isOver = server.beginDrain(within: .milliseconds(300))
      #expect(try asking.endsWithReset())
      #expect(try trickling.endsWithReset())
      #expect(TestServer.eventually { isOver.isSet })
      gate.open()
      #expect(TestServer.eventually { hasReturned.isSet })
    }
  }

  @Test func closesWebSockets() async throws {
    final class Farewell: WebSocketHandler {
      let session: WebSocketSession
      init(_ session: WebSocketSession) { self.session = session }
      func received(_ message: WebSocketMessage) {}
      func draining() { session.send(.text(Array("farewell".utf8))) }
      func closed(_ code: UInt16?) {}
    }
    try await withServer(
      plan: { _, _ in .webSocket { _ in .accept(WebSocketAcceptance { Farewell($0) }) } }
    ) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(server.eventually { $0.webSockets == 1 })
      let isOver = server.beginDrain()
      #expect(try client.readFrame().text == "farewell")
      #expect(try client.readFrame() == .close(1001))
      try client.send(8, [0x03, 0xe9])
      #expect(try client.readToEnd() == [])
      client.close()
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  @Test func refusesAHandshakeThatIsDecidedTooLate() async throws {
    let gate = Gate()
    try await withServer(
      plan: { _, _ in
        .webSocket { _ in
          await gate.wait()
          return .accept(WebSocketAcceptance { Echo($0) })
        }
      }
    ) { server in
      let client = try server.connect()
      try client.send(Client.handshake)
      #expect(TestServer.eventually { gate.waiting == 1 })
      let isOver = server.beginDrain()
      #expect(throws: ClientError.cannotConnect(ECONNREFUSED)) {
        while true {
          // A connection that the closing overtakes in the kernel's queue is reset, not refused.
          do {
            try server.connect().close()
          } catch ClientError.cannotConnect(ECONNRESET) {}
        }
      }
      gate.open()
      let response = try client.readResponse()
      #expect(response.status == 503)
      #expect(response.fields["connection"] == "close")
      client.close()
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  @Test func drainsMoreThanOnce() async throws {
    try await withServer(.local(threads: 2)) { server in
      let first = server.beginDrain()
      let second = server.beginDrain()
      #expect(TestServer.eventually { first.isSet && second.isSet })
    }
  }

  @Test func drainsBeforeItHasStarted() async throws {
    let server = try WebServer(
      options: .local(), responder: ClosureResponder(body: standardPlan), report: { _ in })
    await server.drain(within: .seconds(1))
    #expect(server.endpoints == [])
  }

  @Test(arguments: [1, 2])
  func doesNotStartOnAUsedPort(threads: Int) async throws {
    try await withServer(.local(threads: threads)) { server in
      let used = Endpoint.tcp(.loopback, port: server.port)
      // A server that did not start leaves nothing behind; the margin is for the tests that run meanwhile.
      let before = openDescriptors()
      for _ in 0..<300 {
        #expect(throws: ServerError.cannotListen(used, EADDRINUSE)) {
          let other = try WebServer(
            options: ServerOptions(
              endpoints: [.tcp(.loopback, port: 0), used], threads: 2),
            responder: ClosureResponder(body: standardPlan), report: { _ in })
          try other.start()
        }
      }
      #expect(openDescriptors() < before + 1000)
    }
  }

  @Test func allLoopsTakeConnections() async throws {
    let threads = Journal<UInt>()
    try await withServer(
      .local(threads: 2),
      plan: { path, head in
        threads.note(UInt(pthread_self()))
        return standardPlan(path, head)
      }
    ) { server in
      for _ in 0..<60 {
        let client = try server.connect()
        try client.get("/n/1")
        #expect(try client.readResponse().status == 200)
      }
      #expect(Set(threads.entries).count == 2)
    }
  }

  /// The connections that the first server ended still rest in the kernel.
  @Test(arguments: [1, 2])
  func startsAgainOnItsPort(threads: Int) async throws {
    let port = Journal<UInt16>()
    try await withServer(.local(threads: threads)) { server in
      port.note(server.port)
      for _ in 0..<10 {
        let client = try server.connect()
        try client.get("/n/1", "Connection: close")
        #expect(try client.readResponse().status == 200)
        #expect(try client.readToEnd() == [])
      }
    }
    let again = Endpoint.tcp(.loopback, port: port.entries[0])
    try await withServer(ServerOptions(endpoints: [again], threads: threads)) { server in
      let client = try server.connect()
      try client.get("/n/2")
      #expect(try client.readResponse().text == "/n/2")
    }
  }

  @Test(arguments: [
    IPAddress("192.0.2.1").map { Endpoint.tcp($0, port: 0) },
    .unix(path: "/nonexistent/awd.sock"), .unix(path: String(repeating: "x", count: 200)),
  ])
  func doesNotStartOnAnImpossibleAddress(endpoint: Endpoint?) throws {
    let server = try WebServer(
      options: ServerOptions(endpoints: [try #require(endpoint)]),
      responder: ClosureResponder(body: standardPlan), report: { _ in })
    #expect(throws: ServerError.self) { try server.start() }
  }

  @Test func leavesNothingBehind() async throws {
    final class Token: Sendable {}
    weak var token: Token?
    do {
      let kept = Token()
      token = kept
      try await withServer(plan: { _, _ in
        .task(bodyLimit: 0) { _ in
          withExtendedLifetime(kept) { Response(.ok) }
        }
      }) { server in
        let client = try server.connect()
        try client.get("/")
        #expect(try client.readResponse().status == 200)
      }
    }
    #expect(TestServer.eventually { token == nil })
  }

  private func openDescriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }
}
