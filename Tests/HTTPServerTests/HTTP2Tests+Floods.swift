internal import Budgets
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import HTTPServer

// Peers that give more work than they take responses.
extension HTTP2Tests {
  /// The flood, and the code of the GOAWAY that ends it.
  enum Flood: String, CaseIterable, Sendable {
    case resets, resetTasks, pings, settings, priorities, emptyData, continuations, longHead
    case references, windowUpdates, unknown

    func send(to client: HTTP2Client) throws {
      let block = HTTP2Client.block(HTTP2Client.request(self == .resetTasks ? "/held" : "/n/1"))
      let head = HTTP2Frame(
        kind: .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: 1,
        payload: block)
      func repeated(_ frame: HTTP2Frame) throws {
        let many = (0..<100).flatMap { _ in frame.bytes }
        for _ in 0..<100 { try client.client.send(many) }
      }
      var open = head
      open.flags = 0
      switch self {
      case .resets, .resetTasks:
        for index in 0..<5000 {
          var head = head
          head.stream = UInt32(index * 2 + 1)
          try client.send(
            head, HTTP2Frame(kind: .reset, stream: head.stream, payload: bigEndian(8)))
        }
      case .pings: try repeated(HTTP2Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)))
      case .settings: try repeated(HTTP2Frame(kind: .settings))
      case .priorities:
        try repeated(HTTP2Frame(kind: .priority, stream: 1, payload: [0, 0, 0, 0, 16]))
      case .emptyData:
        try client.ask(1, "/echo", method: "POST", ends: false)
        try repeated(HTTP2Frame(kind: .data, stream: 1))
      case .continuations:
        try client.send(open)
        try repeated(HTTP2Frame(kind: .continuation, stream: 1))
      case .longHead:
        try client.send(open)
        let more = HTTP2Client.block(
          (0..<120).map { ("x-\($0)", String(repeating: "y", count: 100)) })
        try repeated(HTTP2Frame(kind: .continuation, stream: 1, payload: more))
      case .references:
        // One long field is put into the table and then named by one byte, again and again.
        let entry = HTTP2Client.block([("x", String(repeating: "y", count: 3000))])
        var bomb = head
        bomb.payload += [0x40] + entry.dropFirst() + [UInt8](repeating: 0xbe, count: 5000)
        try client.send(bomb)
      case .windowUpdates:
        try repeated(HTTP2Frame(kind: .windowUpdate, payload: bigEndian(1)))
      case .unknown: try repeated(HTTP2Frame(kind: .unknown, payload: [1, 2, 3]))
      }
    }
  }

  @Test(arguments: Flood.allCases) func cutsOffFloods(_ flood: Flood) async throws {
    let gate = Gate()
    try await withServer(
      .secure(),
      plan: { path, head in
        guard path == "/held" else { return standardPlan(path, head) }
        return .task(bodyLimit: 0) { _ in
          await gate.wait()
          return Response(.ok)
        }
      }
    ) { server in
      let client = try HTTP2Client(server)
      // The end may come while there is still something to send.
      try? flood.send(to: client)
      try? client.readToEnd()
      client.client.close()
      #expect(server.eventually { $0.enhanceYourCalm == 1 && $0.connections == 0 })
      if let last = client.goaways.last { #expect(last.code == 11) }
      gate.open()
    }
  }

  @Test func tellsWhoFloodsToCalmDown() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      for _ in 0..<900 {
        try client.send(HTTP2Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)))
      }
      try client.readToEnd()
      #expect(client.goaways.map(\.code) == [11])
    }
  }

  @Test func runsNoMoreTasksThanStreams() async throws {
    let gate = Gate()
    try await withServer(
      .secure(),
      plan: { _, _ in
        .task(bodyLimit: 0) { _ in
          await gate.wait()
          return Response(.ok)
        }
      }
    ) { server in
      let client = try HTTP2Client(server)
      // So few that nobody calls it a flood.
      for index in 0..<100 {
        let stream = UInt32(index * 2 + 1)
        try client.ask(stream, "/")
        // What is cancelled before it has begun runs no task at all.
        #expect(TestServer.eventually { gate.waiting == index + 1 })
        try client.send(HTTP2Frame(kind: .reset, stream: stream, payload: bigEndian(8)))
      }
      try client.ask(201, "/")
      #expect(try client.response(201).resetCode == 7)
      #expect(TestServer.eventually { gate.waiting == 100 })
      gate.open()
    }
  }

  @Test func chargesHeadsThatAwaitTheirBodies() async throws {
    try await withServer(.secure { $0.memoryPerOwner = 90_000 }) { server in
      let client = try HTTP2Client(server)
      for index in 0..<50 {
        try client.ask(
          UInt32(index * 2 + 1), "/echo", method: "POST", fields: HTTP2Tests.longField, ends: false)
      }
      #expect(try client.response(99).status == "429")
      #expect(server.server.memoryBudget.held > 0)
    }
  }

  @Test func keepsNoHeadBehindItsResponse() async throws {
    let options = try ServerOptions.secure {
      $0.memoryPerOwner = 90_000
      // The client is gone with a window that lets nothing through.
      $0.rateGrace = .seconds(3)
    }
    try await withServer(options) { server in
      let client = try HTTP2Client(server, window: 0)
      client.opensWindow = false
      for index in 0..<50 {
        try client.ask(UInt32(index * 2 + 1), "/n/1", fields: HTTP2Tests.longField)
      }
      while client.responses[99]?.status == nil { try client.step() }
      #expect(client.responses.values.allSatisfy { $0.status == "200" })
      // The streams themselves take 50 KiB.
      #expect(server.server.memoryBudget.held == 48 << 10)
      client.client.close()
      #expect(TestServer.eventually { server.server.memoryBudget.held == 0 })
    }
  }

  @Test func takesManyLongHeadsInTurns() async throws {
    try await withServer(.secure()) { server in
      let client = try HTTP2Client(server)
      let block = HTTP2Client.block(HTTP2Client.request("/n/1"))
      let entry = HTTP2Client.block([("x", String(repeating: "y", count: 3800))])
      let frames = (0..<90).map { index in
        HTTP2Frame(
          kind: .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream,
          stream: UInt32(index * 2 + 1),
          // The first one puts a field into the table, and the others name it by one byte each time.
          payload: block
            + (index == 0 ? [0x40] + entry.dropFirst() : [UInt8](repeating: 0xbe, count: 4)))
      }
      try client.client.send(frames.flatMap(\.bytes))
      for frame in frames { #expect(try client.response(frame.stream).status == "200") }
    }
  }

  private static let longField = [("x", String(repeating: "y", count: 7000))]

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: t\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxx",
  ])
  func endsWhoSpeaksSomethingElse(_ sent: String) async throws {
    try await withServer(.secure()) { server in
      let client = try server.connectTLS(TLSOptions(protocols: ["h2"]))
      try client.send(sent)
      _ = try client.endsWithReset()
      client.close()
      #expect(server.eventually { $0.connections == 0 })
    }
  }
}
