internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Formats

@Suite("Hostile clients", .ownThreads) struct HostileClientTests {
  private static let scripts: [[UInt8]] =
    [
      "GET /n/1 HTTP/1.1\r\nHost: t\r\n\r\n", "GET /slow/3 HTTP/1.1\r\nHost: t\r\n\r\n",
      "HEAD /late HTTP/1.1\r\nHost: t\r\n\r\n", "GET /n/2 HTTP/1.0\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello",
      "POST /late HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "POST /none HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nxyz",
      "POST /late HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
      "GET /large HTTP/1.1\r\nHost: t\r\n\r\n",
      "GET /large HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
      "GET /n/3 HTTP/1.1\r\n", "\r\n\r\n", "\0\u{1}\u{2}",
      "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ].map { Array($0.utf8) } + [
      Array(Client.handshake.utf8), Client.frame(1, Array("text".utf8)), Client.frame(9, [1]),
      Client.frame(2, [UInt8](repeating: 7, count: 70_000)), Client.frame(8, [0x03, 0xe8]),
      Client.frame(1, Array("frag".utf8), isFinal: false), [0xff, 0xff],
    ]

  /// Clients that say anything, at any pace, and leave in any way, on two loops at once.
  @Test(arguments: TestSeeds.random(2, and: [0, 1]))
  func endNothingButThemselves(seed: UInt64) async throws {
    let large = Bytes([UInt8](repeating: 0x61, count: 1 << 20))
    try await withServer(
      .local(threads: 2) { ($0.connections, $0.connectionsPerAddress) = (60, 60) },
      plan: { path, head in
        guard path == "/large" else { return standardPlan(path, head) }
        return .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(large)) }
      }
    ) { server in
      var random = SeededGenerator(seed: seed)
      var clients: [Client] = []
      for _ in 0..<3000 {
        if clients.count < 50, Int.random(in: 0..<4, using: &random) == 0 {
          clients.append(
            try server.connect(receiveBuffer: Bool.random(using: &random) ? 4096 : nil))
        }
        guard let index = clients.indices.randomElement(using: &random) else { continue }
        if !act(clients[index], &random) { clients.remove(at: index) }
      }
      // At another address, as this one may have all of its places.
      let witness = try server.connect(from: 2)
      try witness.get("/n/alive")
      #expect(try witness.readResponse().text == "/n/alive")
      witness.close()
      for client in clients { client.close() }
      #expect(server.eventually { $0.connections == 0 && $0.webSockets == 0 })
    }
  }

  /// Does one thing.
  ///
  /// - Returns: whether the client goes on.
  private func act(_ client: Client, _ random: inout SeededGenerator) -> Bool {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: client.reset()
    case 1: client.close()
    case 2:
      client.shutdownWriting()
      return true
    case 3, 4: return (try? client.readWhatIsThere()) ?? false
    default:
      guard var bytes = HostileClientTests.scripts.randomElement(using: &random) else {
        return false
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      }
      return (try? client.sendWithoutWaiting(bytes)) != nil
    }
    return false
  }

  /// The response to a client that has gone must not be sent to the next one in its place.
  @Test func answersReachOnlyWhoAsked() async throws {
    let gate = Gate()
    try await withServer(
      plan: { path, head in
        guard path == "/secret" else { return standardPlan(path, head) }
        return .task(bodyLimit: 0) { _ in
          await gate.wait()
          return Response(.ok, type: "text/plain", text: "secret")
        }
      }
    ) { server in
      for number in 1...10 {
        let client = try server.connect()
        try client.get("/secret")
        #expect(TestServer.eventually { gate.waiting == number })
        client.reset()
        #expect(server.eventually { $0.connections == 0 })
      }
      let others = try (0..<10).map { _ in try server.connect() }
      for other in others { try other.get("/slow/3") }
      gate.open()
      for other in others {
        #expect(try other.readResponse().text == "/slow/3")
        try other.get("/n/1")
        #expect(try other.readResponse().text == "/n/1")
      }
    }
  }

  /// A client that pings and doesn't read is owed a few pongs, and one for the last ping.
  @Test func pingFloodOfANonReaderIsBounded() async throws {
    let sessions = Journal<WebSocketSession>()
    var acceptance = WebSocketAcceptance { session in
      sessions.note(session)
      return Echo(session)
    }
    acceptance.lowWaterMark = 10_000
    let bounded = acceptance
    try await withServer(plan: { _, _ in .webSocket { _ in .accept(bounded) } }) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      // More than sockets hold.
      let flood = (0..<500).flatMap { _ in Client.frame(9, [UInt8](repeating: 1, count: 125)) }
      for _ in 0..<160 {
        try client.send(flood)
        #expect(sessions.entries[0].backlog <= 10_127)
      }
      try client.send(9, [2])
      var pongs = 1
      while try client.readFrame() != Frame(opcode: 10, payload: [2]) { pongs += 1 }
      #expect(pongs < 80_000)
      try client.sendText("alive")
      #expect(try client.readFrame().text == "alive")
    }
  }

  // MARK: Descriptors

  /// A flood leaves descriptors for others.
  @Test func leavesDescriptorsToNewcomers() async throws {
    try await withProbeServer(descriptors: 64) { port, _ in
      let flood = try (0..<100).map { _ in try Client(port: port, source: 3) }
      let newcomer = try Client(port: port, source: 2)
      try newcomer.get("/doc.xml")
      #expect(try newcomer.readResponse().status == 200)
      #expect(flood.count == 100)
    }
  }

  /// A process that may open fewer files than it believed waits for a free one, without a busy loop.
  @Test func lackOfDescriptorsIsWaitedOut() async throws {
    try await withProbeServer(descriptors: 512) { port, process in
      let limit = try ChildProcess(
        "/usr/bin/prlimit", ["--pid", "\(process.processIdentifier)", "--nofile=64:"])
      #expect(try limit.ended() == .exited(0))
      var clients = try (0..<100).map { _ in try Client(port: port) }
      let waiting = try Client(port: port)
      try waiting.get("/doc.xml")
      #expect(try !waiting.hasInput(withinMilliseconds: 500))
      let before = processorTime(process.processIdentifier)
      pause(milliseconds: 2000)
      // A busy loop would take most of two seconds.
      #expect(processorTime(process.processIdentifier) - before < 0.5)
      clients.removeFirst(90)
      #expect(try waiting.readResponse().status == 200)
    }
  }

  private func withProbeServer(
    descriptors: Int, test: @escaping @Sendable (UInt16, ChildProcess) throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    let reserved = try ReservedPort()
    let port = reserved.number
    let process = try ChildProcess(
      "/bin/sh",
      [
        "-c", "ulimit -S -n \(descriptors); exec \"$0\" --port \(port) --data \"$1\" --threads 1",
        ChildProcess.built("probe-server"), folder.path,
      ])
    try await onThread {
      func isServed() -> Bool {
        guard let client = try? Client(port: port), (try? client.get("/doc.xml")) != nil else {
          return false
        }
        return (try? client.readResponse().status) == 200
      }
      #expect(TestServer.eventually { isServed() })
      try test(port, process)
    }
  }
}

/// The seconds of processor time that a process has used.
private func processorTime(_ process: Int32) -> Double {
  let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
  // The second field, a name in parentheses, may have spaces; user and system time are fields 14 and 15.
  let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
  guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
    return .infinity
  }
  return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
}
