internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Transport

/// Responses that go on as long as the client listens.
@Suite("Response streams", .ownThreads) struct ResponseStreamTests {
  /// Writes what a test says to all bodies that are open.
  private final class Feed: Sendable {
    /// Unchecked because its variable is touched on its event loop only.
    final class Writer: ResponseStreamHandler, @unchecked Sendable {
      let loop: EventLoop
      let stream: any ResponseStream
      private let feed: Feed

      init(_ stream: any ResponseStream, _ feed: Feed) {
        self.stream = stream
        self.feed = feed
        loop = stream.loop
        if let interval = feed.interval { stream.setTimer(after: interval) }
        if !feed.greeting.isEmpty { stream.send(feed.greeting) }
      }

      func drained() { feed.drained.add(1, ordering: .relaxed) }

      func timerFired() { stream.send(Array("tick".utf8)) }

      func closed() { feed.closed.add(1, ordering: .relaxed) }
    }

    let greeting: [UInt8]
    let interval: Duration?
    let drained = Atomic<Int>(0)
    let closed = Atomic<Int>(0)
    private let writers = Lock<[Writer]>([])

    init(greeting: String = "hello", interval: Duration? = nil) {
      self.greeting = Array(greeting.utf8)
      self.interval = interval
    }

    var plan: RequestPlan {
      .stream(bodyLimit: 1024) { [self] request in
        guard request.head.query == nil else {
          return .respond(Response(.ok, body: .array(Array("whole".utf8))))
        }
        return .open(
          ResponseStreamOpening(Response(.ok)) { stream in
            let writer = Writer(stream, self)
            self.writers.withLock { $0.append(writer) }
            return writer
          })
      }
    }

    /// The number of bodies that were opened.
    var opened: Int { writers.withLock { $0.count } }
    var isClosed: Bool { closed.load(ordering: .relaxed) == opened }

    func send(_ bytes: [UInt8]) { onEach { $0.send(bytes) } }

    func send(_ text: String) { send(Array(text.utf8)) }

    func end() { onEach { $0.end() } }

    private func onEach(_ act: @escaping @Sendable (any ResponseStream) -> Void) {
      for writer in writers.withLock(\.self) { writer.loop.execute { act(writer.stream) } }
    }
  }

  private func plan(_ feed: Feed) -> @Sendable (String, RequestHead) -> RequestPlan {
    { path, head in path == "/feed" ? feed.plan : standardPlan(path, head) }
  }

  private func readChunk(_ client: Client) throws -> String {
    var line: [UInt8] = []
    while line.suffix(2) != [0x0d, 0x0a] { line += try client.read(1) }
    let size = try #require(Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16))
    let chunk = try client.read(size + 2)
    return String(decoding: chunk.dropLast(2), as: UTF8.self)
  }

  @Test func areWrittenAsThingsHappen() async throws {
    let feed = Feed()
    try await withServer(.local(threads: 2), plan: plan(feed)) { server in
      let clients = try (0..<4).map { _ in try server.connect() }
      for client in clients {
        try client.get("/feed")
        let head = try client.readHead()
        #expect(head.status == 200 && head.fields["transfer-encoding"] == "chunked")
        // No other request can follow.
        #expect(head.fields["connection"] == "close")
        #expect(try readChunk(client) == "hello")
      }
      for text in ["a", "bb", String(repeating: "c", count: 20_000)] {
        feed.send(text)
        for client in clients { #expect(try readChunk(client) == text) }
      }
      clients[0].close()
      clients[1].shutdownWriting()
      #expect(TestServer.eventually { feed.closed.load(ordering: .relaxed) == 2 })
      feed.end()
      for client in clients.dropFirst(2) {
        #expect(String(decoding: try client.readToEnd(), as: UTF8.self) == "0\r\n\r\n")
      }
      #expect(TestServer.eventually { feed.isClosed })
    }
  }

  @Test func mayBeOrdinaryResponses() async throws {
    let feed = Feed()
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect()
      try client.get("/feed?whole")
      #expect(try client.readResponse().text == "whole")
      try client.send("HEAD /feed HTTP/1.1\r\nHost: t\r\n\r\n")
      #expect(try client.readResponse(headOnly: true).status == 200)
      try client.get("/n/1")
      #expect(try client.readResponse().text == "/n/1")
      #expect(feed.opened == 0)
    }
  }

  @Test func endWithHTTP10sConnection() async throws {
    let feed = Feed()
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect()
      try client.send("GET /feed HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      #expect(try client.readHead().fields["transfer-encoding"] == nil)
      #expect(try client.read(5) == Array("hello".utf8))
      feed.send(" world")
      feed.end()
      #expect(try client.readToEnd() == Array(" world".utf8))
    }
  }

