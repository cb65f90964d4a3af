internal import Budgets
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Formats

@Suite("Limits and deadlines", .ownThreads) struct LimitTests {
  // MARK: Bodies

  @Test(arguments: [
    "Content-Length: 1000001\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nF4241\r\n",
  ])
  func refusesALargeBodyThoughItComes(framing: String) async throws {
    try await withServer(plan: { _, _ in .respond(bodyLimit: 1_000_000) { _ in Response(.ok) } }) {
      server in
      let client = try server.connect()
      try client.send("POST / HTTP/1.1\r\nHost: t\r\n" + framing)
      for _ in 0..<100 { try client.send([UInt8](repeating: 0x61, count: 10_000)) }
      let response = try client.readResponse()
      #expect(response.status == 413 && response.text == "too large for /")
      #expect(response.fields["connection"] == "close")
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func endsWhoNeverStopsSending() async throws {
    try await withServer(plan: { _, _ in .respond(bodyLimit: 10) { _ in Response(.ok) } }) {
      server in
      let client = try server.connect()
      try client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 100000000\r\n\r\n")
      #expect(throws: ClientError.reset) {
        for _ in 0..<1000 { try client.send([UInt8](repeating: 0x61, count: 100_000)) }
      }
      #expect(server.eventually { $0.connections == 0 })
      #expect(server.server.statistics.bytesReceived < 20 << 20)
    }
  }

  @Test(arguments: [false, true])
  func holdsNoMoreBodiesThanItMay(isChunked: Bool) async throws {
    let gate = Gate()
    try await withServer(
      .local { $0.memoryPerOwner = 90_000 },
      plan: { _, _ in
        .task(bodyLimit: 1 << 20) { _ in
          await gate.wait()
          return Response(.ok)
        }
      }
    ) { server in
      let body = [UInt8](repeating: 0x61, count: 60_000)
      func post(_ client: Client) throws {
        guard isChunked else { return try client.post("/", body: body) }
        try client.post("/", "Transfer-Encoding: chunked")
        try client.send(Array("EA60\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8))
      }
      let first = try server.connect()
      try post(first)
      #expect(TestServer.eventually { gate.waiting == 1 })
      let second = try server.connect()
      try post(second)
      let refusal = try second.readResponse()
      #expect(refusal.status == 429)
      #expect(refusal.fields["retry-after"] == "1")

      // A client that goes away does not take the body from its handler.
      first.reset()
      #expect(server.eventually { $0.connections <= 1 })
      let third = try server.connect()
      try post(third)
      #expect(try third.readResponse().status == 429)

      gate.open()
      #expect(
        TestServer.eventually {
          guard let client = try? server.connect(), (try? post(client)) != nil else { return false }
          return (try? client.readResponse().status) == 200
        })
    }
  }

  @Test func givesBackTheMemoryOfBodiesThatNeverCame() async throws {
    try await withServer(.local { $0.memoryPerOwner = 100_000 }) { server in
      for _ in 0..<20 {
        let client = try server.connect()
        try client.post("/echo", "Content-Length: 90000")
        try client.send([UInt8](repeating: 0x61, count: 1000))
        client.reset()
        #expect(server.eventually { $0.connections == 0 })
      }
      let client = try server.connect()
      try client.post("/echo", body: [UInt8](repeating: 0x61, count: 90_000))
      #expect(try client.readResponse().status == 200)
    }
  }

  // MARK: Deadlines

  /// Deadlines that a test's own pauses, as long as they may be, don't meet.
  private static let short = ServerOptions.local {
    $0.idleTimeout = .milliseconds(300)
    $0.rateGrace = .milliseconds(300)
  }

  @Test func cutsAHeadThatTrickles() async throws {
    // The time of the first head runs from the connection.
    try await patiently { timeout in
      try await withServer(.local { $0.headerTimeout = timeout }) { server in
        let client = try server.connect()
        try client.get("/n/1")
        try demand(try client.readResponse().status == 200, "a response")
        try client.send("GET /n/2 HTTP/1.1\r\nX: ")
        let response = try trickle(client, "a")
        try demand(
          response.status == 408 && response.fields["connection"] == "close"
            && server.server.statistics.refusedRequests == 1, "\(response)")
      }
    }
  }

  @Test(arguments: ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFF\r\n"])
  func cutsABodyThatTrickles(framing: String) async throws {
    try await withServer(LimitTests.short) { server in
      let client = try server.connect()
      try client.send("POST /echo HTTP/1.1\r\nHost: t\r\n" + framing)
      #expect(try trickle(client, "a").status == 408)
    }
  }

  /// Sends a byte now and then until there is a response.
  private func trickle(_ client: Client, _ byte: String) throws -> ReceivedResponse {
    for _ in 0..<600 {
      if try client.hasInput(withinMilliseconds: 50) { break }
      // The server may have closed meanwhile; its response is there all the same.
      try? client.send(byte)
    }
    return try client.readResponse()
  }

  @Test(arguments: ["", "GET /n/1 HTTP/1.1\r\nHost: t\r\n\r\n", "\r\n\r\n"])
  func endsIdleConnections(request: String) async throws {
    let isAnswered = request.hasPrefix("GET")
    let options = ServerOptions.local {
      if isAnswered {
        $0.idleTimeout = .milliseconds(300)
      } else {
        $0.headerTimeout = .milliseconds(300)
      }
    }
    try await withServer(options) { server in
      let client = try server.connect()
      try client.send(request)
      if isAnswered { #expect(try client.readResponse().status == 200) }
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func cutsAStuckReader() async throws {
    let large = Bytes([UInt8](repeating: 0x61, count: 32 << 20))
    var options = LimitTests.short
    // Bytes that the kernel's growing buffer takes must not pass for reading.
    options.minimumRate = 1 << 30
    for last in ["", "Connection: close\r\n"] {
      try await withServer(
        options,
        plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(large)) } }
      ) { server in
        let client = try server.connect(receiveBuffer: 4096)
        try client.send("GET / HTTP/1.1\r\nHost: t\r\n\(last)\r\n")
        #expect(server.eventually { $0.connections == 0 && $0.cutConnections == 1 })
        #expect(try client.endsWithReset())
      }
    }
  }

  @Test func isPatientWithAHandler() async throws {
    try await withServer(
      LimitTests.short,
      plan: { _, _ in
        .task(bodyLimit: 0) { _ in
          // Time itself is tested: longer than every limit of the server.
          try? await Task.sleep(for: .milliseconds(1200))
          return Response(.ok)
        }
      }
    ) { server in
      let client = try server.connect()
      try client.get("/")
      #expect(try client.readResponse().status == 200)
    }
  }

  // MARK: Connections

  /// The attack of many kept connections: the one that did nothing for longest goes, wherever it lives.
  @Test(arguments: [1, 2])
  func givesAPlaceOfTheLargestHolderToANewcomer(threads: Int) async throws {
    try await withServer(
      .local(threads: threads) { ($0.connections, $0.connectionsPerAddress) = (3, 3) }
    ) { server in
      let held = try (0..<3).map { number in
        let client = try server.connect(from: 3)
        try client.get("/n/\(number)")
        #expect(try client.readResponse().text == "/n/\(number)")
        // The moments of use are milliseconds.
        pause(milliseconds: 5)
        return client
      }
      try held[0].get("/n/again")
      #expect(try held[0].readResponse().text == "/n/again")
      let newcomer = try server.connect(from: 2)
      try newcomer.get("/n/3")
      #expect(try newcomer.readResponse().text == "/n/3")
      #expect(try held[1].readToEnd() == [])
      for client in [held[0], held[2]] {
        try client.get("/n/4")
        #expect(try client.readResponse().text == "/n/4")
      }
      #expect(server.server.connectionBudget.lost == 1)
    }
  }

  @Test func limitsConnectionsByAddress() async throws {
    try await withServer(.local { $0.connectionsPerAddress = 2 }) { server in
      let held = try (0..<2).map { _ in
        let client = try server.connect(from: 3)
        try client.get("/n/1")
        #expect(try client.readResponse().status == 200)
        return client
      }
      let refused = try server.connect(from: 3)
      #expect((try? refused.readToEnd()) ?? [] == [])
      let other = try server.connect(from: 2)
      try other.get("/n/2")
      #expect(try other.readResponse().status == 200)
      #expect(held.count == 2 && server.server.connectionBudget.refused == 1)
    }
  }

  /// The attack of bodies that are announced and never come.
  @Test func promisedBodiesTakeNothing() async throws {
    try await withServer(
      .local { $0.memory = 1 << 20 },
      plan: { _, _ in .respond(bodyLimit: 16 << 20) { Response(.ok, body: .array($0.body)) } }
    ) { server in
      let promises = try (0..<8).map { _ in
        let client = try server.connect(from: 3)
        try client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 8388608\r\n\r\n")
        return client
      }
      let client = try server.connect(from: 2)
      try client.post("/", body: [UInt8](repeating: 0x61, count: 200_000))
      #expect(try client.readResponse().status == 200)
      #expect(promises.count == 8)
    }
  }

  /// The attack of many bodies that trickle: others' requests go on, and so do the connections of the one.
  @Test func limitsRequestsInProgressByAddress() async throws {
    try await withServer(.local { $0.requestsPerAddress = 3 }) { server in
      let slow = try (0..<3).map { _ in
        let client = try server.connect(from: 3)
        try client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\na")
        return client
      }
      let further = try server.connect(from: 3)
      #expect(
        TestServer.eventually {
          guard (try? further.post("/late", body: [1])) != nil,
            let response = try? further.readResponse()
          else { return false }
          return response.status == 429 && response.fields["retry-after"] == "1"
        })
      // What is answered at once takes no time from anybody.
      try further.get("/n/1")
      #expect(try further.readResponse().status == 200)
      let other = try server.connect(from: 2)
      try other.post("/late", body: [1])
      #expect(try other.readResponse().status == 200)
      try slow[0].send([UInt8](repeating: 0x61, count: 9))
      #expect(try slow[0].readResponse().status == 200)
      try further.post("/late", body: [1])
      #expect(try further.readResponse().status == 200)
    }
  }

  /// The attack of responses that nobody reads.
  @Test func cutsWhoHasMostUnreadOutput() async throws {
    let large = Bytes([UInt8](repeating: 0x61, count: 24 << 20))
    try await withServer(
      .local { $0.memory = 32 << 20 },
      plan: { path, head in
        path == "/large"
          ? .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(large)) }
          : standardPlan(path, head)
      }
    ) { server in
      let reader = try server.connect(from: 3, receiveBuffer: 4096)
      try reader.get("/large")
      #expect(try reader.endsWithReset())
      #expect(server.eventually { $0.cutConnections == 1 })
      let other = try server.connect(from: 2)
      try other.get("/n/1")
      #expect(try other.readResponse().status == 200)
      #expect(TestServer.eventually { server.server.memoryBudget.held == 0 })
    }
  }

  @Test func counts() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.post("/echo", body: [UInt8](repeating: 0x61, count: 5000))
      let response = try client.readResponse()
      #expect(response.body.count == 5000)
      let webSocket = try server.connect()
      try webSocket.upgrade()
      #expect(server.eventually { $0.connections == 2 && $0.webSockets == 1 })
      let statistics = server.server.statistics
      #expect(statistics.accepted == 2)
      #expect(statistics.bytesReceived > 5000 && statistics.bytesReceived < 6000)
      #expect(statistics.bytesSent > 5000 && statistics.bytesSent < 6000)
      #expect(statistics.refusedRequests == 0)
      #expect(statistics.cutConnections == 0)
      #expect(statistics.acceptPauses == 0)
      webSocket.reset()
      #expect(server.eventually { $0.connections == 1 && $0.webSockets == 0 })
    }
  }
}
