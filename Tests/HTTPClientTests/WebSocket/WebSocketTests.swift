internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform
@testable import HTTPClient

/// Over sockets, against the engine's server and against Python's `websockets`.
@Suite struct WebSocketTests {
  /// Accepts WebSockets at `/ws`, and notes their ends.
  final class Peer: Responder {
    let closures = Lock<[UInt16?]>([])
    let sessions = Lock<[WebSocketSession]>([])
    let received: @Sendable (WebSocketSession, WebSocketMessage) -> Void
    let opened: @Sendable (WebSocketSession) -> Void

    init(
      opened: @escaping @Sendable (WebSocketSession) -> Void = { _ in },
      received: @escaping @Sendable (WebSocketSession, WebSocketMessage) -> Void = { $0.send($1) }
    ) {
      self.opened = opened
      self.received = received
    }

    func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
      guard head.path.elementsEqual("/ws".utf8) else { return .refuse(Response(.notFound)) }
      let token = head.value(.authorization)
      let isWelcome = token == nil || token == "Bearer good"
      return .webSocket { [self] _ in
        guard isWelcome else { return .refuse(Response(.unauthorized)) }
        var acceptance = WebSocketAcceptance { session in
          self.sessions.withLock { $0.append(session) }
          self.opened(session)
          return Handler(session: session, peer: self)
        }
        // A client that takes its time while others' tests have their turn is not gone.
        acceptance.limits.pingInterval = .seconds(600)
        return .accept(acceptance)
      }
    }

    final class Handler: WebSocketHandler {
      let session: WebSocketSession
      let peer: Peer

      init(session: WebSocketSession, peer: Peer) {
        self.session = session
        self.peer = peer
      }

      func received(_ message: WebSocketMessage) { peer.received(session, message) }

