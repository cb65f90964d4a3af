internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTP2StandIn
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// Pushes to browsers, over HTTP/2, decrypted by other programs.
@Suite(.ownThreads, .serialized) struct WebPushTests {
  private let fixture: PushFixture
  private let folder = TemporaryFolder()
  private let receiver: PushReceiver

  init() async throws {
    fixture = try await PushFixture()
    receiver = try PushReceiver()
    try await fixture.makeUser("anna")
  }

  private func provider(_ allowed: [String]) throws -> WebPushProvider {
    let certificates = try TestCertificates.shared.get()
    let toml = """
      [push.web]
      contact = "mailto:operator@example.org"
      allow = [\(allowed.map { "\"\($0)\"" }.joined(separator: ", "))]
      ca = "\(certificates.authority.certificate)"
      """
    let document = try ConfigurationDocument(
      parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml")
    let section = ConfigurationReader(document).section("push").section("web")
    return try WebPushProvider(
      WebPushConfiguration(section), try P256KeyPair(), publicURL: nil,
      clock: { [clock = fixture.clock] in clock.now }, randomBytes: SecureRandom.bytes)
  }

  /// Makes a user with a browser that is pushed to at an address.
  private func subscribe(
    _ name: String, at endpoint: String, isDeclarative: Bool = false
  ) async throws {
    let device = DeviceID(stored: "stream:browser-1/\(name)")
    try await fixture.makeUser(name, device)
    let subscription = BrowserSubscription(
      way: WebPushSubscription(
        endpoint: try #require(PushEndpoint(stored: endpoint)), key: receiver.key,
        secret: receiver.secret), isDeclarative: isDeclarative)
    let token = BoundToken(
      hash: TokenHash(digest: SHA256.hash(Array(name.utf8))), name: try PushFixture.name(name),
      device: device)
    let now = fixture.clock.now
    try await fixture.store.store.write { transaction in
      try transaction.execute(
        """
        INSERT INTO msgr_tokens (hash, device_id, username, used_at, created_at, device_name)
        VALUES (?1, ?2, ?3, ?4, ?4, '')
        """, token.hash, device, name, now)
    }
    try await fixture.store.subscribe(subscription, .token(token))
  }

  private func run(_ provider: WebPushProvider, page: String = "/msgr/") async throws {
    try await fixture.runUntilEmpty(.web, provider, page: page, step: .milliseconds(200))
  }

  /// Decrypts a push and checks its token.
  private func decrypt(_ request: StandInRequest) async throws -> [String: Any] {
    let text = try receiver.open(request.body, authorization: request["authorization"])
    return try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
  }

  @Test(.enabled(if: PushReceiver.isThere)) func othersDecryptWhatIsPushed() async throws {
    let service = try WebPushStandIn()
    try await subscribe("bert", at: service.endpoint)
    let id = try await fixture.send("ein \"Wort\" für dich", to: "bert")
    try await fixture.send("kurz", to: "bert", isAddRequest: true)
    let long = String(repeating: "ä", count: 1900)
    try await fixture.send(long, to: "bert")
    try await run(try provider([service.authority]))
    let requests = service.received
    #expect(requests.count == 3)
    for request in requests {
      #expect(request[":path"] == "/push/1?x=y")
      #expect(request["content-encoding"] == "aes128gcm")
      // What is left of a week, while the clock runs.
      #expect((604_000...604_800).contains(Int(request["ttl"] ?? "") ?? 0))
      #expect(request["urgency"] == "high")
      #expect(request.body.count <= 4096)
    }
    let first = try await decrypt(requests[0])
    #expect(first["Id"] as? String == id.text)
    #expect(first["UserFrom"] as? String == "anna")
    #expect(first["Message"] as? String == "ein \"Wort\" für dich")
    #expect(first["Badge"] as? Int == 1)
    #expect(first["AddRequest"] == nil)
    #expect(try await decrypt(requests[1])["AddRequest"] as? Bool == true)
    // Lengths tell little.
    #expect(requests[0].body.count == requests[1].body.count)
    #expect(try await decrypt(requests[2])["Message"] as? String == long)
  }

  @Test(.enabled(if: PushReceiver.isThere)) func whatIsTooLongIsCutAtACharacter() async throws {
    let service = try WebPushStandIn()
    try await subscribe("bert", at: service.endpoint)
    let flag = "🏳️‍🌈"
    try await fixture.send(
      String(repeating: flag, count: 280), from: String(repeating: "n", count: 64), to: "bert")
    try await run(try provider([service.authority]))
    let message = try #require(
      try await decrypt(service.received[0])["Message"] as? String)
    #expect(message.hasSuffix("…"))
    #expect(message.dropLast().allSatisfy { String($0) == flag })
    #expect(service.received[0].body.count <= 4096)
  }

  @Test(.enabled(if: PushReceiver.isThere)) func declarativePushesNameThePage() async throws {
    let service = try WebPushStandIn()
    try await subscribe("bert", at: service.endpoint, isDeclarative: true)
    try await fixture.send("hello", to: "bert")
    try await run(try provider([service.authority]), page: "https://awd.example/msgr/")
    let payload = try await decrypt(service.received[0])
    #expect(payload["web_push"] as? Int == 8030)
    let notification = payload["notification"] as? [String: Any]
    #expect(notification?["title"] as? String == "anna")
    #expect(notification?["body"] as? String == "hello")
    #expect(notification?["navigate"] as? String == "https://awd.example/msgr/")
  }

  @Test(arguments: [404, 410]) func aSubscriptionThatIsGoneEnds(_ status: Int) async throws {
    let service = try WebPushStandIn(otherwise: .respond(status))
    try await subscribe("bert", at: service.endpoint)
    for _ in 0..<3 { try await fixture.send(to: "bert") }
    try await run(try provider([service.authority]))
    #expect(service.received.count == 1)
    // The device stays, and is pushed to no more.
    try await fixture.send(to: "bert")
    #expect(try await fixture.count("push_outbox") == 0)
    #expect(try await fixture.count("msgr_devices") == 1)
  }

  @Test(.enabled(if: PushReceiver.isThere)) func whatIsTooLargeGoesOnceMoreWithoutItsText()
    async throws
  {
    let service = try WebPushStandIn([.respond(413), .respond(201), .respond(413), .respond(413)])
    try await subscribe("bert", at: service.endpoint)
    try await fixture.send(String(repeating: "x", count: 1000), to: "bert")
    try await fixture.send(String(repeating: "y", count: 1000), to: "bert")
    try await run(try provider([service.authority]))
    #expect(service.received.count == 4)
    let short = try await decrypt(service.received[1])
    #expect(short["Message"] == nil)
    #expect(short["UserFrom"] as? String == "anna")
  }

  @Test func pushesToPhonesAndBrowsersWaitApart() async throws {
    try await subscribe("bert", at: "https://push.example/1")
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(to: "bert")
    #expect(try await fixture.count("push_outbox") == 2)
    let phones = try await fixture.lease()
    #expect(phones.map(\.deviceID) == [PushFixture.device(1)])
    let browsers = try await fixture.lease(owner: [2], of: .web)
    #expect(browsers.map(\.address.text) == ["https://push.example/1"])
  }
}
