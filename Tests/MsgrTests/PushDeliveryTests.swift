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

/// What push services get of a message, and what their responses do to its devices.
@Suite(.ownThreads) struct PushDeliveryTests {
  private static let android = DeviceID(
    stored: "fcm:Token_1:" + String(repeating: "x-Y", count: 20))

  private let fixture: PushFixture
  private let folder = TemporaryFolder()
  private let certificates: TestCertificates

  init() async throws {
    fixture = try await PushFixture()
    certificates = try TestCertificates.shared.get()
    try await fixture.makeUser("anna")
  }

  private func apns(_ standIn: APNsStandIn) throws -> APNsProvider {
    try APNsProvider(
      APNsConfiguration(
        url: standIn.url, topic: "com.example.app",
        credentials: .token(
          key: certificates.tokenKey, keyID: "KEYID12345", teamID: "TEAMID1234"),
        roots: certificates.authority.certificate),
      streams: 100, clock: { [clock = fixture.clock] in clock.now })
  }

  private func fcm(_ standIn: FCMStandIn) throws -> FCMProvider {
    try Data(try ServiceAccountFile.bytes(tokenURL: standIn.tokenURL))
      .write(to: URL(filePath: "\(folder.path)/fcm.json"))
    let toml = """
      [fcm]
      credentials = "\(folder.path)/fcm.json"
      url = "\(standIn.url)"
      token_url = ""
      roots = "\(certificates.authority.certificate)"
      """
    let document = try ConfigurationDocument(
      parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml")
    let section = ConfigurationReader(document).section("fcm")
    return try FCMProvider(
      try #require(FCMConfiguration(section)), streams: 100,
      clock: { [clock = fixture.clock] in clock.now }, metrics: Metrics())
  }

  private func runUntilEmpty(_ kind: PushKind, _ provider: any PushProvider) async throws {
    try await fixture.runUntilEmpty(kind, provider, step: .milliseconds(50))
  }

  @Test func phonesOfApplesGetAMessage() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(String(repeating: "é", count: 1800), to: "bert")
    let standIn = try APNsStandIn()
    try await runUntilEmpty(.apns, try apns(standIn))
    #expect(standIn.faults == [])
    let received = try #require(standIn.received.first)
    #expect(standIn.received.count == 1)
    #expect(received.device == PushFixture.device(1).text)
    #expect(received.expiration == 1_700_000_000 + 7 * 86_400)
    #expect(received.payload.count > 4090)
    #expect(try await fixture.outbox.hasProven("\(standIn.url) com.example.app"))
  }

  @Test func appleEndsADeviceThatWasBoundBefore() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1), PushFixture.device(2))
    let gone = #"{"reason":"Unregistered","timestamp":1800000000000}"#
    let before = #"{"reason":"Unregistered","timestamp":1600000000000}"#
    let standIn = try APNsStandIn([.respond(410, body: before), .respond(410, body: before)])
    try await fixture.send("1", to: "bert")
    try await runUntilEmpty(.apns, try apns(standIn))
    #expect(try await fixture.count("msgr_devices") == 2)
    let later = try APNsStandIn([.respond(410, body: gone), .respond(410, body: gone)])
    try await fixture.send("2", to: "bert")
    try await runUntilEmpty(.apns, try apns(later))
    #expect(try await fixture.count("msgr_devices") == 0)
  }

  @Test func phonesOfGooglesGetAMessage() async throws {
    try await fixture.makeUser("bert", Self.android)
    let id = try await fixture.send("ein \"Wort\"\n…", to: "bert", isAddRequest: true)
    let time = fixture.clock.now
    let standIn = try FCMStandIn()
    try await runUntilEmpty(.fcm, try fcm(standIn))
    #expect(standIn.faults == [])
    #expect(standIn.received.count == 1)
    let received = try #require(standIn.received.first)
    #expect(received.device == Self.android.fcmToken.map(String.init))
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
  }

  @Test func aDeviceThatIsBoundAgainWhileGoogleCallsItGoneStays() async throws {
    try await fixture.makeUser("bert", Self.android)
    let standIn = try FCMStandIn([FCMStandIn.fault(404, "UNREGISTERED")])
    let provider = try fcm(standIn)
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

  @Test func theLogShowsWhatItGot() async throws {
    try await fixture.makeUser("bert", PushFixture.device(1))
    let provider = LogProvider(
      log: Log(level: .error, descriptor: -1), showsPayloads: true, clock: { fixture.clock.now })
    let id = try await fixture.send("a \"quoted\" text", to: "bert", isAddRequest: true)
    let time = fixture.clock.now
    func record(_ push: LeasedPush) {
      #expect(provider.record(push, of: fixture.source) == .logged)
    }
    for push in try await fixture.lease() { record(push) }
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
    record(other)
    let two = provider.recent
    let both = try #require(try JSONSerialization.jsonObject(with: Data(two)) as? [[String: Any]])
    #expect(both.last?["DeviceID"] as? String == android.text)
    #expect((both.last?["Payload"] as? [String: String])?["Badge"] == "1")
    for number in 0..<1005 { record(try PushFixture.push(text: "\(number)")) }
    let last = provider.recent
    let kept = try #require(try JSONSerialization.jsonObject(with: Data(last)) as? [[String: Any]])
    #expect(kept.count == 1000)
    #expect((kept[0]["Payload"] as? [String: Any])?["Message"] as? String == "5")
  }
}
