internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Transport

@Suite("WebSocket over sockets", .ownThreads) struct WebSocketTests {
  /// The calls of a handler.
  enum Told: Equatable, Sendable {
    case message(WebSocketMessage)
    case drained, draining, timer
    case closed(UInt16?)
  }

  /// Notes its calls, and carries out given actions.
  final class Witness: WebSocketHandler {
    let journal: Journal<Told>
    let onMessage: (WebSocketMessage) -> Void
    let onEnd: () -> Void

    init(
      _ journal: Journal<Told>, onMessage: @escaping (WebSocketMessage) -> Void = { _ in },
      onEnd: @escaping () -> Void = {}
    ) {
      self.journal = journal
      self.onMessage = onMessage
      self.onEnd = onEnd
    }

    func received(_ message: WebSocketMessage) {
      journal.note(.message(message))
      onMessage(message)
    }
    func drained() { journal.note(.drained) }
    func draining() { journal.note(.draining) }
    func timerFired() { journal.note(.timer) }
    func closed(_ code: UInt16?) {
      journal.note(.closed(code))
      onEnd()
    }
  }

  static func plan(
    _ acceptance: WebSocketAcceptance
  ) -> @Sendable (String, RequestHead) -> RequestPlan {
    { _, _ in .webSocket { _ in .accept(acceptance) } }
  }

  /// A plan whose sessions note what happens and, if asked to, do something else.
  static func plan(
    _ journal: Journal<Told>, _ sessions: Journal<WebSocketSession> = Journal(),
    _ configure: (inout WebSocketAcceptance) -> Void = { _ in }
  ) -> @Sendable (String, RequestHead) -> RequestPlan {
    var acceptance = WebSocketAcceptance { session in
      sessions.note(session)
      return Witness(journal)
    }
    configure(&acceptance)
    return plan(acceptance)
  }

  // MARK: Handshake

  @Test func shakesHands() async throws {
    var acceptance = WebSocketAcceptance { Echo($0) }
    acceptance.subprotocol = "awtp"
    try await withServer(plan: WebSocketTests.plan(acceptance)) { server in
      let client = try server.connect()
      try client.send(Client.handshake)
      let response = try client.readHead()
      #expect(response.status == 101)
      // RFC 6455 section 1.3.
      #expect(response.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
      #expect(response.fields["sec-websocket-protocol"] == "awtp")
      #expect(response.fields["upgrade"] == "websocket")
      #expect(response.fields["connection"] == "Upgrade")
      #expect(response.fields["content-length"] == nil)
    }
  }

