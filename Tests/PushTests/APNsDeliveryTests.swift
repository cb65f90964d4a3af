internal import Foundation
internal import HTTP2StandIn
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Push

/// The way from the outbox to Apple's push service, over HTTP/2.
@Suite(.ownThreads) struct APNsDeliveryTests {
  private static let phone = OutboxFixture.phone(1)

  private let fixture: OutboxFixture
  private let certificates: TestCertificates

  init() async throws {
    fixture = try await OutboxFixture()
    certificates = try TestCertificates.shared.get()
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
    _ provider: APNsProvider, owner: [UInt8] = OutboxFixture.owner, metrics: Metrics = Metrics()
  ) -> PushOutbox {
    fixture.outbox(.apns, provider, owner: owner, metrics: metrics)
  }

  @Test(arguments: [true, false])
  func pushesWithWhatAppleDemands(usesTokens: Bool) async throws {
    try await fixture.queue(String(repeating: "é", count: 2000), for: Self.phone)
    let standIn = try APNsStandIn(usesTokens: usesTokens)
    try await fixture.runUntilEmpty(outbox(try provider(standIn, usesTokens: usesTokens)))
    #expect(standIn.faults == [])
    let received = try #require(standIn.received.first)
    #expect(standIn.received.count == 1)
    #expect(received.device == Self.phone)
    #expect(received.expiration == 1_700_000_000 + 7 * 86_400)
    #expect(received.payload.count > 4000)
    #expect(try await fixture.outbox.hasProven("\(standIn.url) com.example.app"))
  }