  @Test func areFramesOfHTTP2() async throws {
    let feed = Feed()
    try await withServer(.secure(), plan: plan(feed)) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/feed")
      try client.ask(3, "/feed")
      while client.responses[3]?.text != "hello" { try client.step() }
      // Others are answered beside it.
      try client.ask(5, "/n/1")
      #expect(try client.response(5).text == "/n/1")
      feed.send(" world")
      while client.responses[1]?.text != "hello world" { try client.step() }
      #expect(client.responses[1]?["content-length"] == nil)
      let long = [UInt8](repeating: 0x61, count: 300_000)
      feed.send(long)
      feed.send("end")
      feed.end()
      for stream in [UInt32(1), 3] {
        let response = try client.response(stream)
        #expect(response.isWhole && response.body.count == 11 + long.count + 3)
        #expect(response.text.hasSuffix("aend"))
      }
      try client.ask(7, "/feed")
      while client.responses[7]?.text != "hello" { try client.step() }
      try client.send(
        HTTP2Frame(kind: .reset, stream: 7, payload: bigEndian(8)))
      #expect(TestServer.eventually { feed.isClosed })
    }
  }

  @Test func haveATimer() async throws {
    let feed = Feed(greeting: "", interval: .milliseconds(1))
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect()
      try client.get("/feed")
      _ = try client.readHead()
      #expect(try readChunk(client) == "tick")
    }
    let framed = Feed(greeting: "", interval: .milliseconds(1))
    try await withServer(.secure(), plan: plan(framed)) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/feed")
      while client.responses[1]?.text != "tick" { try client.step() }
    }
  }

  @Test func areCutWhereTooMuchWaits() async throws {
    let feed = Feed()
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.get("/feed")
      _ = try client.readHead()
      #expect(
        TestServer.eventually {
          feed.send([UInt8](repeating: 0x61, count: 200_000))
          return server.server.statistics.cutConnections == 1
        })
      #expect(TestServer.eventually { feed.isClosed })
      #expect(try client.endsWithReset())
    }
    let framed = Feed()
    try await withServer(.secure(), plan: plan(framed)) { server in
      let client = try HTTP2Client(server)
      client.opensWindow = false
      try client.ask(1, "/feed")
      while client.responses[1]?.text != "hello" { try client.step() }
      #expect(
        TestServer.eventually {
          framed.send([UInt8](repeating: 0x61, count: 200_000))
          return framed.isClosed
        })
      #expect(try client.response(1).resetCode != nil)
    }
  }

  @Test func tellWhenAllIsSent() async throws {
    let feed = Feed()
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.get("/feed")
      _ = try client.readHead()
      #expect(TestServer.eventually { feed.drained.load(ordering: .relaxed) > 0 })
      let before = feed.drained.load(ordering: .relaxed)
      feed.send([UInt8](repeating: 0x61, count: 900_000))
      #expect(try readChunk(client) == "hello")
      #expect(try readChunk(client).utf8.count == 900_000)
      #expect(TestServer.eventually { feed.drained.load(ordering: .relaxed) > before })
    }
  }

  @Test func endWithTheServer() async throws {
    let feed = Feed()
    try await withServer(.secure(), plan: plan(feed)) { server in
      let framed = try HTTP2Client(server)
      try framed.ask(1, "/feed")
      while framed.responses[1]?.text != "hello" { try framed.step() }
      let isOver = server.beginDrain()
      #expect(try framed.response(1).isWhole)
      try framed.readToEnd()
      framed.client.close()
      #expect(TestServer.eventually { isOver.isSet })
      #expect(feed.isClosed)
    }
    let plain = Feed()
    try await withServer(plan: plan(plain)) { server in
      let client = try server.connect()
      try client.get("/feed")
      _ = try client.readHead()
      #expect(try readChunk(client) == "hello")
      let isOver = server.beginDrain()
      #expect(try client.readToEnd() == Array("0\r\n\r\n".utf8))
      client.close()
      #expect(TestServer.eventually { isOver.isSet })
      #expect(plain.isClosed)
    }
  }

  @Test func listenToNothingElse() async throws {
    let feed = Feed()
    try await withServer(plan: plan(feed)) { server in
      let client = try server.connect()
      try client.send("GET /feed HTTP/1.1\r\nHost: t\r\n\r\nGET /n/1 HTTP/1.1\r\nHost: t\r\n\r\n")
      _ = try client.readHead()
      #expect(try readChunk(client) == "hello")
      feed.send("more")
      #expect(try readChunk(client) == "more")
      // One that goes on is let go.
      let flood = [UInt8](repeating: 0x61, count: 10_000)
      #expect(
        TestServer.eventually {
          _ = try? client.sendWithoutWaiting(flood)
          return feed.isClosed
        })
    }
  }
}
