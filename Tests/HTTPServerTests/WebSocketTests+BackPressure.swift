internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Synchronization
internal import TestSupport
internal import Testing

// Peers that read slowly, or not at all.
extension WebSocketTests {
  @Test func closesAboveTheHighWaterMark() async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    let plan = WebSocketTests.plan(journal, sessions) { $0.highWaterMark = 100_000 }
    try await withServer(plan: plan) { server in
      let stuck = try server.connect(receiveBuffer: 4096)
      try stuck.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      let other = try server.connect()
      try other.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 2 })
      let message = [UInt8](repeating: 0x61, count: 50_000)
      // Twice as much and more as waits for the stuck one anywhere. It has five seconds from the mark on to take it.
      for _ in 0..<40 {
        for session in sessions.entries { session.send(.binary(message)) }
        #expect(try other.readFrame().payload == message)
      }
      // The stuck one gets what was sent before the mark was reached, and then the reason.
      var last = try stuck.readFrame()
      while last.opcode == 2 {
        #expect(last.payload == message)
        last = try stuck.readFrame()
      }
      #expect(last == .close(1013))
      other.close()
      try stuck.send(8, [0x03, 0xf5])
      #expect(try stuck.readToEnd() == [])
    }
  }

  @Test func cutsAStuckReaderAboveTheHighWaterMark() async throws {
    let sessions = Journal<WebSocketSession>()
    let plan = WebSocketTests.plan(Journal(), sessions) { $0.highWaterMark = 100_000 }
    try await withServer(plan: plan) { server in
      let stuck = try server.connect(receiveBuffer: 4096)
      try stuck.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      let message = [UInt8](repeating: 0x61, count: 50_000)
      for _ in 0..<500 {
        sessions.entries[0].send(.binary(message))
        // A turn of its own for each, so that the socket is full and not only the turn.
        pause(milliseconds: 1)
      }
      #expect(server.eventually { $0.cutConnections == 1 && $0.connections == 0 })
    }
  }

  @Test func refusesAMessageAboveTheHighWaterMark() async throws {
    let sessions = Journal<WebSocketSession>()
    let plan = WebSocketTests.plan(Journal(), sessions) { $0.highWaterMark = 1000 }
    try await withServer(plan: plan) { server in
      let client = try server.connect()
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      sessions.entries[0].send(.binary([UInt8](repeating: 0, count: 1001)))
      #expect(try client.readFrame() == .close(1013))
    }
  }

  /// Whether the socket takes all at once or not.
  @Test(arguments: [100_000, 8 << 20])
  func tellsWhenDrained(count: Int) async throws {
    let journal = Journal<Told>()
    let sessions = Journal<WebSocketSession>()
    let plan = WebSocketTests.plan(journal, sessions) { $0.highWaterMark = 16 << 20 }
    try await withServer(plan: plan) { server in
      let client = try server.connect(receiveBuffer: 65536)
      try client.upgrade()
      #expect(TestServer.eventually { sessions.entries.count == 1 })
      sessions.entries[0].send(.binary([UInt8](repeating: 0, count: count)))
      #expect(try client.readFrame().payload.count == count)
      #expect(TestServer.eventually { journal.entries == [.drained] })
    }
  }
}
