internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Synchronization
internal import TestSupport
internal import Testing

// Pings, and messages that take too long.
extension WebSocketTests {
  @Test func cutsWhoAnswersNoPings() async throws {
    let journal = Journal<Told>()
    let plan = WebSocketTests.plan(journal) { $0.limits.pingInterval = .milliseconds(100) }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.upgrade()
      let first = try client.readFrame()
      let second = try client.readFrame()
      #expect(first.opcode == 9 && second.opcode == 9)
      #expect(first.payload != second.payload)
      #expect(try client.endsWithReset())
      #expect(server.eventually { $0.cutConnections == 1 })
      #expect(journal.entries == [.closed(nil)])
    }
  }

  @Test func keepsWhoAnswersPings() async throws {
    let plan = WebSocketTests.plan(Journal()) { $0.limits.pingInterval = .milliseconds(750) }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.upgrade()
      // One more than are sent to a client that answers none.
      for _ in 0..<3 {
        let ping = try client.readFrame()
        #expect(ping.opcode == 9)
        try client.send(10, ping.payload)
      }
      #expect(server.server.statistics.webSockets == 1)
    }
  }

  /// The attack of readers that don't read: a pong that nobody asked for is no sign of life.
  @Test func cutsWhoOnlySendsPongs() async throws {
    let plan = WebSocketTests.plan(Journal()) { $0.limits.pingInterval = .milliseconds(300) }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(
        server.eventually {
          try? client.send(10, [1])
          return $0.cutConnections == 1
        })
    }
  }

  @Test(
    arguments: [
      [0x82], [0x82, 0xfe, 1], Client.frame(2, [], isFinal: false),
      Client.frame(2, [UInt8](repeating: 0, count: 999), isFinal: false),
      Client.frame(2, [1]) + Client.frame(2, [1, 2, 3]).dropLast(),
      Client.frame(2, [1], isFinal: false) + Client.frame(9, [2]),
    ] as [[UInt8]])
  func closesOnAMessageThatIsNeverFinished(beginning: [UInt8]) async throws {
    let journal = Journal<Told>()
    let plan = WebSocketTests.plan(journal) {
      $0.limits.messageTime = .milliseconds(100)
      $0.limits.messageProgress = 1000
    }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.upgrade()
      try client.send(beginning)
      var last = try client.readFrame()
      if last.opcode == 10 { last = try client.readFrame() }
      #expect(last == .close(1008))
      #expect(try client.readToEnd() == [])
      #expect(journal.entries.last == .closed(nil))
    }
  }

  @Test func givesMoreTimeToAMessageThatGrows() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    // At each tick the time is over, and a ping is due that is never answered.
    let plan = WebSocketTests.plan(journal, sessions) {
      $0.limits.messageTime = .zero
      $0.limits.messageProgress = 0
      $0.limits.pingInterval = .milliseconds(1)
    }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.send(
        Array(Client.handshake.utf8) + Client.frame(1, Array("slow".utf8), isFinal: false)
          + Client.frame(9, [1]))
      #expect(try client.readHead().status == 101)
      while try client.readFrame().opcode != 10 {}
      for count in 1...4 {
        sessions.entries[0].setTimer(after: .zero)
        #expect(TestServer.eventually { journal.entries.count == count })
      }
      try client.send(0, Array("ly".utf8))
      #expect(
        TestServer.eventually {
          journal.entries.contains(.message(.text(Array("slowly".utf8))))
        })
      // Only now it is asked whether it lives.
      #expect(try client.readFrame().opcode == 9)
    }
  }
}
