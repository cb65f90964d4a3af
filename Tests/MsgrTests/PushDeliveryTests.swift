internal import Foundation
internal import HTTP2StandIn
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The way from the outbox to a push service, over HTTP/2.
@Suite(.ownThreads) struct PushDeliveryTests {
  private let fixture: PushFixture
  private let certificates: TestCertificates

  init() async throws {
    fixture = try await PushFixture()
    certificates = try TestCertificates.shared.get()
    try await fixture.makeUser("anna")
  }

  private func provider(
    _ standIn: APNsStandIn, usesTokens: Bool = true
  ) throws -> APNsProvider {
    let credentials: APNsConfiguration.Credentials =
      usesTokens
      ? .token(key: certificates.tokenKey, keyID: "KEYID12345", teamID: "TEAMID1234")
      : .certificate(certificates.client.certificate, key: certificates.client.key)
    return try APNsProvider(
      APNsConfiguration(
        url: standIn.url, topic: "com.example.app", credentials: credentials,
        roots: certificates.authority.certificate),
      streams: 100, clock: { [clock = fixture.clock] in clock.now })
  }

  private func outbox(
    _ provider: any PushProvider, owner: [UInt8] = [1], metrics: Metrics = Metrics()
  ) -> PushOutbox {
    var limits = OutboxMachine.Limits()
    limits.poll = .milliseconds(20)
    return PushOutbox(
      .apns, store: fixture.outbox, provider: provider, services: fixture.services,
      limits: limits, leases: DirectLeases(owner: owner),
      log: Log(level: .error, descriptor: -1),
      metrics: PushMetrics(metrics, clock: fixture.store.clock))
  }

  /// Pushes until the outbox is empty; the clock runs fast meanwhile, so that nobody waits, but not past the lease of
  /// what is under way.
  private func runUntilEmpty(
    _ outbox: PushOutbox, owner: [UInt8] = [1], step: Duration = .milliseconds(50)
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

  @Test(arguments: [true, false])
  func pushesWithWhatAppleDemands(usesTokens: Bool) async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(String(repeating: "é", count: 1800), to: "bert")
    let standIn = try APNsStandIn(usesTokens: usesTokens)
    try await runUntilEmpty(outbox(try provider(standIn, usesTokens: usesTokens)))
    #expect(standIn.faults == [])
    let received = try #require(standIn.received.first)
    #expect(standIn.received.count == 1)
    #expect(received.device == PushFixture.device(1).text)
    #expect(received.expiration == 1_700_000_000 + 7 * 86_400)
    #expect(received.payload.count > 4090)
    #expect(try await fixture.outbox.hasProven("\(standIn.url) com.example.app"))
  }

  @Test func manyDevicesAtOnceOnOneConnectionEachInOrder() async throws {
    for device in 0..<60 { try await fixture.makeUser("u\(device)", PushFixture.device(device)) }
    for text in ["1", "2", "3"] {
      for device in 0..<60 { try await fixture.send(text, to: "u\(device)") }
    }
    let standIn = try APNsStandIn(otherwise: .respond(200, after: 20, among: 2))
    let metrics = Metrics()
    try await runUntilEmpty(outbox(try provider(standIn), metrics: metrics))
    #expect(standIn.faults == [])
    #expect(standIn.connections == 1)
    #expect(standIn.mostStreams > 1)
    #expect(standIn.received.count == 180)
    for device in 0..<60 {
      let texts = standIn.received.filter { $0.device == PushFixture.device(device).text }.map {
        (try? JSONSerialization.jsonObject(with: Data($0.payload)) as? [String: Any])?["Message"]
          as? String
      }
      #expect(texts == ["1", "2", "3"])
    }
    // One token for all.
    #expect(Set(standIn.received.map(\.token)).count == 1)
    let text = metrics.render()
    #expect(text.contains("awd_push_answers_total{provider=\"apns\",status=\"200\"} 180"))
    #expect(text.contains("awd_push_seconds_count{provider=\"apns\"} 180"))
  }

