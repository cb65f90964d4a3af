internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Formats

@testable import HTTPServer

// Slow peers, and the end of a server.
extension HTTP2Tests {
  @Test func endsAnIdleConnection() async throws {
    try await withServer(.secure { $0.idleTimeout = .milliseconds(600) }) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/n/1")
      _ = try client.response(1)
      try client.readToEnd()
      #expect(client.goaways.map(\.code) == [0])
      #expect(client.client.wasShutInOrder)
    }
  }

  @Test(arguments: [false, true]) func endsWhoNeverAsks(beginsHead: Bool) async throws {
    try await patiently { timeout in
      try await withServer(.secure { $0.headerTimeout = timeout }) { server in
        let client = try HTTP2Client(server)
        // Its settings are to be acknowledged first: amid a head there may be nothing else.
        while client.settings.isEmpty { try client.step() }
        if beginsHead {
          let head = HTTP2Client.block(HTTP2Client.request("/"))
          try client.send(HTTP2Frame(kind: .headers, stream: 1, payload: head))
        }
        try client.readToEnd()
        try demand(client.goaways.map(\.code) == [beginsHead ? 11 : 0], "\(client.goaways)")
      }
    }
  }

  @Test func refusesASlowBody() async throws {
    try await withServer(
      .secure {
        $0.rateGrace = .milliseconds(400)
        $0.minimumRate = 10_000
      }
    ) { server in
      let client = try HTTP2Client(server)
      try client.ask(1, "/echo", method: "POST", ends: false)
      try client.sendBody(1, [1], ends: false)
      #expect(try client.response(1).status == "408")
      try client.ask(3, "/n/1")
      #expect(try client.response(3).status == "200")
    }
  }

  @Test func cutsAReaderWhoOpensNoWindow() async throws {
    let body = Bytes([UInt8](repeating: 1, count: 1 << 20))
    try await withServer(
      .secure {
        $0.rateGrace = .milliseconds(400)
        $0.minimumRate = 1_000_000
      }, plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(body)) } }
    ) { server in
      let client = try HTTP2Client(server, window: 10)
      client.opensWindow = false
      try client.ask(1, "/")
      #expect(server.eventually { $0.cutConnections == 1 && $0.connections == 0 })
    }
  }

  @Test func finishesStreamsWhenItDrains() async throws {
    let gate = Gate()
    try await withServer(.secure(), plan: DrainTests.waiting(gate)) { server in
      let client = try HTTP2Client(server)
      let idle = try HTTP2Client(server)
      try idle.step()
      try client.ask(1, "/wait")
      #expect(TestServer.eventually { gate.waiting == 1 })
      let isOver = server.beginDrain()
      while client.goaways.count < 1 { try client.step() }
      // The first notice leaves time for what is on its way: until the PING behind it is acknowledged.
      #expect(client.goaways[0].last == UInt32(Int32.max))
      try client.ask(3, "/wait")
      while client.goaways.count < 2 { try client.step() }
      #expect(client.goaways[1].last == 3 && client.goaways[1].code == 0)
      gate.open()
      #expect(try client.response(1).text == "done")
      #expect(try client.response(3).text == "done")
      try client.readToEnd()
      try idle.readToEnd()
      #expect(idle.goaways.map(\.code) == [0])
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  @Test func awaitsNoAnswerToItsNoticeForEver() async throws {
    let gate = Gate()
    try await withServer(.secure(), plan: DrainTests.waiting(gate)) { server in
      let client = try HTTP2Client(server)
      client.acknowledgesPings = false
      try client.ask(1, "/wait")
      #expect(TestServer.eventually { gate.waiting == 1 })
      let isOver = server.beginDrain()
      while client.goaways.count < 2 { try client.step() }
      #expect(client.goaways.map(\.last) == [UInt32(Int32.max), 1])
      gate.open()
      #expect(try client.response(1).text == "done")
      try client.readToEnd()
      #expect(TestServer.eventually { isOver.isSet })
    }
  }
}
