internal import Glibc
internal import HTTPProtocol
internal import HTTPServer
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Formats

@Suite("Pipelining", .ownThreads) struct PipeliningTests {
  private static func burst(_ count: Int, _ path: (Int) -> String) -> [UInt8] {
    Array((0..<count).map { "GET \(path($0)) HTTP/1.1\r\nHost: t\r\n\r\n" }.joined().utf8)
  }

  @Test(arguments: [1, 2, 3, 7])
  func keepsTheOrder(everySlow: Int) async throws {
    let path: @Sendable (Int) -> String = { $0 % everySlow == 0 ? "/slow/\($0)" : "/n/\($0)" }
    try await withServer { server in
      let client = try server.connect()
      try client.send(PipeliningTests.burst(200, path))
      for number in 0..<200 { #expect(try client.readResponse().text == path(number)) }
    }
  }

  @Test func keepsTheOrderWhenTasksAnswerWithoutSuspending() async throws {
    try await withServer(plan: { path, _ in
      .task(bodyLimit: 0) { _ in Response(.ok, type: "text/plain", text: path) }
    }) { server in
      let client = try server.connect()
      try client.send(PipeliningTests.burst(1000) { "/\($0)" })
      for number in 0..<1000 { #expect(try client.readResponse().text == "/\(number)") }
    }
  }

  /// More than the output limit in one turn, all of which the socket takes at once.
  @Test(arguments: [0, 100, 1000, 5000])
  func answersABurst(size: Int) async throws {
    let filler = String(repeating: "x", count: size)
    try await withServer(plan: { path, _ in
      .respond(bodyLimit: 0) { _ in Response(.ok, type: "text/plain", text: path + filler) }
    }) { server in
      let client = try server.connect()
      for round in 0..<2 {
        try client.send(PipeliningTests.burst(1800) { "/\(round)/\($0)" })
        for number in 0..<1800 {
          #expect(try client.readResponse().text == "/\(round)/\(number)" + filler)
        }
      }
    }
  }

  @Test(arguments: [nil, false, true])
  func waitsForASlowReader(isPlaced: Bool?) async throws {
    let handled = Flow()
    let document = (0..<34_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let shared = isPlaced == true ? Bytes(document).placedForSending() : Bytes(document)
    #expect((shared.place != nil) == (isPlaced == true))
    try await withServer(plan: { path, _ in
      .respond(bodyLimit: 0) { _ in
        handled.count()
        var response = Response(.ok, body: isPlaced == nil ? .array(document) : .bytes(shared))
        response.fields.append(.link, path)
        return response
      }
    }) { server in
      let client = try server.connect(receiveBuffer: 4096)
      let requests = PipeliningTests.burst(1800) { "/\($0)" }
      try client.send(requests)
      // The kernel's buffers hold some megabytes of the 61; the server stops there.
      #expect(handled.comesToRest() < 900)
      for number in 0..<1800 {
        let response = try client.readResponse()
        #expect(response.fields["link"] == "/\(number)")
        #expect(response.body == document)
      }
      #expect(handled.value == 1800)
    }
  }

  /// The response to the last request that had come is more than the socket takes: once that is written, the connection
  /// listens again.
  @Test(arguments: [false, true], [false, true])
  func listensAgainAfterTheLastLargeAnswer(isTask: Bool, isPlaced: Bool) async throws {
    // Linux takes at most 4 MiB from a server at once, unless somebody has set it otherwise.
    let text = (0..<(12 << 20)).map { UInt8(truncatingIfNeeded: $0 / 11) }
    let document = isPlaced ? Bytes(text).placedForSending() : Bytes(text)
    try await withServer(plan: { _, _ in
      isTask
        ? .task(bodyLimit: 0) { _ in Response(.ok, body: .bytes(document)) }
        : .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(document)) }
    }) { server in
      let client = try server.connect()
      for _ in 0..<2 {
        try client.send(PipeliningTests.burst(2) { "/\($0)" })
        for _ in 0..<2 { #expect(try client.readResponse().body == text) }
      }
      client.shutdownWriting()
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func readsNoFurtherWhileATaskAnswers() async throws {
    let gate = Gate()
    try await withServer(plan: { path, _ in
      .task(bodyLimit: 0) { _ in
        await gate.wait()
        return Response(.ok, type: "text/plain", text: path)
      }
    }) { server in
      let client = try server.connect()
      let requests = PipeliningTests.burst(400_000) { "/\($0)" }
      var sent = 0
      while true {
        let count = try client.sendWithoutWaiting(Array(requests[sent...].prefix(1 << 20)))
        sent += count
        guard count == 0 else { continue }
        // Nothing but time shows that the server takes no more.
        pause(milliseconds: 100)
        guard try client.sendWithoutWaiting(Array(requests[sent...].prefix(1))) == 0 else {
          sent += 1
          continue
        }
        break
      }
      #expect(server.server.statistics.bytesReceived <= 256 << 10)
      #expect(TestServer.eventually { gate.waiting == 1 })
      gate.open()
      for number in 0..<500 { #expect(try client.readResponse().text == "/\(number)") }
      client.reset()
    }
  }
}

/// Counts, and tells when nothing more is counted.
private final class Flow: Sendable {
  private let counter = Atomic<Int>(0)

  var value: Int { counter.load(ordering: .relaxed) }

  func count() { counter.add(1, ordering: .relaxed) }

  /// Waits until half a second brings nothing new.
  func comesToRest() -> Int {
    var last = -1
    while last != value {
      last = value
      pause(milliseconds: 500)
    }
    return last
  }
}
