internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

@Suite(
  "ID tokens of OpenID Connect",
  .enabled(if: StandInIssuer.isThere, "needs python3-jwt and python3-cryptography"))
struct OIDCTests {
  /// The reason for which a token is refused, by the names of the script's cases.
  private static let refused: [IDTokenRules.Refusal: [String]] = [
    .malformed: [
      "two parts", "four parts", "no signature", "odd signature", "padded signature", "odd header",
      "odd payload", "no JSON", "no object", "empty", "dots",
      "more than 8 KiB",
    ],
    .kind: ["critical", "access token"],
    .unknownKey: [
      "RS256 by the EC key's name", "ES256 by the RSA key's name", "key for encryption",
      "key for wrapping", "weak key", "key of RS512", "unknown key", "ES256 with P-384",
    ],
    .signature: [
      "another's key", "another's EC key", "own key in the header", "wrong signature",
      "short signature", "zero signature", "other payload",
    ],
    .issuer: ["issuer", "issuer with a slash"],
    .audience: ["audience", "no audience", "audiences", "audiences of another"],
    .expired: ["expired", "no expiry", "expiry in words", "expiry is true"],
    .early: ["future", "no time", "not before", "not before in words"],
    .nonce: ["nonce", "no nonce", "nonce is a list"],
    .identity: ["no subject", "subject", "subject is a number"],
  ]

  @Test func judgesTokens() async throws {
    let issuer = try await StandInIssuer()
    let provider = try issuer.provider()
    let good = [
      "RS256", "ES256", "no key", "own audiences", "one audience", "expired just now", "8 KiB",
      "Keycloak", "Authelia", "Dex",
    ]
    for name in good {
      #expect(try await issuer.decision(name, by: provider) == .accepted, "\(name)")
    }
    for (reason, names) in Self.refused {
      for name in names {
        let decision = try await issuer.decision(name, by: provider)
        #expect(decision == .refused(reason: reason.rawValue), "\(name)")
      }
    }
    // The script knows no such algorithm by these names either, whatever the library says about them.
    let algorithms = [
      "none", "nOnE", "no algorithm", "HMAC with the PEM", "HMAC with the DER",
      "HMAC with the modulus", "HMAC with the shared key", "RS384", "PS256", "ES384",
    ]
    let unfit: [IdentityProvider.IdentityDecision] = [.malformed, .algorithm].map {
      (reason: IDTokenRules.Refusal) in .refused(reason: reason.rawValue)
    }
    for name in algorithms {
      #expect(unfit.contains(try await issuer.decision(name, by: provider)), "\(name)")
    }
    // All that took one look at the keys: the unknown ones came too soon after it for another.
    #expect(try await issuer.requests == 1)
  }

  @Test func makesTheNonce() throws {
    // By Python's hashlib.
    let nonce = Version2.tokenNonce(
      try #require(EncryptionPublicKey([UInt8](repeating: 1, count: 32))),
      try #require(AuthenticationPublicKey([UInt8](repeating: 2, count: 32))))
    #expect(nonce == "9973879bd5d453bfeb0e9de444347378f4feb924951c03a0a87736b5bece4b0f")
  }

  @Test func bindsATokenToKeys() async throws {
    let issuer = try await StandInIssuer()
    let provider = try issuer.provider()
    let token = try await issuer.token("ES256")
    for (own, authentic) in [(true, true), (false, true), (true, false)] {
      let applicant = Applicant(
        encryptionKey: own
          ? issuer.encryptionKey : EncryptionKeyPair.generate(for: .session).publicKey,
        authenticationKey: authentic
          ? issuer.authenticationKey : AuthenticationKeyPair.generate(for: .session).publicKey,
        uid: "\(issuer.url)#ann", token: token)
      let decision = await provider.evaluate(applicant) { true }
      #expect((decision == .accepted) == (own && authentic))
    }
    let lenient = try issuer.provider { $0.nonce = .optional }
    #expect(try await issuer.decision("no nonce", by: lenient) == .accepted)
    #expect(
      try await issuer.decision("nonce", by: lenient)
        == .refused(reason: IDTokenRules.Refusal.nonce.rawValue))
  }