  @Test func takesFramesRightBehindTheHandshake() async throws {
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
      try client.send(
        Array(Client.handshake.utf8) + Client.frame(1, Array("one".utf8))
          + Client.frame(1, Array("two".utf8)).prefix(5))
      #expect(TestServer.eventually { gate.waiting == 1 })
      try client.send(Client.frame(1, Array("two".utf8)).dropFirst(5))
      gate.open()
      #expect(try client.readHead().status == 101)
      #expect(try client.readFrame().text == "one")
      #expect(try client.readFrame().text == "two")
    }
  }

  @Test func refuses() async throws {
    try await withServer(
      plan: { path, _ in
        path == "/ws"
          ? .webSocket { _ in .refuse(Response(.forbidden)) }
          : .respond(bodyLimit: 0) { _ in Response(.ok) }
      }
    ) { server in
      let client = try server.connect()
      try client.send(Client.handshake)
      #expect(try client.readResponse().status == 403)
      try client.get("/ws")
      let response = try client.readResponse()
      #expect(response.status == 426)
      #expect(response.fields["sec-websocket-version"] == "13")
      try client.get("/")
      #expect(try client.readResponse().status == 200)
    }
  }

  // MARK: Messages

  @Test func joinsFragmentsAndAnswersPings() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(1, Array("Hel".utf8), isFinal: false)
      try client.send(9, Array("still there?".utf8))
      try client.send(0, Array("l".utf8), isFinal: false)
      try client.send(0, Array("o".utf8))
      #expect(try client.readFrame() == Frame(opcode: 10, payload: Array("still there?".utf8)))
      #expect(try client.readFrame() == Frame(opcode: 1, payload: Array("Hello".utf8)))
      for count in [0, 1, 125, 126, 65535, 65536, 200_000] {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try client.send(2, payload)
        #expect(try client.readFrame() == Frame(opcode: 2, payload: payload))
      }
    }
  }

  @Test func takesFramesByteByByte() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.upgrade()
      for byte in Client.frame(1, Array("slowly".utf8)) { try client.send([byte]) }
      #expect(try client.readFrame().text == "slowly")
    }
  }

  @Test func holdsMessagesBack() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    let acceptance = WebSocketAcceptance { session in
      sessions.note(session)
      return Witness(journal, onMessage: { _ in session.pauseReceiving() })
    }
    try await withServer(plan: WebSocketTests.plan(acceptance)) { server in
      let client = try server.connect()
      try client.upgrade()
      func told(_ texts: String...) -> Bool {
        let messages = texts.map { Told.message(.text(Array($0.utf8))) }
        return TestServer.eventually { journal.entries == messages }
      }
      try client.send(Client.frame(1, Array("one".utf8)) + Client.frame(9, [1]))
      try client.send(Client.frame(1, Array("two".utf8)) + Client.frame(9, [2]))
      try client.sendText("three")
      #expect(told("one"))
      #expect(try client.readFrame() == Frame(opcode: 10, payload: [1]))
      let session = sessions.entries[0]
      session.loop.execute { session.resumeReceiving() }
      #expect(told("one", "two"))
      #expect(try client.readFrame() == Frame(opcode: 10, payload: [2]))
      session.loop.execute { session.resumeReceiving() }
      #expect(told("one", "two", "three"))
    }
  }

  @Test func closesWhileMessagesAreHeldBack() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    try await withServer(plan: WebSocketTests.plan(journal, sessions)) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      let session = sessions.entries[0]
      let isPaused = Flag()
      session.loop.execute {
        session.pauseReceiving()
        isPaused.set()
      }
      #expect(TestServer.eventually { isPaused.isSet })
      try client.send(
        Client.frame(1, Array("too".utf8)) + Client.frame(1, Array("late".utf8))
          + Client.frame(8, [0x0f, 0xa2]))
      session.close(4002)
      #expect(try client.readFrame() == .close(4002))
      #expect(try client.readToEnd() == [])
      #expect(journal.entries == [.closed(4002)])
    }
  }

  @Test func firesTheTimerOnce() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    try await withServer(plan: WebSocketTests.plan(journal, sessions)) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      sessions.entries[0].setTimer(after: .seconds(3600))
      sessions.entries[0].setTimer(after: .milliseconds(1))
      #expect(TestServer.eventually { journal.entries == [.timer] })
      sessions.entries[0].close(1000)
      #expect(try client.readFrame() == .close(1000))
      #expect(journal.entries == [.timer])
    }
  }

  // MARK: Ends

  @Test func closesAfterTheClient() async throws {
    let journal = Journal<Told>()
    try await withServer(plan: WebSocketTests.plan(journal)) { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(8, [0x0f, 0xa1] + Array("bye".utf8))
      #expect(try client.readFrame() == .close(4001))
      // The server closes TCP first (RFC 6455 section 7.1.1).
      #expect(try client.readToEnd() == [])
      #expect(journal.entries == [.closed(4001)])
    }
  }

  @Test func closesAfterTheServer() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    try await withServer(plan: WebSocketTests.plan(journal, sessions)) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      sessions.entries[0].close(4002, reason: "enough")
      #expect(
        try client.readFrame() == Frame(opcode: 8, payload: [0x0f, 0xa2] + Array("enough".utf8)))
      // Pings are answered and messages dropped until the peer's close frame.
      try client.sendText("too late")
      try client.send(9, [7])
      #expect(try client.readFrame() == Frame(opcode: 10, payload: [7]))
      try client.send(8, [0x0f, 0xa2])
      #expect(try client.readToEnd() == [])
      #expect(journal.entries == [.closed(4002)])
    }
  }

  @Test func endsWhenTheClientIsGone() async throws {
    let journal = Journal<Told>()
    try await withServer(plan: WebSocketTests.plan(journal)) { server in
      for end: (Client) -> Void in [{ $0.close() }, { $0.reset() }, { $0.shutdownWriting() }] {
        let client = try server.connect()
        try client.upgrade()
        #expect(server.eventually { $0.webSockets == 1 })
        end(client)
        #expect(server.eventually { $0.webSockets == 0 && $0.connections <= 1 })
      }
      // It is counted first, and then told.
      #expect(
        TestServer.eventually { journal.entries == [.closed(nil), .closed(nil), .closed(nil)] })
    }
  }

  @Test(
    arguments: [
      (Client.frame(1, Array("unmasked".utf8), isMasked: false), 1002),
      (Client.frame(0, [1]), 1002), (Client.frame(3, []), 1002), ([0xc1, 0x80, 0, 0, 0, 0], 1002),
      (Client.frame(1, [0xff]), 1007), (Client.frame(8, [1]), 1002),
      (Client.frame(9, [], isFinal: false), 1002),
      ([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1], 1009),
      ([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1009),
      ([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1002),
    ] as [([UInt8], UInt16)])
  func closesOnViolations(frame: [UInt8], code: UInt16) async throws {
    let journal = Journal<Told>()
    try await withServer(plan: WebSocketTests.plan(journal)) { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(frame + Client.frame(1, Array("behind".utf8)))
      #expect(try client.readFrame() == .close(code))
      #expect(try client.readToEnd() == [])
      #expect(journal.entries == [.closed(nil)])
    }
  }

  @Test func limitsMessagesOfManyFragments() async throws {
    try await withServer(
      plan: WebSocketTests.plan(Journal()) { $0.limits.maximumMessage = 1000 }
    ) { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(2, [UInt8](repeating: 0, count: 999), isFinal: false)
      try client.send(0, [1, 2])
      #expect(try client.readFrame() == .close(1009))
    }
  }

  @Test func boundsTheMemoryOfUnfinishedMessages() async throws {
    var options = ServerOptions.local()
    options.memoryPerOwner = 800_000
    try await withServer(options) { server in
      let part = [UInt8](repeating: 0, count: 300_000)
      let clients = try (0..<3).map { _ in try server.connect() }
      for client in clients {
        try client.upgrade()
        try client.send(2, part, isFinal: false)
        // It has been taken when the ping is answered, or the session is over.
        try client.send(9, [1])
      }
      var answers = try clients.map { try $0.readFrame() }
      for client in clients {
        // The last one may be closed, and finds nobody.
        try? client.send(0, part, isFinal: false)
        try? client.send(9, [2])
      }
      for client in clients { if let frame = try? client.readFrame() { answers.append(frame) } }
      #expect(answers.contains(.close(1013)))
      for client in clients { client.close() }
      #expect(server.eventually { $0.webSockets == 0 })
      // The memory of held messages is free again.
      let client = try server.connect()
      try client.upgrade()
      try client.send(2, part)
      #expect(try client.readFrame() == Frame(opcode: 2, payload: part))
    }
  }

  /// The attack of fragments of nothing.
  @Test func endsWhoSendsFragmentsOfNothing() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(2, [1], isFinal: false)
      // The end may come while there is still something to send.
      for _ in 0..<100 { try? client.send(0, [], isFinal: false) }
      #expect(try client.readFrame() == .close(1008))
    }
  }

  /// Much of what one peer sends at a time is left for later turns, and comes in its order.
  @Test func takesAFloodInTurns() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.upgrade()
      let messages = (0..<2000).map { Array("\($0)".utf8) }
      try client.send(messages.flatMap { Client.frame(1, $0) } + Client.frame(9, [7]))
      for message in messages {
        #expect(try client.readFrame() == Frame(opcode: 1, payload: message))
      }
      #expect(try client.readFrame().opcode == 10)
    }
  }

  @Test func limitsMessagesUntilTheHandlerSaysMore() async throws {
    let sessions = Journal<WebSocketSession>()
    let plan = WebSocketTests.plan(Journal(), sessions) { $0.limits.maximumMessage = 10 }
    try await withServer(plan: plan) { server in
      for isKnown in [false, true] {
        let client = try server.connect()
        try client.upgrade()
        let count = isKnown ? 2 : 1
        #expect(TestServer.eventually { sessions.entries.count == count })
        let session = sessions.entries[count - 1]
        if isKnown {
          session.loop.execute {
            session.limitMessages(to: 100)
            session.send(.text([0x61]))
          }
          #expect(try client.readFrame().opcode == 1)
        }
        try client.send(2, [UInt8](repeating: 0, count: 11))
        try client.send(8, [3, 232])
        #expect(try client.readFrame() == .close(isKnown ? 1000 : 1009))
      }
    }
  }

  // MARK: Sessions

  @Test func sendsFromOtherThreads() async throws {
    let sessions = Journal<WebSocketSession>()
    try await withServer(plan: WebSocketTests.plan(Journal(), sessions)) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      let session = sessions.entries[0]
      for thread in 0..<4 {
        Thread.detachNewThread {
          for number in 0..<500 { session.send(.text(Array("\(thread) \(number)".utf8))) }
        }
      }
      var next = [0, 0, 0, 0]
      for _ in 0..<2000 {
        let words = try client.readFrame().text.split(separator: " ").compactMap { Int($0) }
        try #require(words.count == 2)
        #expect(next[words[0]] == words[1])
        next[words[0]] += 1
      }
      #expect(session.backlog == 0)
    }
  }

  @Test func isHarmlessAfterItsEnd() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    let acceptance = WebSocketAcceptance { session in
      sessions.note(session)
      return Witness(journal) { _ in
        session.close(4000)
        session.send(.text([]))
        session.close(4001)
      } onEnd: {
        session.send(.text([]))
        session.close(4002)
        #expect(session.backlog == 0)
      }
    }
    try await withServer(plan: WebSocketTests.plan(acceptance)) { server in
      let client = try server.connect()
      try client.upgrade()
      try client.sendText("close")
      #expect(try client.readFrame() == .close(4000))
      try client.send(8, [0x0f, 0xa0])
      #expect(try client.readToEnd() == [])
      client.close()
      #expect(server.eventually { $0.connections == 0 })
      // The next connection takes the place of the first, and must not get its messages.
      let next = try server.connect()
      try next.upgrade()
      sessions.entries[0].send(.text(Array("stray".utf8)))
      sessions.entries[0].close(4003)
      try next.send(9, [1])
      #expect(try next.readFrame() == Frame(opcode: 10, payload: [1]))
    }
    for session in sessions.entries {
      session.send(.text([]))
      session.close(1000)
      #expect(session.backlog == 0)
    }
  }

  @Test func mayGreetAndCloseAtOnce() async throws {
    try await withServer(
      plan: WebSocketTests.plan(
        WebSocketAcceptance { session in
          session.send(.text(Array("hello".utf8)))
          session.close(4000)
          return Echo(session)
        })
    ) { server in
      let client = try server.connect()
      try client.send(Array(Client.handshake.utf8) + Client.frame(1, Array("dropped".utf8)))
      #expect(try client.readHead().status == 101)
      #expect(try client.readFrame().text == "hello")
      #expect(try client.readFrame() == .close(4000))
    }
  }
}
