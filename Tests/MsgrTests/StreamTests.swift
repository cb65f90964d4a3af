internal import Formats
internal import Budgets
internal import Cluster
internal import Dispatch
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// Streams and the oldest clients, over sockets.
@Suite(.ownThreads, .serialized) struct StreamTests {
  @Test func bringsWhatComes() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna", device: "stream:anna-1234")
      try await fixture.register("bert")
      try await fixture.send("before", from: "bert", to: "anna")
      let stream = try running.stream(token)
      #expect(stream.status == 101)
      for number in 0..<3 { try await fixture.send("\(number)", from: "bert", to: "anna") }
      _ = try await fixture.post(
        "/add", ["Username": "bert", "Password": "pw", "AddUser": "anna"])
      for number in 0..<3 {
        let message = try await stream.nextObject()
        #expect(message["Message"] as? String == "\(number)")
        #expect(message["UserFrom"] as? String == "bert")
        #expect((message["Id"] as? String)?.utf8.count == 16)
        #expect((message["Time"] as? String)?.hasSuffix("Z") == true)
        #expect(message["AddRequest"] == nil)
      }
      #expect(try await stream.nextObject()["AddRequest"] as? Bool == true)
    }
  }

  @Test func bringsWhatWasMissedFirst() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert")
      let first = try #require(try await fixture.send("0", from: "bert", to: "anna").id)
      for number in 1..<250 { try await fixture.send("\(number)", from: "bert", to: "anna") }
      let stream = try running.stream(token, "?since=\(first)")
      try await fixture.send("250", from: "bert", to: "anna")
      for number in 1...250 {
        #expect(try await stream.nextObject()["Message"] as? String == "\(number)")
      }
    }
  }

  @Test func sendsAndRepliesInOrder() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert")
      let stream = try running.stream(token)
      try stream.send(#"{"UserTo":"bert","Message":"one"}"#)
      try stream.send(#"{"UserTo":"nobody","Message":"two"}"#)
      try stream.send(#"{"UserTo":"bert"}"#)
      try stream.send("[]")
      try stream.send(#"{"UserTo":"bert","Message":"\#(String(repeating: "x", count: 4096))"}"#)
      try stream.send(#"{"UserTo":"bert","Message":"three"}"#)
      #expect((try await stream.nextObject()["Id"] as? String)?.utf8.count == 16)
      for (status, field) in [(403, nil), (400, "Message"), (400, nil), (413, nil)] {
        let reply = try await stream.nextObject()
        #expect(reply["status"] as? Int == status)
        #expect(reply["error"] is String)
        #expect(reply["field"] as? String == field)
      }
      #expect((try await stream.nextObject()["Id"] as? String)?.utf8.count == 16)
      #expect(try await fixture.texts("bert") == ["one", "three"])
    }
  }

  @Test func oneReadServesAllStreamsOfAUser() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let streams = try (0..<20).map { _ in try running.stream(token) }
      func sendToAll(_ text: String) async throws {
        try await fixture.send(text, from: "anna", to: "anna")
        for stream in streams {
          #expect(try await stream.nextObject()["Message"] as? String == text)
        }
      }
      for number in 0..<3 { try await sendToAll("first \(number)") }
      let before = fixture.store.statistics.reads
      for number in 0..<10 { try await sendToAll("\(number)") }
      #expect(fixture.store.statistics.reads - before < 30)
    }
  }

  @Test func anAccountsOldestStreamGoes() async throws {
    try await withRunning("streams_per_account = 3\n") { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let streams = try (0..<5).map { _ in try running.stream(token) }
      for stream in streams.prefix(2) { #expect(try await stream.next() == .closed(1008)) }
      try await fixture.send("m", from: "anna", to: "anna")
      for stream in streams.suffix(3) {
        #expect(try await stream.nextObject()["Message"] as? String == "m")
      }
      #expect(fixture.service.service.hub.count == 3)
    }
  }

  @Test func anAddressHasSoManyStreams() async throws {
    try await withRunning("streams_per_address = 2\n") { running in
      let fixture = running.fixture
      let tokens = [try await fixture.register("anna"), try await fixture.register("bert")]
      let streams = try tokens.map { try running.stream($0) }
      let refused = try running.stream(tokens[0])
      #expect(refused.status == 429)
      #expect(refused.head.contains("Retry-After: 60"))
      streams[0].cut()
      try await waitUntil { try running.stream(tokens[1]).status == 101 }
    }
  }

  @Test func theLargestHolderLosesItsIdlestStream() async throws {
    try await withRunning("streams = 2\n") { running in
      let slots = running.fixture.service.service.slots
      let network = IPAddress("192.0.2.1").map(ClientNetwork.init(of:))
      let token = try await running.fixture.register("anna")
      let streams = try (0..<2).map { _ in try running.stream(token) }
      try await waitUntil { slots.statistics.held == 2 }
      let bert = try UserName("bert", in: .username)
      let place = try slots.acquire(for: network, bert)
      // Which one it is depends on the moment; its peer doesn't answer the close frame.
      try await waitUntil(within: .seconds(20)) {
        running.fixture.service.service.hub.count == 1
      }
      #expect(slots.statistics.lost == 1)
      let error = #expect(throws: RequestRefusal.self) { try slots.acquire(for: network, bert) }
      #expect(error == .tooManyStreams(retryAfter: 60))
      place.leave()
      streams.forEach { $0.cut() }
    }
  }

  @Test func sendsThatWaitAreNotReceived() async throws {
    try await withRunning("messages_per_minute = 100000\n") { running in
      let fixture = running.fixture
      let stream = try running.stream(try await fixture.register("anna"))
      try await fixture.register("bert", device: "stream:bert-1234")
      let text = String(repeating: "x", count: 1000)
      for _ in 0..<300 { try stream.send(#"{"UserTo":"bert","Message":"\#(text)"}"#) }
      for _ in 0..<300 { #expect(try await stream.nextObject()["Id"] is String) }
    }
  }

  @Test func takesNoBinary() async throws {
    try await withRunning { running in
      let stream = try running.stream(try await running.fixture.register("anna"))
      try stream.send(.binary, [1])
      #expect(try await stream.next() == .closed(1003))
    }
  }

  @Test func endsWithItsToken() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let first = try running.stream(token)
      let login = try await fixture.post(
        "/login", ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("anna")])
      #expect(try await first.next() == .closed(1008))
      let second = try running.stream(login.object["Token"] as? String)
      _ = try await fixture.post("/logout", [:], token: login.object["Token"] as? String)
      #expect(try await second.next() == .closed(1008))
      let third = try running.stream(try await fixture.register("bert"))
      _ = try await fixture.post("/delete", ["Username": "bert", "Password": "pw"])
      #expect(try await third.next() == .closed(1008))
    }
  }

  @Test func needsATokenAndAPosition() async throws {
    try await withRunning { running in
      let token = try await running.fixture.register("anna")
      #expect(try running.stream(nil).status == 403)
      #expect(try running.stream(String(repeating: "ab", count: 32)).status == 403)
      for query in ["?since=", "?since=1", "?since=%zz"] {
        let refused = try running.stream(token, query)
        #expect(refused.status == 400)
        #expect(refused.refusal.contains(#""field":"Since""#))
      }
      #expect(try running.stream(token, "?other=1").status == 101)
    }
  }

  @Test func aStoppingServerSaysSo() async throws {
    let running = try await Running()
    let stream = try running.stream(try await running.fixture.register("anna"))
    async let stopped: Void = running.stop()
    #expect(try await stream.next() == .closed(1001))
    // It may have waited long enough already.
    try? stream.sendClose(1001)
    await stopped
  }

  // MARK: - Streams and pushes

  /// Returns the pushes in the outbox, each with whether it is due or held.
  private func pushes(_ running: Running) async throws -> [String] {
    let now = running.fixture.clock.now.milliseconds
    return try await running.fixture.store.read { snapshot in
      try snapshot.all("SELECT content, due_at FROM push_outbox ORDER BY id") { row in
        let due: Int64 = try row[1]
        return "\(PushFixture.text(of: try row[0])) \(due <= now ? "due" : "held")"
      }
    }
  }

  private func expectPushes(_ expected: [String], _ running: Running) async throws {
    try? await waitUntil { try await pushes(running) == expected }
    #expect(try await pushes(running) == expected)
  }

  @Test func whatABrokenStreamMayNotHaveDeliveredIsPushed() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert", device: "stream:bert-1234")
      try await fixture.send("before", from: "bert", to: "anna")
      let stream = try running.stream(token)
      try await fixture.send("streamed", from: "bert", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "streamed")
      #expect(try await pushes(running) == ["before due", "streamed held"])
      stream.cut()
      try await expectPushes(["before due", "streamed due"], running)
      try await fixture.send("after", from: "bert", to: "anna")
      #expect(try await pushes(running).last == "after due")
    }
  }

  @Test func whatAStreamClosedInOrderHasDeliveredIsNotPushed() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let stream = try running.stream(token)
      try await fixture.send("streamed", from: "anna", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "streamed")
      try stream.sendClose(1000)
      #expect(try await stream.next() == .closed(1000))
      try await expectPushes([], running)
    }
  }

  @Test func whatAnAnsweredPingConfirmsIsNotPushed() async throws {
    try await withRunning("stream_ping = \"1s\"\n") { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let stream = try running.stream(token)
      try await fixture.send("one", from: "anna", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "one")
      // The ping is answered while the next message is awaited.
      async let next = stream.next()
      try await expectPushes([], running)
      stream.repliesToPings = false
      try await fixture.send("two", from: "anna", to: "anna")
      guard case .text(let text) = try await next else { return #expect(Bool(false)) }
      #expect(text.contains(#""Message":"two""#))
      #expect(try await pushes(running) == ["two held"])
      stream.cut()
      try await expectPushes(["two due"], running)
    }
  }

  @Test func oneStreamOfADeviceIsEnough() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      let streams = [try running.stream(token), try running.stream(token)]
      try await fixture.send("m", from: "anna", to: "anna")
      for stream in streams { #expect(try await stream.nextObject()["Message"] as? String == "m") }
      streams[0].cut()
      try streams[1].sendClose(1000)
      #expect(try await streams[1].next() == .closed(1000))
      try await expectPushes([], running)
    }
  }

  @Test func aDeviceThatIsBackAtOnceIsNotPushedTo() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert", device: "stream:bert-1234")
      var stream = try running.stream(token)
      for number in 0..<20 {
        try await fixture.send("\(number)", from: "bert", to: "anna")
        #expect(try await stream.nextObject()["Message"] as? String == "\(number)")
        try stream.sendClose(1000)
        #expect(try await stream.next() == .closed(1000))
        stream = try running.stream(token)
        try await fixture.send("\(number) again", from: "bert", to: "anna")
        #expect(try await stream.nextObject()["Message"] as? String == "\(number) again")
      }
      #expect(try await pushes(running).allSatisfy { $0.hasSuffix("held") })
      try stream.sendClose(1000)
      #expect(try await stream.next() == .closed(1000))
      try await expectPushes([], running)
    }
  }

  @Test(.enabled(if: TestStore.isSQLite, "needs the one writer"))
  func whatIsHeldForAStreamThatEndsBeforeTheCommitIsPushed() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert", device: "stream:bert-1234")
      let stream = try running.stream(token)
      // The writer is kept busy, so that the message waits behind.
      let isBusy = DispatchSemaphore(value: 0)
      let mayGoOn = DispatchSemaphore(value: 0)
      async let busy: Void = fixture.store.write { _ in
        isBusy.signal()
        mayGoOn.wait()
      }
      while isBusy.wait(timeout: .now()) != .success { await Task.yield() }
      async let sent = fixture.send("late", from: "bert", to: "anna")
      while fixture.store.statistics.queuedWrites == 0 { await Task.yield() }
      stream.cut()
      while fixture.service.service.hub.count > 0 { await Task.yield() }
      mayGoOn.signal()
      try await busy
      #expect(try await sent.status == 200)
      #expect(try await pushes(running) == ["late due"])
    }
  }

  @Test func whatABrokenStreamMayNotHaveDeliveredIsPushedBesideAnother() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let token = try await fixture.register("anna")
      try await fixture.register("bert", device: "stream:bert-1234")
      let stream = try running.stream(token)
      try await fixture.send("one", from: "bert", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "one")
      let next = try running.stream(token)
      try await fixture.send("two", from: "bert", to: "anna")
      #expect(try await next.nextObject()["Message"] as? String == "two")
      #expect(try await stream.nextObject()["Message"] as? String == "two")
      stream.cut()
      try await expectPushes(["one due", "two held"], running)
    }
  }

  /// The clients of 2011 send JSON under a form's content type, and no token.
  @Test func theOldestClientsAreServed() async throws {
    try await withRunning { running in
      try await running.fixture.register("anna")
      try await running.fixture.register("bert")
      let body =
        #"{"UserFrom":"anna","Password":"pw","UserTo":"bert","Message":"it's 2011 & all is \u00e9"}"#
      let response = try curl(
        "-s", "-w", "%{http_code}", "--http1.0", "-H",
        "Content-Type: application/x-www-form-urlencoded", "-d", body,
        "http://127.0.0.1:\(running.port)/message")
      #expect(response.hasSuffix("200"))
      #expect(try await running.fixture.texts("bert") == ["it's 2011 & all is é"])
      let bare = try curl(
        "-s", "-X", "POST", "-H", "Username: bert", "-H", "Password: pw",
        "http://127.0.0.1:\(running.port)/contacts")
      #expect(bare == "[]")
      let large = try curl(
        "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Transfer-Encoding: chunked", "-d",
        String(repeating: "x", count: 65537), "http://127.0.0.1:\(running.port)/message")
      #expect(large == "413")
    }
  }

  private func curl(_ arguments: String...) throws -> String {
    try ChildProcess.run("curl", arguments).output
  }
}
