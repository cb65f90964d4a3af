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
  /// A push service that answers by a script, and notes what comes.
  private final class Service: Sendable {
    private final class Record: Sendable {
      let requests = Lock<[StandInRequest]>([])
    }

    private let record: Record
    private let server: HTTP2StandIn

    init(_ script: [StandInResponse] = [], otherwise: StandInResponse = .respond(201)) throws {
      let record = Record()
      let certificates = try TestCertificates.shared.get()
      self.record = record
      server = try HTTP2StandIn(
        certificate: certificates.server.certificate, key: certificates.server.key, clientCA: nil
      ) { request in
        record.requests.withLock { requests in
          requests.append(request)
          return requests.count <= script.count ? script[requests.count - 1] : otherwise
        }
      }
    }

    var received: [StandInRequest] { record.requests.withLock { $0 } }
    var connections: Int { server.connections }
    var authority: String { "127.0.0.1:\(server.port)" }
    var endpoint: String { "https://\(authority)/push/1?x=y" }
  }

  private let fixture: PushFixture
  private let folder = TemporaryFolder()
  private let receiver: PushReceiver

  init() async throws {
    fixture = try await PushFixture()
    receiver = try PushReceiver()
    try await fixture.makeUser("anna")
  }

  private func provider(_ allowed: [String], publicURL: String? = nil) throws -> WebPushProvider {
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
      WebPushConfiguration(section), try P256KeyPair(), publicURL: publicURL,
      clock: { [clock = fixture.clock] in clock.now }, randomBytes: SecureRandom.bytes)
  }

  private func outbox(
    _ provider: WebPushProvider, page: String = "/msgr/"
  ) -> PushOutbox {
    var limits = OutboxMachine.Limits()
    limits.poll = .milliseconds(20)
    return PushOutbox(
      .web, store: fixture.outbox, provider: provider,
      services: [
        MsgrService.name: .init(source: MsgrPushes(store: fixture.store, page: page), log: nil)
      ],
      limits: limits, leases: DirectLeases(owner: [1]),
      log: Log(level: .error, descriptor: -1),
      metrics: PushMetrics(Metrics(), clock: fixture.store.clock))
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

  private func waiting(_ name: String? = nil) async throws -> Int {
    try await fixture.store.store.read { snapshot in
      try snapshot.one(
        """
        SELECT count(*) FROM push_outbox
        WHERE ?1 IS NULL OR CAST(device AS TEXT) LIKE '%/' || ?1
        """, name
      ) { try $0[0] } ?? 0
    }
  }

  /// Pushes until nothing waits, or nothing for a user; the clock runs fast while nothing is under way.
  private func run(_ outbox: PushOutbox, untilEmptyFor name: String? = nil) async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { await outbox.run() }
      try await waitUntil(pausingAtMost: .milliseconds(2)) {
        if try await waiting(name) == 0 { return true }
        if try await fixture.leased(by: [1]) == 0 { fixture.clock.advance(by: .milliseconds(200)) }
        outbox.wake()
        return false
      }
      group.cancelAll()
    }
  }

  /// Decrypts a push and checks its token.
  private func decrypt(_ request: StandInRequest) async throws -> [String: Any] {
    let text = try receiver.open(request.body, authorization: request["authorization"])
    return try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
  }

  @Test(.enabled(if: PushReceiver.isThere)) func othersDecryptWhatIsPushed() async throws {
    let service = try Service()
    try await subscribe("bert", at: service.endpoint)
    let id = try await fixture.send("ein \"Wort\" für dich", to: "bert")
    try await fixture.send("kurz", to: "bert", isAddRequest: true)
    let long = String(repeating: "ä", count: 1900)
    try await fixture.send(long, to: "bert")
    try await run(outbox(try provider([service.authority])))
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
    let service = try Service()
    try await subscribe("bert", at: service.endpoint)
    let flag = "🏳️‍🌈"
    try await fixture.send(
      String(repeating: flag, count: 280), from: String(repeating: "n", count: 64), to: "bert")
    try await run(outbox(try provider([service.authority])))
    let message = try #require(
      try await decrypt(service.received[0])["Message"] as? String)
    #expect(message.hasSuffix("…"))
    #expect(message.dropLast().allSatisfy { String($0) == flag })
    #expect(service.received[0].body.count <= 4096)
  }

  @Test(.enabled(if: PushReceiver.isThere)) func declarativePushesNameThePage() async throws {
    let service = try Service()
    try await subscribe("bert", at: service.endpoint, isDeclarative: true)
    try await fixture.send("hello", to: "bert")
    try await run(
      outbox(try provider([service.authority]), page: "https://awd.example/msgr/"))
    let payload = try await decrypt(service.received[0])
    #expect(payload["web_push"] as? Int == 8030)
    let notification = payload["notification"] as? [String: Any]
    #expect(notification?["title"] as? String == "anna")
    #expect(notification?["body"] as? String == "hello")
    #expect(notification?["navigate"] as? String == "https://awd.example/msgr/")
  }

  @Test(arguments: [404, 410]) func aSubscriptionThatIsGoneEnds(_ status: Int) async throws {
    let service = try Service(otherwise: .respond(status))
    try await subscribe("bert", at: service.endpoint)
    for _ in 0..<3 { try await fixture.send(to: "bert") }
    try await run(outbox(try provider([service.authority])))
    #expect(service.received.count == 1)
    // The device stays, and is pushed to no more.
    try await fixture.send(to: "bert")
    #expect(try await waiting() == 0)
    #expect(try await fixture.count("msgr_devices") == 1)
  }

  @Test(.enabled(if: PushReceiver.isThere)) func whatIsTooLargeGoesOnceMoreWithoutItsText()
    async throws
  {
    let service = try Service([.respond(413), .respond(201), .respond(413), .respond(413)])
    try await subscribe("bert", at: service.endpoint)
    try await fixture.send(String(repeating: "x", count: 1000), to: "bert")
    try await fixture.send(String(repeating: "y", count: 1000), to: "bert")
    try await run(outbox(try provider([service.authority])))
    #expect(service.received.count == 4)
    let short = try await decrypt(service.received[1])
    #expect(short["Message"] == nil)
    #expect(short["UserFrom"] as? String == "anna")
  }

  @Test func pushServicesAreObeyed() async throws {
    let elsewhere = try Service()
    let service = try Service([
      .respond(429, fields: ["retry-after": "120"]), .respond(503), .respond(201),
      .respond(302, fields: ["location": elsewhere.endpoint]), .respond(400), .respond(403),
      .respond(201),
    ])
    try await subscribe("bert", at: service.endpoint)
    let begin = fixture.clock.now
    for _ in 0..<5 { try await fixture.send(to: "bert") }
    try await run(outbox(try provider([service.authority, elsewhere.authority])))
    #expect(service.received.count == 7)
    #expect(elsewhere.connections == 0)
    #expect(begin.duration(to: fixture.clock.now) >= .seconds(120))
  }

  @Test func nothingIsSentToAddressesThatArentPublic() async throws {
    let service = try Service()
    let port = service.authority.split(separator: ":")[1]
    let hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]
    // A number that libcurl would take for an address.
    #expect(PushEndpoint(stored: "https://2130706433:\(port)/") == nil)
    for (number, host) in hosts.enumerated() {
      let name = "user\(number)"
      try await subscribe(name, at: "https://\(host):\(port)/")
      try await fixture.send(to: name)
    }
    try await run(outbox(try provider([])))
    #expect(service.connections == 0)
    // Dropped, not tried again.
    #expect(try await waiting() == 0)
  }

  @Test func onesThatHangHoldNobodyUp() async throws {
    let silent = try Service(otherwise: .silence)
    let service = try Service()
    for number in 0..<8 {
      try await subscribe("slow\(number)", at: silent.endpoint)
      try await fixture.send(to: "slow\(number)")
    }
    try await subscribe("bert", at: service.endpoint)
    for _ in 0..<20 { try await fixture.send(to: "bert") }
    try await run(
      outbox(try provider([silent.authority, service.authority])), untilEmptyFor: "bert")
    #expect(service.received.count == 20)
    #expect(silent.received.count <= 2)
    #expect(try await waiting("slow0") == 1)
  }

  @Test func pushesToPhonesAndBrowsersWaitApart() async throws {
    try await subscribe("bert", at: "https://push.example/1")
    try await fixture.makeUser("bert", PushFixture.device(1))
    try await fixture.send(to: "bert")
    #expect(try await waiting() == 2)
    let phones = try await fixture.lease()
    #expect(phones.map(\.deviceID) == [PushFixture.device(1)])
    let browsers = try await fixture.lease(owner: [2], of: .web)
    #expect(browsers.map(\.address.text) == ["https://push.example/1"])
  }
}
