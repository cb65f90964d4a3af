internal import Configuration
internal import Foundation
internal import HTTP2StandIn
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Push

/// The way from the outbox to FCM, over HTTP/2.
@Suite(.ownThreads, .serialized) struct FCMDeliveryTests {
  private static let android = OutboxFixture.android(1)

  private let fixture: OutboxFixture
  private let folder = TemporaryFolder()

  init() async throws { fixture = try await OutboxFixture() }

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
    _ provider: FCMProvider, owner: [UInt8] = OutboxFixture.owner, inFlight: Int = 100,
    metrics: Metrics = Metrics(), log: Log = Log(level: .error, descriptor: -1)
  ) -> PushOutbox {
    fixture.outbox(
      .fcm, provider, owner: owner, inFlight: inFlight, metrics: metrics, log: log)
  }

  private func queue(_ text: String = "hello", for device: String = android) async throws {
    try await fixture.queue(text, for: device, kind: .fcm)
  }

  private func runUntilEmpty(
    _ outbox: PushOutbox, owner: [UInt8] = OutboxFixture.owner,
    step: Duration = .milliseconds(500)
  ) async throws {
    try await fixture.runUntilEmpty(outbox, owner: owner, step: step)
  }

  @Test func pushesWithWhatGoogleDemands() async throws {
    try await queue("ein \"Wort\"\n…")
    let standIn = try FCMStandIn()
    let metrics = Metrics()
    try await runUntilEmpty(outbox(try provider(standIn, metrics: metrics), metrics: metrics))
    #expect(standIn.faults == [])
    #expect(standIn.received.count == 1)
    let received = try #require(standIn.received.first)
    #expect(received.device == Self.android)
    #expect(received.data == ["Message": "ein \"Wort\"\n…"])
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

  @Test func oneGrantForAllAndEachDeviceInOrder() async throws {
    for text in ["1", "2", "3"] {
      for device in 0..<40 { try await queue(text, for: OutboxFixture.android(device)) }
    }
    let standIn = try FCMStandIn(otherwise: .respond(200, body: "{}", after: 5))
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    #expect(standIn.grants == 1)
    #expect(standIn.received.count == 120)
    for device in 0..<40 {
      let token = OutboxFixture.android(device)
      let texts = standIn.received.filter { $0.device == token }.map { $0.data["Message"] }
      #expect(texts == ["1", "2", "3"])
    }
  }

  @Test func aTokenIsRenewedBeforeItsEndWhileItServes() async throws {
    // The renewal fails once, and hangs once.
    let granted = StandInResponse.respond(
      200, body: #"{"access_token":"first","expires_in":1000,"token_type":"bearer"}"#)
    let standIn = try FCMStandIn(
      grants: [granted, .respond(503), .silence], life: 1000)
    let provider = try provider(standIn)
    try await queue()
    let push = try #require(try await fixture.lease(of: .fcm).first)
    func tokens() async -> [String] {
      _ = try? await fixture.push(push, by: provider)
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
    guard case .unreachable(let why) = try await fixture.push(push, by: provider) else {
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
    for device in 0..<3 { try await queue(for: OutboxFixture.android(device)) }
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
    try await queue("1")
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
    try await queue("1")
    try await queue("2")
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
    try await queue("1")
    try await queue("2")
    let standIn = try FCMStandIn([answer])
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(5))
    #expect(standIn.received.map { $0.data["Message"] } == ["1", "2"])
    #expect(standIn.grants == 1)
    #expect(fixture.source.ended.isEmpty)
    #expect(before.duration(to: fixture.clock.now) < .seconds(5))
  }

  @Test func aTokenThatIsRefusedIsReplacedOnceThenAllPause() async throws {
    for device in 0..<20 { try await queue(for: OutboxFixture.android(device)) }
    let refused = StandInResponse.respond(401, body: #"{"error":{"code":401,"status":"U"}}"#)
    let one = try FCMStandIn(Array(repeating: refused, count: 20))
    try await runUntilEmpty(outbox(try provider(one)))
    #expect(one.faults == [])
    #expect(one.received.count == 40)
    // However many were refused with the first one.
    #expect(one.grants == 2)
    for device in 0..<20 { try await queue(for: OutboxFixture.android(device)) }
    let all = try FCMStandIn(Array(repeating: refused, count: 40))
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(all)))
    #expect(all.received.count == 60)
    #expect(before.duration(to: fixture.clock.now) >= .seconds(1))
    #expect((3...4).contains(all.grants))
  }

  @Test func aDeviceThatIsGoneIsUnbound() async throws {
    for device in 1...3 { try await queue(for: OutboxFixture.android(device)) }
    fixture.clock.advance(by: .seconds(1))
    let standIn = try FCMStandIn([
      .respond(200, body: "{}"), FCMStandIn.fault(404, "UNREGISTERED"),
      FCMStandIn.fault(403, "SENDER_ID_MISMATCH"),
    ])
    // One after the other, so that the first has proven the project.
    try await runUntilEmpty(outbox(try provider(standIn), inFlight: 1))
    #expect(standIn.received.count == 3)
    #expect(fixture.source.ended == standIn.received.dropFirst().map(\.device))
  }

  @Test func aTokenIsGoneAsOfTheStartOfTheAttempt() async throws {
    let standIn = try FCMStandIn([FCMStandIn.fault(404, "UNREGISTERED")])
    try await queue()
    let push = try #require(try await fixture.lease(of: .fcm).first)
    let start = fixture.clock.now
    let outcome = try await fixture.push(push, by: try provider(standIn))
    guard case .responded(let gone) = outcome else {
      Issue.record("no response")
      return
    }
    #expect(gone.timestamp == start)
  }

  @Test func aWrongProjectUnbindsNobody() async throws {
    for device in 0..<3 { try await queue(for: OutboxFixture.android(device)) }
    let bad = FCMStandIn.fault(403, "SENDER_ID_MISMATCH")
    let malformed = FCMStandIn.fault(400, "INVALID_ARGUMENT", field: "message.token")
    let standIn = try FCMStandIn([
      bad, malformed, bad, .respond(200, body: "{}"), malformed, .respond(200, body: "{}"),
    ])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.received.count == 6)
    // Only the one that was called bad after another was taken.
    #expect(fixture.source.ended.count == 1)
  }

  @Test func aSettingOfTheOperatorsIsWaitedFor() async throws {
    for device in 0..<3 { try await queue(for: OutboxFixture.android(device)) }
    let standIn = try FCMStandIn([
      .respond(403, body: "no JSON"), .respond(403, body: #"{"error":{"status":"X"}}"#),
      .respond(404), .respond(404), .respond(403),
    ])
    let before = fixture.clock.now
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.received.count == 8)
    #expect(fixture.source.ended.isEmpty)
    #expect(before.duration(to: fixture.clock.now) >= .seconds(3))
  }

  @Test func aDeadProviderHoldsUpItsOwnRowsAlone() async throws {
    for device in 0..<5 {
      try await fixture.queue(for: OutboxFixture.phone(device))
      try await queue(for: OutboxFixture.android(device))
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
    let phones = fixture.outbox(.apns, apns)
    let begun = ContinuousClock.now
    try await withThrowingTaskGroup { group in
      for outbox in [google, phones] { group.addTask { await outbox.run() } }
      // Apple's are done with, as nobody carries them later.
      try await waitUntil {
        let waiting = try await fixture.waiting()
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
    try await queue("1")
    try await runUntilEmpty(outbox(provider))
    #expect(standIn.faults == [])
    try write(try ServiceAccountFile.bytes(tokenURL: standIn.tokenURL, ["private_key_id": "key-2"]))
    try await provider.reload()
    for text in ["2", "3"] {
      try await queue(text)
      try await runUntilEmpty(outbox(provider))
      try await waitUntil { standIn.grants == 2 }
    }
    #expect(standIn.faults == ["grant: header"])
    try await queue("4")
    try await runUntilEmpty(outbox(provider))
    #expect(standIn.received.first?.token == "ya29.1")
    #expect(standIn.received.last?.token == "ya29.2")
    #expect(standIn.grants == 2)
  }
}
