internal import Configuration
internal import Foundation
internal import HTTP2StandIn
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The way from the outbox to FCM, over HTTP/2.
@Suite(.ownThreads, .serialized) struct FCMDeliveryTests {
  private let fixture: PushFixture
  private let folder = TemporaryFolder()

  init() async throws {
    fixture = try await PushFixture()
    try await fixture.makeUser("anna")
  }

  private static func device(_ number: Int) -> DeviceID {
    DeviceID(stored: "fcm:Token_\(number):" + String(repeating: "x-Y", count: 20))
  }

  private func write(_ account: [UInt8]) throws {
    try Data(account).write(to: URL(filePath: "\(folder.path)/fcm.json"))
  }

  private func provider(
    _ standIn: FCMStandIn, metrics: Metrics = Metrics(), tokenURL: String? = nil
  ) throws -> FCMProvider {
    try write(try ServiceAccountFile.bytes(tokenURL: standIn.tokenURL))
    let toml = """
      [push.fcm]
      credentials = "\(folder.path)/fcm.json"
      url = "\(standIn.url)"
      token_url = "\(tokenURL ?? "")"
      roots = "\(try TestCertificates.shared.get().authority.certificate)"
      """
    let document = try ConfigurationDocument(
      parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml")
    let section = ConfigurationReader(document).section("push").section("fcm")
    let configuration = try #require(FCMConfiguration(section))
    try section.finish()
    return try FCMProvider(
      configuration, streams: 100, clock: { [clock = fixture.clock] in clock.now },
      metrics: metrics)
  }

  private func outbox(
    _ provider: any PushProvider, _ kind: PushKind = .fcm, owner: [UInt8] = [1],
    metrics: Metrics = Metrics(), log: Log = Log(level: .error, descriptor: -1)
  ) -> PushOutbox {
    var limits = OutboxMachine.Limits(of: kind)
    limits.poll = .milliseconds(20)
    return PushOutbox(
      kind, store: fixture.outbox, provider: provider, services: fixture.services,
      limits: limits, leases: DirectLeases(owner: owner), log: log,
      metrics: PushMetrics(metrics, clock: fixture.store.clock))
  }

  /// Pushes until the outbox is empty; the clock runs fast while nothing is under way.
  private func runUntilEmpty(
    _ outbox: PushOutbox, owner: [UInt8] = [1], step: Duration = .milliseconds(500)
  ) async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { await outbox.run() }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        if try await fixture.count("push_outbox") == 0 { return true }
        if try await fixture.leased(by: owner) == 0 { fixture.clock.advance(by: step) }
        outbox.wake()
        return false
      }
      group.cancelAll()
    }
  }

  @Test func pushesWithWhatGoogleDemands() async throws {
    try await fixture.makeUser("bert", Self.device(1))
    let id = try await fixture.send("ein \"Wort\"\n…", to: "bert", isAddRequest: true)
    let time = fixture.clock.now
    let standIn = try FCMStandIn()
    let metrics = Metrics()
    try await runUntilEmpty(outbox(try provider(standIn, metrics: metrics), metrics: metrics))
    #expect(standIn.faults == [])
    #expect(standIn.received.count == 1)
    let received = try #require(standIn.received.first)
    #expect(received.device == Self.device(1).fcmToken.map(String.init))
    #expect(
      received.data == [
        "Id": id.text, "UserFrom": "anna", "Message": "ein \"Wort\"\n…", "Time": "\(time)",
        "Badge": "1", "AddRequest": "true",
      ])
    #expect(received.priority == "HIGH")
    // A week, less what has passed since.
    let life = try #require(received.life.hasSuffix("s") ? Int(received.life.dropLast()) : nil)
    #expect((604_700...604_800).contains(life))
    #expect(try await fixture.outbox.hasProven("\(standIn.url) wallet-1"))
    let text = metrics.render()
    #expect(text.contains(#"awd_push_answers_total{provider="fcm",status="200"} 1"#))
    #expect(text.contains(#"awd_push_grants_total{result="granted"} 1"#))
    #expect(text.contains(#"awd_push_seconds_count{provider="fcm"} 1"#))
  }

  @Test func theLongestMessageAndAPublishedOneFit() throws {
    let name = String(repeating: "n", count: 64)
    let sender = UserName(stored: name)
    // Blanks are not escaped, so they leave most room.
    for character in ["x", "é", "\"", "\n"] {
      var text = ""
      while let longer = try? MessageText(text + String(repeating: character, count: 16)),
        longer.fitsIntoPush(from: sender)
      { text = longer.text }
      let push = try PushFixture.push(text: text, from: name, isAddRequest: true, badge: 9_999_999)
      let message = try #require(push.message)
      let json = try #require(
        try JSONSerialization.jsonObject(with: Data(FCMMessage.data(of: message)))
          as? [String: String])
      #expect(json["Message"] == text)
      #expect(json.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 4096)
    }
    func json(_ push: LeasedPush, at time: Timestamp) throws -> String {
      let data = FCMMessage.data(of: try #require(push.message))
      return String(decoding: FCMProvider.message(push, data, [], at: time), as: UTF8.self)
    }
    let published = try PushFixture.push(
      parts: MessageParts(title: "T", priority: 1, link: "https://example.org/"))
    let late = try json(published, at: published.expires + .seconds(1))
    #expect(late.contains(#""Link":"https://example.org/","Priority":"1","Title":"T""#))
    #expect(late.contains(#""priority":"NORMAL","ttl":"0s""#))
    let early = try json(try PushFixture.push(), at: Timestamp(seconds: 0))
    #expect(early.contains(#""priority":"HIGH","ttl":"2419200s""#))
  }

  @Test func oneGrantForAllAndEachDeviceInOrder() async throws {
    for device in 0..<40 { try await fixture.makeUser("u\(device)", Self.device(device)) }
    for text in ["1", "2", "3"] {
      for device in 0..<40 { try await fixture.send(text, to: "u\(device)") }
    }
    let standIn = try FCMStandIn(otherwise: .respond(200, body: "{}", after: 5))
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    #expect(standIn.grants == 1)
    #expect(standIn.received.count == 120)
    for device in 0..<40 {
      let token = Self.device(device).fcmToken.map(String.init)
      let texts = standIn.received.filter { $0.device == token }.map { $0.data["Message"] }
      #expect(texts == ["1", "2", "3"])
    }
  }

  @Test func aTokenIsRenewedBeforeItsEndWhileItServes() async throws {
    try await fixture.makeUser("bert", Self.device(1))
    // The renewal fails once, and hangs once.
    let granted = StandInResponse.respond(
      200, body: #"{"access_token":"first","expires_in":1000,"token_type":"bearer"}"#)
    let standIn = try FCMStandIn(
      grants: [granted, .respond(503), .silence], life: 1000)
    let provider = try provider(standIn)
    let to = try PushFixture.push(device: Self.device(1))
    func tokens() async -> [String] {
      _ = try? await PushFixture.push(to, by: provider)
      return standIn.received.map(\.token)
    }
    #expect(await tokens().last == "first")
    fixture.clock.advance(by: .seconds(899))
    #expect(await tokens().last == "first" && standIn.grants == 1)
    fixture.clock.advance(by: .seconds(1))
    #expect(await tokens().last == "first")
    try await waitUntil { standIn.grants == 2 }
    #expect(await tokens().last == "first")
    try await Task.sleep(for: .milliseconds(200))
    // The one that failed is not followed by another at once.
    #expect(standIn.grants == 2)
    fixture.clock.advance(by: .seconds(10))
    for _ in 0..<5 { #expect(await tokens().last == "first") }
    try await waitUntil { standIn.grants == 3 }
    #expect(standIn.grants == 3)
    // At its end nothing goes out by it.
    fixture.clock.advance(by: .seconds(90))
    let before = standIn.received.count
    guard case .unreachable(let why) = try await PushFixture.push(to, by: provider) else {
      Issue.record("there is no token")
      return
    }
    #expect(why.hasPrefix("no access token: "))
    #expect(standIn.received.count == before)
    #expect(await tokens().last == "ya29.4")
  }

  @Test(
    arguments: [
      .respond(400, body: #"{"error":"invalid_grant","error_description":"secret-words"}"#),
      .respond(401), .respond(500), .respond(302, fields: ["location": "https://127.0.0.1:1/"]),
      .respond(200, body: "no JSON"), .respond(200, body: "{}"), .drop, .reset,
      .respond(200, body: #"{"access_token":"a b","expires_in":9,"token_type":"Bearer"}"#),
      .respond(200, body: #"{"access_token":"a","expires_in":0,"token_type":"Bearer"}"#),
      .respond(200, body: #"{"access_token":"a","token_type":"Bearer"}"#),
      .respond(
        200,
        body: #"{"access_token":"a","expires_in":9,"token_type":"Bearer","x":""#
          + String(repeating: "x", count: 20_000) + #""}"#),
    ] as [StandInResponse])
  func withoutATokenAllWaitAndNothingIsLost(answer: StandInResponse) async throws {
    for device in 0..<3 { try await fixture.makeUser("u\(device)", Self.device(device)) }
    for device in 0..<3 { try await fixture.send(to: "u\(device)") }
    let standIn = try FCMStandIn(grants: [answer, answer])
    let folder = TemporaryFolder()
    let metrics = Metrics()
    try await withLog(in: folder) { log in
      try await runUntilEmpty(
        outbox(try provider(standIn, metrics: metrics), metrics: metrics, log: log))
    }
    #expect(standIn.faults == [])
    #expect(standIn.grants == 3)
    #expect(standIn.received.count == 3)
    let lines = try String(contentsOfFile: "\(folder.path)/log", encoding: .utf8)
    #expect(lines.contains("no access token"))
    for secret in ["secret-words", "eyJ", "Token_", "hello", "PRIVATE"] {
      #expect(!lines.contains(secret), "\(secret)")
    }
  }

  private func withLog(in folder: TemporaryFolder, _ body: (Log) async throws -> Void) async throws
  {
    let path = "\(folder.path)/log"
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: path))
    try await body(Log(level: .debug, descriptor: file.fileDescriptor))
    try file.close()
  }

  @Test func aLongResponseCountsByItsStatus() async throws {
    try await fixture.makeUser("bert", Self.device(1))
    try await fixture.send("1", to: "bert")
    let standIn = try FCMStandIn([.respond(200, body: String(repeating: "x", count: 17_000))])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.received.map { $0.data["Message"] } == ["1"])
  }

  @Test(
    arguments: [
      FCMStandIn.fault(429, "QUOTA_EXCEEDED"),
      FCMStandIn.fault(503, "UNAVAILABLE", fields: ["retry-after": "2"]),
      FCMStandIn.fault(500, "INTERNAL"), .respond(502, body: "<html>"), .refuse, .reset, .drop,
      .respond(503, body: "", goesAway: true),
    ] as [StandInResponse])
  func isTriedAgainWithTheSameData(answer: StandInResponse) async throws {
    try await fixture.makeUser("bert", Self.device(1))
    try await fixture.send("1", to: "bert")
    try await fixture.send("2", to: "bert")
    let standIn = try FCMStandIn([answer, answer])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    #expect(standIn.received.map { $0.data["Message"] } == ["1", "1", "1", "2"])
    #expect(Set(standIn.received[..<3].map(\.data)).count == 1)
    #expect(standIn.grants == 1)
  }

  @Test(
    arguments: [
      .respond(302, fields: ["location": "https://127.0.0.1:1/"]),
      FCMStandIn.fault(401, "THIRD_PARTY_AUTH_ERROR"),
      FCMStandIn.fault(400, "INVALID_ARGUMENT", field: "message.data[0].value"),
      FCMStandIn.fault(400, nil), .respond(413),
    ] as [StandInResponse])
  func anythingElseIsDroppedAndHoldsUpNobody(answer: StandInResponse) async throws {
    try await fixture.makeUser("bert", Self.device(1))
    try await fixture.send("1", to: "bert")
    try await fixture.send("2", to: "bert")
    let standIn = try FCMStandIn([answer])
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(5))
    #expect(standIn.received.map { $0.data["Message"] } == ["1", "2"])
    #expect(standIn.grants == 1)
    #expect(try await fixture.count("msgr_devices") == 1)
    #expect(before.duration(to: fixture.clock.now) < .seconds(5))
  }

  @Test func aTokenThatIsRefusedIsReplacedOnceThenAllPause() async throws {
    for device in 0..<20 { try await fixture.makeUser("u\(device)", Self.device(device)) }
    for device in 0..<20 { try await fixture.send(to: "u\(device)") }
    let refused = StandInResponse.respond(401, body: #"{"error":{"code":401,"status":"U"}}"#)
    let one = try FCMStandIn(Array(repeating: refused, count: 20))
    try await runUntilEmpty(outbox(try provider(one)))
    #expect(one.faults == [])
    #expect(one.received.count == 40)
    // However many were refused with the first one.
    #expect(one.grants == 2)
    for device in 0..<20 { try await fixture.send(to: "u\(device)") }
    let all = try FCMStandIn(Array(repeating: refused, count: 40))
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(all)))
    #expect(all.received.count == 60)
    #expect(before.duration(to: fixture.clock.now) >= .seconds(1))
    #expect((3...4).contains(all.grants))
  }

  @Test func aDeviceThatIsGoneIsUnbound() async throws {
    for device in 1...3 { try await fixture.makeUser("bert", Self.device(device)) }
    try await fixture.send("0", to: "bert")
    fixture.clock.advance(by: .seconds(1))
    let standIn = try FCMStandIn([
      .respond(200, body: "{}"), FCMStandIn.fault(404, "UNREGISTERED"),
      FCMStandIn.fault(403, "SENDER_ID_MISMATCH"),
    ])
    let provider = try provider(standIn)
    // One after the other, so that the first has proven the project.
    var limits = OutboxMachine.Limits(inFlight: 1, of: .fcm)
    limits.poll = .milliseconds(20)
    try await runUntilEmpty(
      PushOutbox(
        .fcm, store: fixture.outbox, provider: provider, services: fixture.services,
        limits: limits, leases: DirectLeases(owner: [1]),
        log: Log(level: .error, descriptor: -1),
        metrics: PushMetrics(Metrics(), clock: fixture.store.clock)))
    #expect(try await fixture.count("msgr_devices") == 1)
    // Bound again while it is called gone: it stays.
    try await fixture.send("1", to: "bert")
    let push = try #require(
      try await fixture.lease(1, owner: [1], of: .fcm).first)
    guard case .responded(let gone) = try await PushFixture.push(push, by: provider) else {
      Issue.record("no response")
      return
    }
    fixture.clock.advance(by: .seconds(1))
    let now = fixture.clock.now
    try await fixture.store.store.write { transaction in
      try transaction.execute("UPDATE msgr_devices SET bound_at = ?", now)
    }
    try await fixture.complete(push, .unbound(boundBefore: gone.timestamp))
    #expect(try await fixture.count("msgr_devices") == 1)
    #expect(try await fixture.count("push_outbox") == 0)
  }

  @Test func aWrongProjectUnbindsNobody() async throws {
    for device in 0..<3 { try await fixture.makeUser("u\(device)", Self.device(device)) }
    for device in 0..<3 { try await fixture.send(to: "u\(device)") }
    let bad = FCMStandIn.fault(403, "SENDER_ID_MISMATCH")
    let malformed = FCMStandIn.fault(400, "INVALID_ARGUMENT", field: "message.token")
    let standIn = try FCMStandIn([
      bad, malformed, bad, .respond(200, body: "{}"), malformed, .respond(200, body: "{}"),
    ])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.received.count == 6)
    // Only the one that was called bad after another was taken.
    #expect(try await fixture.count("msgr_devices") == 2)
  }

  @Test func aSettingOfTheOperatorsIsWaitedFor() async throws {
    for device in 0..<3 { try await fixture.makeUser("u\(device)", Self.device(device)) }
    for device in 0..<3 { try await fixture.send(to: "u\(device)") }
    let standIn = try FCMStandIn([
      .respond(403, body: "no JSON"), .respond(403, body: #"{"error":{"status":"X"}}"#),
      .respond(404), .respond(404), .respond(403),
    ])
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.received.count == 8)
    #expect(try await fixture.count("msgr_devices") == 3)
    #expect(before.duration(to: fixture.clock.now) >= .seconds(3))
  }

  @Test func aDeadProviderHoldsUpItsOwnRowsAlone() async throws {
    for device in 0..<5 {
      try await fixture.makeUser("a\(device)", PushFixture.device(device))
      try await fixture.makeUser("g\(device)", Self.device(device))
    }
    for user in 0..<5 {
      try await fixture.send(to: "a\(user)")
      try await fixture.send(to: "g\(user)")
    }
    let certificates = try TestCertificates.shared.get()
    let dead = try FCMStandIn(otherwise: .silence)
    let apple = try APNsStandIn()
    let apns = try APNsProvider(
      APNsConfiguration(
        url: apple.url, topic: "com.example.app",
        credentials: .token(
          key: certificates.tokenKey, keyID: "KEYID12345", teamID: "TEAMID1234"),
        roots: certificates.authority.certificate),
      streams: 100, clock: { [clock = fixture.clock] in clock.now })
    let google = outbox(try provider(dead), owner: [2])
    let phones = outbox(apns, .apns)
    let begun = ContinuousClock.now
    try await withThrowingTaskGroup { group in
      for outbox in [google, phones] { group.addTask { await outbox.run() } }
      // Apple's are done with, as nobody carries them later.
      try await waitUntil {
        let waiting = try await fixture.count("push_outbox")
        return waiting == 5 && dead.received.count == 5
      }
      #expect(ContinuousClock.now - begun < .seconds(5))
      #expect(apple.received.count == 5)
      group.cancelAll()
    }
    // What hung is given back, and goes on elsewhere.
    let standIn = try FCMStandIn()
    try await runUntilEmpty(outbox(try provider(standIn), owner: [3]), owner: [3])
    #expect(standIn.received.map(\.data).count == 5)
    #expect(Set(standIn.received.map(\.data)) == Set(dead.received.map(\.data)))
  }

  @Test func theAccountIsReadAgain() async throws {
    let standIn = try FCMStandIn()
    let provider = try provider(standIn, tokenURL: standIn.tokenURL)
    try write(Array("no JSON".utf8))
    await #expect(throws: PushSetupError.self) { try await provider.reload() }
    try await fixture.makeUser("bert", Self.device(1))
    try await fixture.send("1", to: "bert")
    try await runUntilEmpty(outbox(provider))
    #expect(standIn.faults == [])
    try write(try ServiceAccountFile.bytes(tokenURL: standIn.tokenURL, ["private_key_id": "key-2"]))
    try await provider.reload()
    for text in ["2", "3"] {
      try await fixture.send(text, to: "bert")
      try await runUntilEmpty(outbox(provider))
      try await waitUntil { standIn.grants == 2 }
    }
    #expect(standIn.faults == ["grant: header"])
    try await fixture.send("4", to: "bert")
    try await runUntilEmpty(outbox(provider))
    #expect(standIn.received.first?.token == "ya29.1")
    #expect(standIn.received.last?.token == "ya29.2")
    #expect(standIn.grants == 2)
  }
}