  @Test(
    arguments: [
      .respond(429, fields: ["retry-after": "2"], body: #"{"reason":"TooManyRequests"}"#),
      .respond(500, body: #"{"reason":"InternalServerError"}"#),
      .respond(503, body: #"{"reason":"Shutdown"}"#, goesAway: true),
      .respond(503, body: "no JSON"), .refuse, .reset, .drop,
    ] as [StandInResponse])
  func isTriedAgainUnderTheSameIdentifier(answer: StandInResponse) async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send("1", to: "bert")
    try await fixture.send("2", to: "bert")
    let standIn = try APNsStandIn([answer, answer])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    let ids = standIn.received.map(\.apnsID)
    #expect(ids.count == 4)
    #expect(Set(ids[..<3]).count == 1)
    #expect(ids.last != ids.first)
  }

  @Test func whatIsInFlightWhenAppleSaysGoodbyeIsNotSentTwice() async throws {
    for device in 0..<20 { try await fixture.makeUser("u\(device)", PushFixture.device(device)) }
    for device in 0..<20 { try await fixture.send(to: "u\(device)") }
    let standIn = try APNsStandIn(
      Array(repeating: .respond(200, after: 50), count: 10)
        + [.respond(200, after: 50, goesAway: true)])
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    let counts = standIn.received.reduce(into: [:]) { $0[$1.apnsID, default: 0] += 1 }
    #expect(counts.count == 20)
    // The pushes up to the last one before the goodbye were taken.
    #expect(counts.values.count { $0 == 1 } >= 11)
  }

  @Test func aTokenIsRenewedBeforeAppleCallsItExpired() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send("1", to: "bert")
    let standIn = try APNsStandIn()
    let provider = try provider(standIn)
    try await runUntilEmpty(outbox(provider))
    fixture.clock.advance(by: .seconds(120))
    try await fixture.send("2", to: "bert")
    try await runUntilEmpty(outbox(provider))
    #expect(Set(standIn.received.map(\.token)).count == 1)
    fixture.clock.advance(by: .seconds(45 * 60))
    try await fixture.send("3", to: "bert")
    try await runUntilEmpty(outbox(provider))
    #expect(Set(standIn.received.map(\.token)).count == 2)
    #expect(standIn.faults == [])
  }

  @Test func aTokenThatAppleCallsExpiredIsReplacedAtOnce() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    let standIn = try APNsStandIn([
      .respond(200), .respond(403, body: #"{"reason":"ExpiredProviderToken"}"#),
    ])
    let provider = try provider(standIn)
    for text in ["1", "2"] {
      try await fixture.send(text, to: "bert")
      try await runUntilEmpty(outbox(provider))
      fixture.clock.advance(by: .seconds(120))
    }
    #expect(standIn.received.count == 3)
    #expect(standIn.received[0].token == standIn.received[1].token)
    #expect(standIn.received[1].token != standIn.received[2].token)
    #expect(standIn.faults == [])
  }

  @Test func aDeviceThatIsGoneIsUnbound() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1), PushFixture.device(2))
    let gone = #"{"reason":"Unregistered","timestamp":1800000000000}"#
    let before = #"{"reason":"Unregistered","timestamp":1600000000000}"#
    let standIn = try APNsStandIn([.respond(410, body: before), .respond(410, body: before)])
    try await fixture.send("1", to: "bert")
    try await runUntilEmpty(outbox(try provider(standIn)))
    #expect(try await fixture.count("msgr_devices") == 2)
    let later = try APNsStandIn([.respond(410, body: gone), .respond(410, body: gone)])
    try await fixture.send("2", to: "bert")
    try await runUntilEmpty(outbox(try provider(later)))
    #expect(try await fixture.count("msgr_devices") == 0)
  }

  @Test func aWrongURLUnbindsNobody() async throws {
    for device in 0..<3 { try await fixture.makeUser("u\(device)", PushFixture.device(device)) }
    for device in 0..<3 { try await fixture.send(to: "u\(device)") }
    let bad = StandInResponse.respond(400, body: #"{"reason":"BadDeviceToken"}"#)
    let standIn = try APNsStandIn([bad, bad, bad, .respond(200), bad, .respond(200)])
    try await runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(500))
    #expect(standIn.received.count == 6)
    // Only the one that was called bad after another was taken.
    #expect(try await fixture.count("msgr_devices") == 2)
  }

  @Test func twoProcessesPushNothingTwice() async throws {
    let folder = TemporaryFolder()
    let location = StoreLocation.file("\(folder.path)/push.sqlite3")
    let left = try await PushFixture(location)
    let right = try await PushFixture(location)
    try await left.makeUser("anna")
    for device in 0..<100 {
      try await left.makeUser("u\(device)", PushFixture.device(device))
      try await left.send(to: "u\(device)")
    }
    let standIn = try APNsStandIn(otherwise: .respond(200, after: 10))
    let provider = try provider(standIn)
    var limits = OutboxMachine.Limits()
    limits.inFlight = 10
    limits.poll = .milliseconds(20)
    let outboxes = [left, right].enumerated().map { index, fixture in
      PushOutbox(
        .apns, store: fixture.outbox, provider: provider, services: fixture.services,
        limits: limits, leases: DirectLeases(owner: [UInt8(index)]),
        log: Log(level: .error, descriptor: -1),
        metrics: PushMetrics(Metrics(), clock: fixture.store.clock))
    }
    try await withThrowingTaskGroup { group in
      for outbox in outboxes { group.addTask { await outbox.run() } }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        for outbox in outboxes { outbox.wake() }
        return try await left.count("push_outbox") == 0
      }
      group.cancelAll()
    }
    #expect(standIn.received.count == 100)
    #expect(Set(standIn.received.map(\.apnsID)).count == 100)
    await left.store.store.close()
    await right.store.store.close()
  }

  @Test func whatWasUnderWayWhenTheProgramEndedGoesOnAtOnce() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(to: "bert")
    let silent = try APNsStandIn(otherwise: .silence)
    let first = outbox(try provider(silent))
    let run = Task { await first.run() }
    try await waitUntil { !silent.received.isEmpty }
    run.cancel()
    await run.value
    let standIn = try APNsStandIn()
    try await runUntilEmpty(outbox(try provider(standIn), owner: [2]), owner: [2])
    #expect(standIn.received.map(\.apnsID) == silent.received.map(\.apnsID))
  }

  @Test func itCanBeRunAgain() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    let standIn = try APNsStandIn()
    let outbox = outbox(try provider(standIn))
    for count in 1...3 {
      try await fixture.send(to: "bert")
      try await runUntilEmpty(outbox)
      #expect(standIn.received.count == count)
    }
  }

  @Test func afterACrashItIsPushedAgainUnderTheSameIdentifier() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(to: "bert")
    // Taken by Apple, but not noted.
    let standIn = try APNsStandIn()
    let push = try #require(try await fixture.lease(owner: [9]).first)
    #expect(
      try await PushFixture.push(push, by: try provider(standIn))
        == .responded(PushResponse(status: 200)))
    try await runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(500))
    #expect(standIn.received.map(\.apnsID) == [push.pushID, push.pushID])
  }

  @Test func aPushServiceThatIsAwayIsWaitedFor() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(to: "bert")
    var standIn: APNsStandIn? = try APNsStandIn()
    let away = try provider(try #require(standIn))
    standIn = nil
    let push = try #require(try await fixture.lease(owner: [9]).first)
    guard case .unreachable = try await PushFixture.push(push, by: away) else {
      Issue.record("nobody should listen")
      return
    }
  }

  @Test func theLogShowsWhatItGot() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    let provider = LogProvider(
      log: Log(level: .error, descriptor: -1), showsPayloads: true, clock: { fixture.clock.now })
    let id = try await fixture.send("a \"quoted\" text", to: "bert", isAddRequest: true)
    let time = fixture.clock.now
    func note(_ push: LeasedPush) {
      #expect(provider.record(push, of: fixture.source) == .logged)
    }
    for push in try await fixture.lease() { note(push) }
    let body = provider.recent
    let all = try #require(
      try JSONSerialization.jsonObject(with: Data(body)) as? [[String: Any]])
    #expect(all.count == 1)
    #expect(all[0]["Service"] as? String == "msgr")
    #expect(all[0]["Provider"] as? String == "apns")
    #expect(all[0]["Id"] as? String == id.text)
    #expect(all[0]["DeviceID"] as? String == PushFixture.device(1).text)
    #expect(all[0]["Time"] as? String == time.description)
    let payload = try #require(all[0]["Payload"] as? [String: Any])
    #expect(payload["Message"] as? String == "a \"quoted\" text")
    #expect(payload["AddRequest"] as? Bool == true)
    let android = DeviceID(stored: "fcm:" + String(repeating: "a", count: 40))
    let other = try PushFixture.push(device: android)
    note(other)
    let two = provider.recent
    let both = try #require(try JSONSerialization.jsonObject(with: Data(two)) as? [[String: Any]])
    #expect(both.last?["DeviceID"] as? String == android.text)
    #expect((both.last?["Payload"] as? [String: String])?["Badge"] == "1")
    for number in 0..<1005 { note(try PushFixture.push(text: "\(number)")) }
    let last = provider.recent
    let kept = try #require(try JSONSerialization.jsonObject(with: Data(last)) as? [[String: Any]])
    #expect(kept.count == 1000)
    #expect((kept[0]["Payload"] as? [String: Any])?["Message"] as? String == "5")
  }
}
