internal import Cryptography
internal import Ethereum
internal import Foundation
internal import Testing
internal import Platform

/// Messages of ERC-4361, ours and those of another implementation (`SignIn`).
@Suite("Sign-In with Ethereum")
struct SignInTests {
  private struct Public: Decodable {
    struct Case: Decodable {
      let name: String
      let message: String
      let domain: String
      let uri: String
      let nonce: String
      let time: String
      let signature: String
    }
    let good: [String: String]
    let bad: [String: String]
    let verified: [Case]
    let refused: [Case]
  }

  private struct Own: Decodable {
    struct Refused: Decodable {
      let why: String
      let message: String
      let signature: String
    }
    let now: String
    let domain: String
    let uri: String
    let chains: [Int64]
    let privateKey: String
    let address: String
    let nonce: String
    let message: String
    let hash: String
    let signature: String
    let refused: [Refused]

    var rules: SignInRules {
      SignInRules(
        domain: domain, uri: uri, chains: chains.compactMap { ChainID($0) }, maxAge: .seconds(600))
    }
  }

  private static func read<Value: Decodable>(_ name: String) throws -> Value {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "SignIn/\(name).json")
    return try JSONDecoder().decode(Value.self, from: Data(contentsOf: file))
  }

  private static func moment(_ text: String) throws -> Timestamp {
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    return Timestamp(
      milliseconds: Int64((try Date(text, strategy: format).timeIntervalSince1970 * 1000).rounded())
    )
  }

  /// The reason for which a message signs nobody in, or nil if it does.
  private static func refusal(
    _ message: String, _ signature: String, _ rules: SignInRules, _ nonce: String, _ now: Timestamp
  ) -> String? {
    do throws(SignInRefusal) {
      let message = try SignInMessage(parsing: Array(message.utf8))
      _ = try rules.check(message, nonce: nonce, at: now)
      let signer = WalletSignature.signer(of: message.hash, Hex.decode(signature.utf8) ?? [])
      return signer == message.address ? nil : "signature"
    } catch {
      return "\(error)"
    }
  }

  @Test func ourOwnAreJudged() throws {
    let own: Own = try Self.read("apptimist")
    let now = try Self.moment(own.now)
    let parsed = try SignInMessage(parsing: Array(own.message.utf8))
    #expect(Hex.encode(parsed.hash) == own.hash)
    #expect(parsed.address.checksummed == own.address && parsed.chain == .main)
    let made = SignInMessage.text(
      for: own.rules, parsed.address, on: .main,
      statement: "Make an account with the keys that the nonce names.", nonce: own.nonce,
      at: parsed.issued, for: .seconds(600))
    #expect(made == own.message)
    let secret = try #require(Hex.decode(own.privateKey.utf8))
    let again = try #require(WalletSignature.sign(parsed.hash, with: secret))
    #expect(WalletSignature.signer(of: parsed.hash, again) == parsed.address)
    #expect(Self.refusal(own.message, own.signature, own.rules, own.nonce, now) == nil)
    let reasons = Dictionary(
      uniqueKeysWithValues: own.refused.map {
        ($0.why, Self.refusal($0.message, $0.signature, own.rules, own.nonce, now))
      })
    #expect(
      reasons == [
        "address in lower case": "address", "another domain": "domain", "another uri": "uri",
        "version 2": "version", "chain 01": "chain", "another key's nonce": "nonce",
        "over": "expired", "a line more": "malformed", "lines in another order": "malformed",
        "a date that isn't": "malformed", "signed by another": "signature",
        "64 bytes": "signature", "a bit": "signature",
      ])
  }

  @Test func ourOwnIsGoodForItsTime() throws {
    let own: Own = try Self.read("apptimist")
    for (time, reason) in [
      ("2026-11-25T11:58:59Z", "future"), ("2026-11-25T11:59:00Z", nil),
      ("2026-11-25T12:10:59Z", nil), ("2026-11-25T12:11:00Z", "expired"),
      ("2026-11-25T12:11:01Z", "tooOld"),
    ] {
      let now = try Self.moment(time)
      #expect(Self.refusal(own.message, own.signature, own.rules, own.nonce, now) == reason)
    }
    var rules = own.rules
    rules.maxAge = .seconds(60)
    let late = try Self.moment("2026-11-25T12:02:01Z")
    #expect(Self.refusal(own.message, own.signature, rules, own.nonce, late) == "tooOld")
  }

  @Test func anothersParse() throws {
    let all: Public = try Self.read("public")
    for (name, message) in all.good {
      #expect(throws: Never.self, "\(name)") {
        _ = try SignInMessage(parsing: Array(message.utf8))
      }
    }
    for (name, message) in all.bad {
      #expect(throws: SignInRefusal.self, "\(name)") {
        let parsed = try SignInMessage(parsing: Array(message.utf8))
        let rules = SignInRules(
          domain: parsed.domain, uri: parsed.uri, chains: [.main], maxAge: .seconds(600))
        _ = try rules.check(parsed, nonce: parsed.nonce, at: parsed.issued)
      }
    }
  }

  @Test func anothersAreVerified() throws {
    let all: Public = try Self.read("public")
    func refusal(_ one: Public.Case) throws -> String? {
      let rules = SignInRules(
        domain: one.domain, uri: one.uri, chains: [.main], maxAge: .seconds(1 << 34))
      return Self.refusal(
        one.message, one.signature, rules, one.nonce, try Self.moment(one.time))
    }
    for one in all.verified {
      // That one is evaluated two years before it was made, which only we look at.
      #expect(try refusal(one) == (one.name == "expired message" ? "future" : nil), "\(one.name)")
      let message = try SignInMessage(parsing: Array(one.message.utf8))
      let signature = try #require(Hex.decode(one.signature.utf8))
      #expect(WalletSignature.signer(of: message.hash, signature) == message.address)
    }
    let reasons = Dictionary(
      uniqueKeysWithValues: try all.refused.map { ($0.name, try refusal($0)) })
    #expect(
      reasons == [
        "expired message": "expired", "domain binding": "domain", "custom time": "expired",
        "custom nonce": "nonce", "malformed signature": "signature",
        "wrong signature": "signature", "not yet valid": "early", "invalid issuedAt": "malformed",
        "invalid notBefore": "malformed", "invalid expirationTime": "malformed",
      ])
  }

  /// Parts of our own message, and what stands in their place.
  @Test(arguments: [
    ("example.org wants", "https://example.org wants", nil),
    ("example.org wants", "http://example.org wants", "uri"),
    ("example.org wants", "://example.org wants", "malformed"),
    ("example.org wants", "example.org  wants", "malformed"),
    ("example.org wants", "EXAMPLE.org wants", "domain"),
    ("example.org wants", "[::1]:8080 wants", "domain"),
    ("example.org wants", "[::x] wants", "malformed"),
    ("example.org wants", "ex ample wants", "malformed"),
    ("account:\n", "account:\r\n", "malformed"),
    ("0xaae", "0Xaae", "malformed"), ("0xaae", "0xAae", "address"), ("0xaae", "aae", "malformed"),
    ("Make an", "Make \"an\"", "malformed"), ("Make an", "Make än", "malformed"),
    ("Make an", "Make\tan", "malformed"), ("Make an", "Make an (a) [b] /?#@!$&'*+,;=_~", nil),
    ("Make an account with the keys that the nonce names.\n", "", nil),
    ("Make an account with the keys that the nonce names.\n\n", "", "malformed"),
    ("URI: https", "URI:  https", "malformed"), ("/siren", "/siren%2", "malformed"),
    ("/siren", "/siren%20", "uri"), ("/siren", "/si ren", "malformed"),
    ("Chain ID: 1\n", "Chain ID: 2\n", "chain"), ("Chain ID: 1\n", "Chain ID: \n", "malformed"),
    ("Chain ID: 1\n", "Chain ID: -1\n", "malformed"),
    ("Chain ID: 1\n", "Chain ID: 99999999999999999999\n", "chain"),
    ("Nonce: a2ee", "Nonce: A2ee", "nonce"), ("Nonce: a2ee", "Nonce: a2-ee", "malformed"),
    ("12:00:00Z", "12:00:00.5Z", nil), ("12:00:00Z", "12:00:00+00:00", nil),
    ("12:00:00Z", "13:00:00+01:00", nil), ("12:00:00Z", "12:00:00", "malformed"),
    ("12:00:00Z", "12:00:00.Z", "malformed"), ("12:00:00Z", "12:00:60Z", "malformed"),
    ("12:00:00Z", "24:00:00Z", "malformed"), ("12:00:00Z", "12:00Z", "malformed"),
    ("T12:00:00Z", " 12:00:00Z", "malformed"), ("T12:00:00Z", "t12:00:00z", "malformed"),
    ("2026-11-25T12:00:00Z", "2026-11-31T12:00:00Z", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nNot Before: 2026-11-25T12:07:00Z", "early"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nNot Before: 2026-11-25T12:06:00Z", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nNot Before: now", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nRequest ID: ", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nRequest ID: a/b", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nRequest ID: a:@%41", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources: ", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:\n- a:b#c\n- urn:x:y?z", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:\n- a:b#c#d", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:\n- http://[v1.a]/x", nil),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:\n- //a/b", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\nResources:\n-a:b", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\n", "malformed"),
    ("2026-11-25T12:10:00Z", "2026-11-25T12:10:00Z\0", "malformed"),
  ])
  func whatDiffersIsToldApart(_ part: String, _ other: String, _ reason: String?) throws {
    let own: Own = try Self.read("apptimist")
    let now = try Self.moment(own.now)
    try #require(own.message.contains(part))
    let message = own.message.replacing(part, with: other)
    let hash = WalletSignature.hash(Array(message.utf8))
    let secret = try #require(Hex.decode(own.privateKey.utf8))
    let signature = try #require(WalletSignature.sign(hash, with: secret))
    let refusal = Self.refusal(message, Hex.encode(signature), own.rules, own.nonce, now)
    #expect(refusal == reason)
  }

  @Test func longMessagesAreRefused() throws {
    let own: Own = try Self.read("apptimist")
    let long = String(repeating: "x", count: SignInMessage.limit - own.message.utf8.count)
    let most = own.message.replacing("Make an", with: "Make an\(long)")
    #expect(throws: Never.self) { _ = try SignInMessage(parsing: Array(most.utf8)) }
    let more = own.message.replacing("Make an", with: "Make an\(long)x")
    #expect(throws: SignInRefusal.malformed) { _ = try SignInMessage(parsing: Array(more.utf8)) }
  }

  @Test func theValidatorIsTheOneOfTheERC() throws {
    let signer = try #require(EthereumAddress("0x6b175474e89094c44da98b954eedeac495271d0f"))
    let data = FunctionCall.validation(by: signer, [UInt8](repeating: 7, count: 32), [1, 2, 3]).data
    #expect(
      Keccak256.hash(Array(data.prefix(1684))).hex
        == "00f03afb646c45f698b5a1f540c482aebc9f5215003e4707d362a02526753936")
    let zeros = { String(repeating: "0", count: $0) }
    #expect(
      Hex.encode(data.dropFirst(1684)) == zeros(24) + "6b175474e89094c44da98b954eedeac495271d0f"
        + String(repeating: "07", count: 32) + zeros(62) + "60" + zeros(62) + "03" + "010203"
        + zeros(58))
  }

  @Test func signaturesOfNoKeyAreRefused() {
    let hash = [UInt8](repeating: 1, count: 32)
    let ones = [UInt8](repeating: 1, count: 64)
    for last: UInt8 in [2, 3, 26, 29, 255] {
      #expect(WalletSignature.signer(of: hash, ones + [last]) == nil)
    }
    for (r, s) in [(UInt8(0), UInt8(1)), (1, 0), (255, 1), (1, 255)] {
      let signature = [UInt8](repeating: r, count: 32) + [UInt8](repeating: s, count: 32) + [27]
      #expect(WalletSignature.signer(of: hash, signature) == nil)
    }
    #expect(WalletSignature.signer(of: [], ones + [27]) == nil)
    #expect(WalletSignature.sign(hash, with: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(WalletSignature.sign(hash, with: [UInt8](repeating: 255, count: 32)) == nil)
  }
}