      func closed(_ code: UInt16?) { peer.closures.withLock { $0.append(code) } }
    }
  }

  private func with(
    _ peer: Peer, _ options: WebSocketOptions = WebSocketOptions(), path: String = "/ws",
    _ body: (WebSocketClient, WebSocketURL) async throws -> Void
  ) async throws {
    try await withServer(peer) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))\(path)"))
      try await body(try WebSocketClient(options), url)
    }
  }

  @Test func sendsAndReceives() async throws {
    try await with(Peer()) { client, url in
      let socket = try await client.connect(to: url)
      let large = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      for message in [WebSocketMessage.text(Array("é".utf8)), .binary([]), .binary(large)] {
        try await socket.send(message)
        #expect(try await socket.next() == message)
      }
      socket.close(1000)
      #expect(try await socket.next() == nil)
      #expect(try await socket.ended() == .closed(1000, reason: ""))
      await #expect(throws: WebSocketError.self) { try await socket.send(.text([])) }
    }
  }

  @Test func manyOverOneThread() async throws {
    try await with(Peer()) { client, url in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask {
            let socket = try await client.connect(to: url)
            for message in 0..<20 {
              try await socket.send(.binary([UInt8(number), UInt8(message)]))
            }
            for message in 0..<20 {
              let expected = WebSocketMessage.binary([UInt8(number), UInt8(message)])
              #expect(try await socket.next() == expected)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test func theServerCloses() async throws {
    let peer = Peer(received: { session, message in
      session.send(message)
      session.close(1008, reason: "go away")
    })
    try await with(peer) { client, url in
      let socket = try await client.connect(to: url)
      try await socket.send(.text([0x61]))
      var messages: [WebSocketMessage] = []
      for try await message in socket { messages.append(message) }
      #expect(messages == [.text([0x61])])
      #expect(socket.end == .closed(1008, reason: "go away"))
    }
  }

  @Test func fieldsAndRefusals() async throws {
    let peer = Peer()
    try await with(peer) { client, url in
      for (token, isWelcome) in [("Bearer good", true), ("Bearer bad", false)] {
        var fields = HeaderFields()
        fields.append(.authorization, token)
        do throws(WebSocketError) {
          _ = try await client.connect(to: url, fields: fields)
          #expect(isWelcome)
        } catch {
          #expect(!isWelcome && error.code == .refused(.unauthorized))
        }
      }
    }
    try await with(peer, path: "/none") { client, url in
      await #expect(throws: WebSocketError.self) { try await client.connect(to: url) }
    }
  }

  /// Nobody takes the messages: the client stops reading, and so the server's backlog grows. Then all
  /// is taken, in order.
  @Test func aSlowConsumerStopsTheSocketFromBeingRead() async throws {
    let count = 300
    let peer = Peer(opened: { session in
      for number in 0..<count {
        session.send(.binary([UInt8](repeating: UInt8(number & 0xff), count: 10_000)))
      }
    })
    try await with(peer) { client, url in
      let socket = try await client.connect(to: url)
      // Time for the client to stop reading, which nothing shows; with less, the test checks less.
      try await Task.sleep(for: .milliseconds(50))
      var seen = 0
      while seen < count, let message = try await socket.next() {
        #expect(message == .binary([UInt8](repeating: UInt8(seen & 0xff), count: 10_000)))
        seen += 1
      }
      #expect(seen == count)
    }
  }

  /// The server reads nothing: a sender comes to wait, and goes on once the connection is dropped.
  @Test func aSlowServerMakesSendersWait() async throws {
    let isOver = DispatchSemaphore(value: 0)
    let server = try RawServer { connection in
      connection.acceptWebSocket()
      isOver.wait()
    }
    let client = try WebSocketClient()
    let socket = try await client.connect(
      to: try #require(WebSocketURL("ws://127.0.0.1:\(server.port)/")))
    let sent = Lock(0)
    let sender = Task {
      while true {
        try await socket.send(.binary([UInt8](repeating: 0, count: 1 << 20)))
        sent.withLock { $0 += 1 }
      }
    }
    // The kernel takes some megabytes at most. That nothing more goes out for a while is all that shows it.
    var (last, unchanged) = (-1, 0)
    while unchanged < 10 {
      try await Task.sleep(for: .milliseconds(20))
      let now = sent.withLock { $0 }
      unchanged = now == last ? unchanged + 1 : 0
      last = now
    }
    #expect(last < 64)
    isOver.signal()
    await #expect(throws: WebSocketError.self) { try await sender.value }
  }

  @Test func aDroppedWebSocketCloses() async throws {
    let peer = Peer()
    try await with(peer) { client, url in
      do { _ = try await client.connect(to: url) }
      try await waitUntil { peer.closures.withLock { !$0.isEmpty } }
      #expect(peer.closures.withLock { $0 } == [1001])
    }
  }

  @Test func cancellation() async throws {
    try await with(Peer()) { client, url in
      let socket = try await client.connect(to: url)
      let task = Task { try await socket.next() }
      task.cancel()
      await #expect(throws: WebSocketError.self) { try await task.value }
      // The socket is as it was.
      try await socket.send(.text([0x61]))
      #expect(try await socket.next() == .text([0x61]))
    }
    let silent = try RawServer { $0.waitForEnd() }
    let client = try WebSocketClient()
    let url = try #require(WebSocketURL("ws://127.0.0.1:\(silent.port)/"))
    let task = Task { try await client.connect(to: url) }
    try await waitUntil { silent.connections == 1 }
    task.cancel()
    await #expect(throws: WebSocketError.self) { _ = try await task.value }
  }

  @Test func unreachableServers() async throws {
    var options = WebSocketOptions()
    options.connectTimeout = .milliseconds(200)
    let hasty = try WebSocketClient(options)
    let patient = try WebSocketClient()
    let silent = try RawServer { $0.waitForEnd() }
    let deaf = try RawServer { _ = $0.readHead() }
    for (text, code) in [
      ("ws://127.0.0.1:\(silent.port)/", WebSocketFailure.timedOut),
      ("ws://127.0.0.1:\(deaf.port)/", .disconnected), ("ws://127.0.0.1:1/", .notConnected),
      ("ws://name.invalid/", .unknownHost),
    ] {
      let url = try #require(WebSocketURL(text))
      do throws(WebSocketError) {
        _ = try await (code == .timedOut ? hasty : patient).connect(to: url)
        Issue.record("\(text) was connected")
      } catch {
        #expect(
          error.code == code || code == .unknownHost && error.code == .timedOut, "\(error)")
      }
    }
  }

  @Test func theConnectionBreaks() async throws {
    let server = try RawServer { connection in
      connection.acceptWebSocket()
      connection.write("\u{02}")
    }
    let client = try WebSocketClient()
    let socket = try await client.connect(
      to: try #require(WebSocketURL("ws://localhost:\(server.port)/")))
    await #expect(throws: WebSocketError.self) { try await socket.next() }
    #expect(socket.end == .failed(try #require(socket.error)))
  }

  /// The certificate is for `localhost` and 127.0.0.1.
  @Test func overTLS() async throws {
    let certificates = try TestCertificates.shared.get()
    let python = try PythonWebSocketServer(certificates.server)
    var options = WebSocketOptions()
    options.certificateAuthorities = certificates.authority.certificate
    let client = try WebSocketClient(options)
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for host in ["127.0.0.1", "localhost"] {
      let url = try #require(WebSocketURL("wss://\(host):\(python.port)/"))
      let socket = try await client.connect(to: url)
      for message in [WebSocketMessage.text(Array("grüße".utf8)), .binary(large)] {
        try await socket.send(message)
        #expect(try await socket.next() == message)
      }
      try await socket.send(.text(Array("close".utf8)))
      #expect(try await socket.next() == nil)
      #expect(socket.end == .closed(4001, reason: "as asked"))
      // The system's certificates are others.
      await #expect(throws: WebSocketError(.tls, "")) {
        _ = try await WebSocketClient().connect(to: url)
      }
    }
    // A name that the certificate isn't for leads to the same server.
    let other = try #require(WebSocketURL("wss://127.0.0.2:\(python.port)/"))
    await #expect(throws: WebSocketError.self) { _ = try await client.connect(to: other) }
    // A server without TLS.
    let plain = try PythonWebSocketServer()
    let url = try #require(WebSocketURL("wss://127.0.0.1:\(plain.port)/"))
    await #expect(throws: WebSocketError.self) { _ = try await client.connect(to: url) }
  }

  /// Another implementation's server: echo, its pings and fragments, its close.
  @Test func pythonsWebsockets() async throws {
    let python = try PythonWebSocketServer()
    let client = try WebSocketClient()
    let socket = try await client.connect(
      to: try #require(WebSocketURL("ws://127.0.0.1:\(python.port)/")))
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for message in [
      WebSocketMessage.text(Array("grüße".utf8)), .binary([]), .binary(large),
      .binary(Array(large.prefix(125))), .binary(Array(large.prefix(126))),
      .binary(Array(large.prefix(65_535))), .binary(Array(large.prefix(65_536))),
    ] {
      try await socket.send(message)
      #expect(try await socket.next() == message)
    }
    try await socket.send(.text(Array("ping".utf8)))
    #expect(try await socket.next() == .text(Array("ponged".utf8)))
    try await socket.send(.text(Array("fragments".utf8)))
    #expect(try await socket.next() == .text(Array("one two three".utf8)))
    try await socket.send(.text(Array("close".utf8)))
    #expect(try await socket.next() == nil)
    #expect(socket.end == .closed(4001, reason: "as asked"))
  }
}

extension WebSocket {
  fileprivate var error: WebSocketError? {
    if case .failed(let error) = end { error } else { nil }
  }
}

/// A server by others: Debian's python3-websockets.
final class PythonWebSocketServer: Sendable {
  private let process: ChildProcess
  let port: Int

  /// Starts a server.
  ///
  /// - Parameter identity: its certificate and key; without TLS if nil.
  init(_ identity: TestCertificates.Pair? = nil) throws {
    process = try ChildProcess(
      "/usr/bin/python3", ["-c", Self.program, identity?.certificate ?? "", identity?.key ?? ""],
      input: nil)
    port = try #require(Int(process.line(with: "\n", on: .output)))
  }

  private static let program = """
    import asyncio, ssl, sys, websockets
    async def serve(socket, path=None):
        async for message in socket:
            if message == "ping":
                await (await socket.ping()); await socket.send("ponged")
            elif message == "fragments": await socket.send(["one ", "two ", "three"])
            elif message == "close": await socket.close(4001, "as asked")
            else: await socket.send(message)
    async def main():
        context = None
        if sys.argv[1]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*sys.argv[1:3])
        server = await websockets.serve(serve, "127.0.0.1", 0, ssl=context)
        print(server.sockets[0].getsockname()[1], flush=True)
        # Until the tests end, whose end of the pipe closes then.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    asyncio.run(main())
    """
}