  @Test func takesAClaimAsTheIdentity() async throws {
    let issuer = try await StandInIssuer()
    let email = try issuer.provider { $0.claim = "email" }
    let ann = "ann@example.com"
    #expect(try await issuer.decision("RS256", by: email, uid: ann) == .accepted)
    #expect(try await issuer.decision("verified in words", by: email, uid: ann) == .accepted)
    for name in ["unverified", "not verified"] {
      #expect(
        try await issuer.decision(name, by: email, uid: ann)
          == .refused(reason: IDTokenRules.Refusal.unverified.rawValue))
    }
    let identity = IdentityProvider.IdentityDecision.refused(
      reason: IDTokenRules.Refusal.identity.rawValue)
    #expect(try await issuer.decision("RS256", by: email, uid: "Ann@example.com") == identity)
    #expect(try await issuer.decision("RS256", by: email) == identity)
    let name = try issuer.provider { $0.claim = "preferred_username" }
    #expect(try await issuer.decision("RS256", by: name, uid: "ann") == .accepted)
    let missing = try issuer.provider { $0.claim = "nickname" }
    #expect(try await issuer.decision("RS256", by: missing, uid: "ann") == identity)
    #expect(try await issuer.decision("RS256", by: missing, uid: "") == identity)
  }

  @Test func fetchesKeysOnceForAnUnknownOne() async throws {
    let issuer = try await StandInIssuer()
    let provider = try issuer.provider()
    let unknown = IdentityProvider.IdentityDecision.refused(
      reason: IDTokenRules.Refusal.unknownKey.rawValue)
    #expect(try await issuer.decision("RS256", by: provider) == .accepted)
    try await issuer.control("rotate")
    // So soon after the last look nobody asks again.
    #expect(try await issuer.decision("RS256", by: provider) == unknown)
    issuer.clock.advance(by: .seconds(11))
    // Nor for a client that may not, or for a key that is known and doesn't fit.
    #expect(try await issuer.decision("RS256", by: provider, mayFetch: false) == unknown)
    #expect(try await issuer.requests == 1)
    #expect(try await issuer.decision("RS256", by: provider) == .accepted)
    #expect(try await issuer.requests == 2)
    for _ in 1...5 { #expect(try await issuer.decision("unknown key", by: provider) == unknown) }
    #expect(try await issuer.requests == 2)
    // After an hour the keys are looked at again, even if all tokens name known ones.
    issuer.clock.advance(by: .seconds(3600))
    #expect(try await issuer.decision("ES256", by: provider) == .accepted)
    #expect(try await issuer.requests == 3)
  }

  @Test func asksOnceForManyAtATime() async throws {
    let issuer = try await StandInIssuer()
    let provider = try issuer.provider()
    let verdicts = try await withThrowingTaskGroup { group in
      for _ in 1...20 { group.addTask { try await issuer.decision("ES256", by: provider) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(verdicts == Array(repeating: .accepted, count: 20))
    #expect(try await issuer.requests == 1)
  }

  @Test(arguments: [
    ("hang", "imeout"), ("endless", "too long"), ("redirect", "302"), ("broken", "500"),
    ("no JSON", "malformed"), ("other", "another issuer"),
  ])
  func refusesWhileTheIssuerDoesNotAnswer(mode: String, with words: String) async throws {
    let issuer = try await StandInIssuer()
    let provider = try issuer.provider()
    try await issuer.control("mode", ["is": mode])
    guard case .unavailable(let reason) = try await issuer.decision("RS256", by: provider) else {
      Issue.record("a decision without keys")
      return
    }
    #expect(reason.contains(words), "\(reason)")
    try await issuer.control("mode", ["is": "good"])
    // The next client gets the same answer at once, and the one after the pause is served.
    let again = try await issuer.decision("RS256", by: provider)
    #expect(again == .unavailable(reason: reason))
    #expect(try await issuer.requests == 0)
    issuer.clock.advance(by: .seconds(11))
    #expect(try await issuer.decision("RS256", by: provider) == .accepted)
    // An issuer that is down hasn't withdrawn its keys.
    try await issuer.control("mode", ["is": mode])
    issuer.clock.advance(by: .seconds(60))
    #expect(try await issuer.decision("ES256", by: provider) == .accepted)
  }

  @Test func readsAndChecksTheSection() throws {
    func read(_ toml: String) throws -> ApptimistConfiguration {
      let document = try ConfigurationDocument(
        parsing: Array("[apptimist]\nidentity = \"oidc\"\n[apptimist.oidc]\n\(toml)".utf8),
        file: "/test.toml")
      let section = ConfigurationReader(document).section("apptimist")
      let configuration = ApptimistConfiguration(section)
      try section.finish()
      return configuration
    }
    let good = "issuer = \"https://id.example.com/realms/a/\"\naudience = \"wallet\"\n"
    let configuration = try read(good + "claim = \"email\"\nnonce = \"optional\"")
    #expect(
      configuration.oidc.discoveryURL
        == "https://id.example.com/realms/a/.well-known/openid-configuration")
    func doubts(_ configuration: ApptimistConfiguration) -> Int {
      configuration.warnings(isExposed: true).count
    }
    #expect(doubts(configuration) == 1)
    #expect(doubts(try read(good)) == 0)
    #expect(doubts(try read(good.replacing("https:", with: "http:"))) == 1)
    let bad = [
      "", "issuer = \"https://id.example.com\"", "audience = \"wallet\"",
      good.replacing("https:", with: "ftp:"), good.replacing("/a/", with: "/a?b"),
      good.replacing("/a/", with: "/" + String(repeating: "a", count: 200)),
      good.replacing("https://", with: "https://user@"), good + "nonce = \"no\"",
      good + "timeout = \"2h\"",
    ]
    for toml in bad {
      #expect(throws: ConfigurationError.self, "\(toml)") { try read(toml) }
    }
  }
}