  @Test func manyDevicesAtOnceOnOneConnectionEachInOrder() async throws {
    for text in ["1", "2", "3"] {
      for device in 0..<60 { try await fixture.queue(text, for: OutboxFixture.phone(device)) }
    }
    let standIn = try APNsStandIn(otherwise: .respond(200, after: 20, among: 2))
    let metrics = Metrics()
    try await fixture.runUntilEmpty(outbox(try provider(standIn), metrics: metrics))
    #expect(standIn.faults == [])
    #expect(standIn.connections == 1)
    #expect(standIn.mostStreams > 1)
    #expect(standIn.received.count == 180)
    for device in 0..<60 {
      let texts = standIn.received.filter { $0.device == OutboxFixture.phone(device) }.map {
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
    try await fixture.queue("1", for: Self.phone)
    try await fixture.queue("2", for: Self.phone)
    let standIn = try APNsStandIn([answer, answer])
    try await fixture.runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    let ids = standIn.received.map(\.apnsID)
    #expect(ids.count == 4)
    #expect(Set(ids[..<3]).count == 1)
    #expect(ids.last != ids.first)
  }

  @Test func whatIsInFlightWhenAppleSaysGoodbyeIsNotSentTwice() async throws {
    for device in 0..<20 { try await fixture.queue(for: OutboxFixture.phone(device)) }
    let standIn = try APNsStandIn(
      Array(repeating: .respond(200, after: 50), count: 10)
        + [.respond(200, after: 50, goesAway: true)])
    try await fixture.runUntilEmpty(outbox(try provider(standIn)))
    #expect(standIn.faults == [])
    let counts = standIn.received.reduce(into: [:]) { $0[$1.apnsID, default: 0] += 1 }
    #expect(counts.count == 20)
    // The pushes up to the last one before the goodbye were accepted.
    #expect(counts.values.count { $0 == 1 } >= 11)
  }

  @Test func aTokenIsRenewedBeforeAppleCallsItExpired() async throws {
    try await fixture.queue("1", for: Self.phone)
    let standIn = try APNsStandIn()
    let provider = try provider(standIn)
    try await fixture.runUntilEmpty(outbox(provider))
    fixture.clock.advance(by: .seconds(120))
    try await fixture.queue("2", for: Self.phone)
    try await fixture.runUntilEmpty(outbox(provider))
    #expect(Set(standIn.received.map(\.token)).count == 1)
    fixture.clock.advance(by: .seconds(45 * 60))
    try await fixture.queue("3", for: Self.phone)
    try await fixture.runUntilEmpty(outbox(provider))
    #expect(Set(standIn.received.map(\.token)).count == 2)
    #expect(standIn.faults == [])
  }

  @Test func aTokenThatAppleCallsExpiredIsReplacedAtOnce() async throws {
    let standIn = try APNsStandIn([
      .respond(200), .respond(403, body: #"{"reason":"ExpiredProviderToken"}"#),
    ])
    let provider = try provider(standIn)
    for text in ["1", "2"] {
      try await fixture.queue(text, for: Self.phone)
      try await fixture.runUntilEmpty(outbox(provider))
      fixture.clock.advance(by: .seconds(120))
    }
    #expect(standIn.received.count == 3)
    #expect(standIn.received[0].token == standIn.received[1].token)
    #expect(standIn.received[1].token != standIn.received[2].token)
    #expect(standIn.faults == [])
  }

  @Test func aWrongURLUnbindsNobody() async throws {
    for device in 0..<3 { try await fixture.queue(for: OutboxFixture.phone(device)) }
    let bad = StandInResponse.respond(400, body: #"{"reason":"BadDeviceToken"}"#)
    let standIn = try APNsStandIn([bad, bad, bad, .respond(200), bad, .respond(200)])
    try await fixture.runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(500))
    #expect(standIn.received.count == 6)
    // Only the one that was called bad after another was accepted.
    #expect(fixture.source.ended.count == 1)
  }

  @Test func twoProcessesPushNothingTwice() async throws {
    let folder = TemporaryFolder()
    let location = StoreLocation.file("\(folder.path)/push.sqlite3")
    let nodes = [try await OutboxFixture(location), try await OutboxFixture(location)]
    for device in 0..<100 { try await nodes[0].queue(for: OutboxFixture.phone(device)) }
    let standIn = try APNsStandIn(otherwise: .respond(200, after: 10))
    let provider = try provider(standIn)
    let outboxes = nodes.enumerated().map { index, node in
      node.outbox(.apns, provider, owner: [UInt8(index)], inFlight: 10)
    }
    try await withThrowingTaskGroup { group in
      for outbox in outboxes { group.addTask { await outbox.run() } }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        for outbox in outboxes { outbox.wake() }
        return try await nodes[0].waiting() == 0
      }
      group.cancelAll()
    }
    #expect(standIn.received.count == 100)
    #expect(Set(standIn.received.map(\.apnsID)).count == 100)
    for node in nodes { await node.store.close() }
  }

  @Test func whatWasUnderWayWhenTheProgramEndedGoesOnAtOnce() async throws {
    try await fixture.queue(for: Self.phone)
    let silent = try APNsStandIn(otherwise: .silence)
    let first = outbox(try provider(silent))
    let run = Task { await first.run() }
    try await waitUntil { !silent.received.isEmpty }
    run.cancel()
    await run.value
    let standIn = try APNsStandIn()
    try await fixture.runUntilEmpty(outbox(try provider(standIn), owner: [2]), owner: [2])
    #expect(standIn.received.map(\.apnsID) == silent.received.map(\.apnsID))
  }

  @Test func itCanBeRunAgain() async throws {
    let standIn = try APNsStandIn()
    let outbox = outbox(try provider(standIn))
    for count in 1...3 {
      try await fixture.queue(for: Self.phone)
      try await fixture.runUntilEmpty(outbox)
      #expect(standIn.received.count == count)
    }
  }

  @Test func afterACrashItIsPushedAgainUnderTheSameIdentifier() async throws {
    try await fixture.queue(for: Self.phone)
    // Accepted by Apple, but not recorded.
    let standIn = try APNsStandIn()
    let push = try #require(try await fixture.lease(owner: [9]).first)
    #expect(
      try await fixture.push(push, by: try provider(standIn))
        == .responded(PushResponse(status: 200)))
    try await fixture.runUntilEmpty(outbox(try provider(standIn)), step: .milliseconds(500))
    #expect(standIn.received.map(\.apnsID) == [push.pushID, push.pushID])
  }

  @Test func aPushServiceThatIsAwayIsWaitedFor() async throws {
    try await fixture.queue(for: Self.phone)
    var standIn: APNsStandIn? = try APNsStandIn()
    let away = try provider(try #require(standIn))
    standIn = nil
    let push = try #require(try await fixture.lease(owner: [9]).first)
    guard case .unreachable = try await fixture.push(push, by: away) else {
      Issue.record("nobody should listen")
      return
    }
  }
}
