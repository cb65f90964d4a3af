internal import Configuration
internal import Cryptography
internal import HTTP2StandIn
internal import Platform
internal import TestSupport
internal import Testing

@testable import Push

/// The way from the outbox to browsers' push services, over HTTP/2.
@Suite(.ownThreads, .serialized) struct WebPushDeliveryTests {
  private let fixture: OutboxFixture
  private let folder = TemporaryFolder()
  private let browser: P256KeyPair

  init() async throws {
    fixture = try await OutboxFixture()
    browser = try P256KeyPair()
  }

  private func provider(_ allowed: [String]) throws -> WebPushProvider {
    let certificates = try TestCertificates.shared.get()
    let toml = """
      [web]
      contact = "mailto:operator@example.org"
      allow = [\(allowed.map { "\"\($0)\"" }.joined(separator: ", "))]
      ca = "\(certificates.authority.certificate)"
      """
    let document = try ConfigurationDocument(
      parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml")
    let section = ConfigurationReader(document).section("web")
    return try WebPushProvider(
      WebPushConfiguration(section), try P256KeyPair(), publicURL: nil,
      clock: { [clock = fixture.clock] in clock.now }, randomBytes: SecureRandom.bytes)
  }

  /// Queues a push for a browser at an address.
  private func queue(_ text: String = "hello", for browser: String, at endpoint: String)
    async throws
  {
    let keys = self.browser.publicKey.bytes + [UInt8](repeating: 7, count: 16)
    try await fixture.queue(
      text, for: browser, at: PushAddress(stored: .web, keys + Array(endpoint.utf8)))
  }

  /// Pushes until nothing waits, or nothing for a browser.
  private func run(_ provider: WebPushProvider, untilEmptyFor browser: String? = nil) async throws {
    try await fixture.run(fixture.outbox(.web, provider), step: .milliseconds(200)) {
      if let browser { return try await fixture.waiting(for: browser) == 0 }
      return try await fixture.waiting() == 0
    }
  }

  @Test func pushServicesAreObeyed() async throws {
    let elsewhere = try WebPushStandIn()
    let service = try WebPushStandIn([
      .respond(429, fields: ["retry-after": "120"]), .respond(503), .respond(201),
      .respond(302, fields: ["location": elsewhere.endpoint]), .respond(400), .respond(403),
      .respond(201),
    ])
    let begin = fixture.clock.now
    for _ in 0..<5 { try await queue(for: "bert", at: service.endpoint) }
    try await run(try provider([service.authority, elsewhere.authority]))
    #expect(service.received.count == 7)
    #expect(elsewhere.connections == 0)
    #expect(begin.duration(to: fixture.clock.now) >= .seconds(120))
  }

  @Test func whatIsEncryptedSaysHowLongItLives() async throws {
    let service = try WebPushStandIn()
    try await queue(for: "bert", at: service.endpoint)
    try await run(try provider([service.authority]))
    let request = try #require(service.received.first)
    #expect(request[":path"] == "/push/1?x=y")
    #expect(request["content-encoding"] == "aes128gcm")
    // What is left of a week, while the clock runs.
    #expect((604_000...604_800).contains(Int(request["ttl"] ?? "") ?? 0))
    #expect(request["urgency"] == "high")
    #expect(request.body.count <= 4096)
  }

  @Test(arguments: [404, 410]) func aSubscriptionThatIsGoneEnds(_ status: Int) async throws {
    let service = try WebPushStandIn(otherwise: .respond(status))
    try await queue(for: "bert", at: service.endpoint)
    try await run(try provider([service.authority]))
    #expect(service.received.count == 1)
    #expect(fixture.source.ended == ["bert"])
  }

  /// After the server's key was lost, its former subscriptions are of no use: each push service says so in its own way.
  @Test(arguments: [
    (400, #"{"reason":"VapidPkHashMismatch"}"#), (400, "vapid key mismatch"),
    (
      403,
      "the VAPID credentials in the authorization header do not correspond to the credentials used "
        + "to create the subscriptions.\n"
    ),
    (401, #"{"code":401,"errno":109,"message":"VAPID public key mismatch"}"#),
  ])
  func aSubscriptionForAnotherKeyEnds(_ status: Int, _ body: String) async throws {
    let service = try WebPushStandIn(otherwise: .respond(status, body: body))
    try await queue(for: "bert", at: service.endpoint)
    try await run(try provider([service.authority]))
    #expect(service.received.count == 1)
    #expect(fixture.source.ended == ["bert"])
  }

  @Test(arguments: [
    ("mailto:ops@example.org", true), ("mailto:<ops@example.org>", false),
    ("mailto:a@example.org,b@example.org", false), ("mailto:ops@awd.corp", false),
    ("https://awd.home.arpa", false), ("https://x.onion", false), ("https://awd.example.org", true),
  ])
  func aContactThatApplesServiceRefusesIsDoubted(_ contact: String, _ isGood: Bool) {
    #expect((VAPIDSubject(contact: contact, publicURL: nil).doubt == nil) == isGood)
  }

  @Test(arguments: [
    (403, #"{"reason":"BadJwtToken"}"#), (401, "no VAPID header"), (400, ""), (403, "mismatch"),
    (500, "vapid mismatch"),
  ])
  func anyOtherRefusalLeavesTheSubscription(_ status: Int, _ body: String) async throws {
    let service = try WebPushStandIn([.respond(status, body: body)])
    try await queue(for: "bert", at: service.endpoint)
    try await run(try provider([service.authority]))
    #expect(fixture.source.ended.isEmpty)
  }

  @Test(arguments: [
    (#"{"reason":"BadJwtToken"}"#, "BadJwtToken"), (#"{"errno":109,"message":"No key"}"#, "No key"),
    ("not\nallowed\n", "not allowed"), ("", nil), (#"{"x":1}"#, nil),
    ("key BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0Q is bad", "key … is bad"),
  ])
  func aReasonIsShownWithoutKeys(_ body: String, _ reason: String?) {
    #expect(WebPushFault(Array(body.utf8)).reason == reason)
  }

  @Test func whatIsTooLargeGoesOnceMoreAndShorter() async throws {
    let service = try WebPushStandIn([.respond(413), .respond(201), .respond(413), .respond(413)])
    for text in ["x", "y"] {
      try await queue(String(repeating: text, count: 1000), for: "bert", at: service.endpoint)
    }
    try await run(try provider([service.authority]))
    let sizes = service.received.map(\.body.count)
    #expect(sizes.count == 4)
    #expect(sizes[1] < sizes[0] && sizes[3] < sizes[2])
  }

  @Test func nothingIsSentToAddressesThatArentPublic() async throws {
    let service = try WebPushStandIn()
    let port = service.authority.split(separator: ":")[1]
    let hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]
    // A number that libcurl would take for an address.
    #expect(PushEndpoint(stored: "https://2130706433:\(port)/") == nil)
    for (number, host) in hosts.enumerated() {
      try await queue(for: "user\(number)", at: "https://\(host):\(port)/")
    }
    try await run(try provider([]))
    #expect(service.connections == 0)
    // Dropped, not tried again.
    #expect(try await fixture.waiting() == 0)
  }

  @Test func onesThatHangHoldNobodyUp() async throws {
    let silent = try WebPushStandIn(otherwise: .silence)
    let service = try WebPushStandIn()
    for number in 0..<8 { try await queue(for: "slow\(number)", at: silent.endpoint) }
    for _ in 0..<20 { try await queue(for: "bert", at: service.endpoint) }
    try await run(
      try provider([silent.authority, service.authority]), untilEmptyFor: "bert")
    #expect(service.received.count == 20)
    #expect(silent.received.count <= 2)
    #expect(try await fixture.waiting(for: "slow0") == 1)
  }
}
