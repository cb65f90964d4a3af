internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// Logins by wallets.
@Suite(.ownThreads) struct WalletTests {
  static let toml = """
    wallet = true
    siwe = { domain = "example.org", uri = "https://example.org/msgr/" }

    """

  /// A wallet with a key.
  struct Wallet: Sendable {
    let secret: [UInt8]
    let address: EthereumAddress

    init(_ number: UInt8) throws {
      secret = [UInt8](repeating: number, count: 32)
      let hash = [UInt8](repeating: 1, count: 32)
      let signature = try #require(WalletSignature.sign(hash, with: secret))
      address = try #require(WalletSignature.signer(of: hash, signature))
    }

    var uid: String { "eip155:1:\(address.lowercase)" }

    func sign(_ message: String) throws -> String {
      let hash = WalletSignature.hash(Array(message.utf8))
      return "0x" + Hex.encode(try #require(WalletSignature.sign(hash, with: secret)))
    }

    /// Has the service write a message, and signs it.
    func proof(at fixture: Fixture) async throws -> [String: Any] {
      let response = try await fixture.post(
        "/msgr/wallet-challenge", ["Address": address.lowercase])
      #expect(response.status == 200)
      let message = try #require(response.object["Message"] as? String)
      return ["Message": message, "Signature": try sign(message)]
    }

    func login(
      at fixture: Fixture, as name: String? = nil, on device: String = "wallet",
      _ more: [String: Any] = [:]
    ) async throws -> TestResponse {
      var fields = try await proof(at: fixture).merging(more) { $1 }
      fields["DeviceID"] = Fixture.device(device)
      fields["Username"] = name
      return try await fixture.post("/msgr/wallet-login", fields)
    }
  }

  @Test func withoutTheKeyThereAreNone() async throws {
    let fixture = try await Fixture()
    for path in ["wallet-challenge", "wallet-login", "wallet", "find"] {
      #expect(try await fixture.post("/msgr/\(path)", ["Address": "0x00"]).status == 404)
    }
    let wallets = try await Fixture(Self.toml)
    #expect(
      try await wallets.request(.get, "/wallet-challenge").status == 404)
  }

  @Test func aWalletMakesAnAccountAndLogsIn() async throws {
    let fixture = try await Fixture(Self.toml)
    let wallet = try Wallet(5)
    let unnamed = try await wallet.login(at: fixture)
    #expect(unnamed.status == 400 && unnamed.field == "Username")
    let made = try await wallet.login(at: fixture, as: "anna")
    #expect(made.status == 200 && made.object["Username"] as? String == "anna")
    // Afterwards the name isn't asked for.
    let again = try await wallet.login(at: fixture, as: "bert", on: "other")
    #expect(again.status == 200 && again.object["Username"] as? String == "anna")
    let token = try #require(again.object["Token"] as? String)
    #expect(try await fixture.post("/contacts", [:], token: token).status == 200)
    let wallets = try await fixture.post("/msgr/wallet", [:], token: token)
    #expect(wallets.object["Wallets"] as? [String] == [wallet.uid])
    // Nobody has its password.
    let login = try await fixture.post(
      "/login", ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("x")])
    #expect(login.status == 403)
    // A taken name is another's.
    #expect(try await Wallet(6).login(at: fixture, as: "anna").status == 403)
    let export = try await fixture.post("/export", [:], token: token)
    #expect(export.object["Wallets"] as? [String] == [wallet.uid])
    // A device that streams is told what was read before, as by a password's login.
    var fields = try await wallet.proof(at: fixture)
    fields["DeviceID"] = "stream:anna-1234"
    let stream = try await fixture.post("/msgr/wallet-login", fields)
    #expect(stream.object["Seen"] as? String == "0000000000000000")
  }

  @Test func aSignatureIsGoodOnce() async throws {
    let fixture = try await Fixture(Self.toml)
    let wallet = try Wallet(5)
    var fields = try await wallet.proof(at: fixture)
    fields["DeviceID"] = Fixture.device("a")
    // What is refused for another reason can be tried again.
    #expect(try await fixture.post("/msgr/wallet-login", fields).status == 400)
    fields["Username"] = "anna"
    let all = fields.compactMapValues { $0 as? String }
    let outcomes = try await withThrowingTaskGroup { group in
      for number in 1...8 {
        group.addTask {
          try await fixture.post("/msgr/wallet-login", all, from: "192.0.2.\(number)").status
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.sorted() == [200] + [Int](repeating: 403, count: 7))
    // Nor is it good after its time, when nobody remembers it.
    let late = try await wallet.proof(at: fixture).merging(["DeviceID": Fixture.device("a")]) { $1 }
    fixture.clock.advance(by: .seconds(299))
    let inTime = try await wallet.proof(at: fixture)
    fixture.clock.advance(by: .seconds(1))
    #expect(try await fixture.post("/msgr/wallet-login", late).status == 403)
    try await fixture.service.service.tidy()
    #expect(
      try await fixture.post(
        "/msgr/wallet-login", inTime.merging(["DeviceID": Fixture.device("a")]) { $1 }
      ).status == 200)
    #expect(try await fixture.post("/msgr/wallet-login", all, from: "192.0.2.99").status == 403)
  }

  @Test func whatIsNotOursIsRefused() async throws {
    let fixture = try await Fixture(Self.toml)
    let wallet = try Wallet(5)
    let proof = try await wallet.proof(at: fixture)
    let message = try #require(proof["Message"] as? String)
    let nonce = try #require(message.firstMatch(of: /Nonce: ([0-9a-f]{72})/)?.output.1)
    let flipped = nonce.dropLast() + (nonce.last == "0" ? "1" : "0")
    for (number, other) in [
      message.replacing("example.org wants", with: "example.com wants"),
      message.replacing("/msgr/", with: "/msgr"),
      message.replacing("Chain ID: 1", with: "Chain ID: 2"),
      message.replacing("Version: 1", with: "Version: 2"),
      message.replacing(nonce, with: flipped), message.replacing(nonce, with: "12345678"),
      message.replacing(nonce, with: String(repeating: "0", count: 72)), message + "\n", "",
    ].enumerated() {
      let response = try await fixture.post(
        "/msgr/wallet-login",
        [
          "Message": other, "Signature": try wallet.sign(other), "Username": "anna",
          "DeviceID": Fixture.device("a"),
        ], from: "192.0.2.\(number)")
      #expect(response.status == 403, "\(other)")
    }
    for signature in [
      "", "0x", "0xzz", try Wallet(6).sign(message), String(try wallet.sign(message).dropFirst(2)),
    ] {
      let response = try await fixture.post(
        "/msgr/wallet-login",
        [
          "Message": message, "Signature": signature, "Username": "anna",
          "DeviceID": Fixture.device("a"),
        ])
      #expect(response.status == 403, "\(signature)")
    }
    // A nonce of another service.
    let other = try await Fixture(Self.toml)
    let foreign = try await wallet.proof(at: other)
    #expect(
      try await fixture.post(
        "/msgr/wallet-login",
        foreign.merging(["Username": "anna", "DeviceID": Fixture.device("a")]) { $1 }
      ).status == 403)
    for fields in [
      ["Address": "0x12"], ["Address": wallet.address.lowercase, "Chain": "2"], [:],
    ] {
      #expect(try await fixture.post("/msgr/wallet-challenge", fields).status == 400)
    }
  }

  @Test func failuresCountAsLogins() async throws {
    let fixture = try await Fixture(Self.toml + "failed_logins_address = 3\n")
    let wallet = try Wallet(5)
    for status in [403, 403, 403, 429] {
      let wrong = try await wallet.login(at: fixture, as: "anna", ["Signature": "0x00"])
      #expect(wrong.status == status)
    }
    #expect(try await wallet.login(at: fixture, as: "anna").status == 429)
  }

  @Test func signaturesThatAreNoneAnyMoreCountAsFailures() async throws {
    let fixture = try await Fixture(Self.toml + "failed_logins_address = 2\n")
    let wallet = try Wallet(5)
    let used = try await wallet.proof(at: fixture).merging(
      ["Username": "anna", "DeviceID": Fixture.device("a")]) { $1 }
    #expect(try await fixture.post("/msgr/wallet-login", used).status == 200)
    let other = try await fixture.register("bert")
    #expect(try await fixture.post("/msgr/wallet-login", used).status == 403)
    // Another's wallet.
    let foreign = try await wallet.proof(at: fixture)
    #expect(try await fixture.post("/msgr/wallet", foreign, token: other).status == 403)
    for _ in 1...2 {
      #expect(try await fixture.post("/msgr/wallet-login", used).status == 429)
    }
  }

  @Test func aForeignWalletInPlaceOfAPasswordCountsAsWell() async throws {
    let metrics = Metrics()
    let fixture = try await Fixture(Self.toml + "failed_logins_address = 3\n", metrics: metrics)
    let wallet = try Wallet(5)
    let other = try Wallet(6)
    let anna = try #require(
      try await wallet.login(at: fixture, as: "anna", on: "x").object["Token"] as? String)
    let bert = try #require(
      try await other.login(at: fixture, as: "bert", on: "y").object["Token"] as? String)
    for _ in 1...3 {
      let foreign = try await other.proof(at: fixture)
      #expect(try await fixture.post("/delete", foreign, token: anna).status == 403)
    }
    #expect(try await wallet.login(at: fixture, on: "z").status == 429)
    #expect(metrics.render().contains(#"awd_msgr_refused_logins_total{reason="forbidden"} 3"#))
    // Users who need no signature go on, and so do other networks.
    #expect(try await fixture.post("/msgr/wallet", [:], token: bert).status == 200)
    var fields = try await wallet.proof(at: fixture)
    fields["DeviceID"] = Fixture.device("z")
    #expect(try await fixture.post("/msgr/wallet-login", fields, from: "192.0.2.9").status == 200)
  }

  /// An account that the operator has removed is gone for its wallet as it is for its password.
  @Test func whoWasRemovedIsUnknown() async throws {
    let fixture = try await Fixture(Self.toml + "signup = \"invite\"\n")
    let wallet = try Wallet(5)
    let store = fixture.service.service.store
    try await store.addInvitation(
      InvitationHash(ofToken: "come in".utf8), uses: 1, expires: fixture.clock.now + .seconds(3600))
    let made = try await wallet.login(at: fixture, as: "anna", ["Invitation": "come in"])
    let token = try #require(made.object["Token"] as? String)
    try await store.remove(try UserName("anna", in: .username))
    #expect(try await fixture.post("/contacts", [:], token: token).status == 403)
    #expect(try await wallet.login(at: fixture).status == 400)
    #expect(try await wallet.login(at: fixture, as: "anna").status == 403)
  }

  @Test func walletsAreBoundAndUnbound() async throws {
    let fixture = try await Fixture(Self.toml)
    let first = try Wallet(5)
    let second = try Wallet(6)
    let anna = try await fixture.register("anna")
    let bert = try #require(
      try await second.login(at: fixture, as: "bert").object["Token"] as? String)
    func wallet(_ fields: [String: Any], _ token: String) async throws -> TestResponse {
      try await fixture.post("/msgr/wallet", fields, token: token)
    }
    let bound = try await wallet(try await first.proof(at: fixture), anna)
    #expect(bound.object["Wallets"] as? [String] == [first.uid])
    #expect(try await wallet(try await first.proof(at: fixture), anna).status == 200)
    // Another's stays another's.
    #expect(try await wallet(try await second.proof(at: fixture), anna).status == 403)
    #expect(try await wallet(["Remove": second.address.lowercase], anna).status == 403)
    #expect(
      try await first.login(at: fixture, on: "first").object["Username"] as? String == "anna")
    // Found by others who are logged in.
    let found = try await fixture.post(
      "/msgr/find", ["Address": first.address.checksummed], token: bert)
    #expect(found.object["Username"] as? String == "anna")
    // On another chain a contract of somebody else's may have the address.
    let elsewhere = try await fixture.post(
      "/msgr/find", ["Address": first.address.checksummed, "Chain": 137], token: bert)
    #expect(elsewhere.status >= 400 && elsewhere.object["Username"] == nil)
    #expect(
      try await fixture.post(
        "/msgr/find", ["Address": try Wallet(7).address.lowercase], token: bert
      )
      .status == 403)
    #expect(
      try await fixture.post("/msgr/find", ["Address": first.address.lowercase]).status == 400)
    // Anna has a password, Bert has nothing else.
    let removed = try await wallet(["Remove": first.address.lowercase], anna)
    #expect(removed.object["Wallets"] as? [String] == [])
    #expect(try await wallet(["Remove": second.address.lowercase], bert).status == 403)
    #expect(try await wallet([:], bert).object["Wallets"] as? [String] == [second.uid])
    #expect(try await wallet(try await first.proof(at: fixture), bert).status == 200)
    #expect(try await wallet(["Remove": second.address.lowercase], bert).status == 200)
  }

  @Test func aWalletStandsForAPasswordThatIsNotThere() async throws {
    let fixture = try await Fixture(Self.toml)
    let wallet = try Wallet(5)
    let other = try Wallet(6)
    let token = try #require(
      try await wallet.login(at: fixture, as: "anna").object["Token"] as? String)
    let anna = try await fixture.register("clara")
    func post(_ path: String, _ fields: [String: Any], _ token: String) async throws -> Int {
      try await fixture.post(path, fields, token: token).status
    }
    #expect(try await post("/delete", [:], token) == 400)
    #expect(try await post("/delete", try await other.proof(at: fixture), token) == 403)
    #expect(try await post("/delete", try await wallet.proof(at: fixture), anna) == 403)
    let new = try await wallet.proof(at: fixture).merging(["NewPassword": "a password"]) { $1 }
    #expect(try await post("/password", new, token) == 200)
    // Now there is one.
    let next = try await wallet.proof(at: fixture).merging(["NewPassword": "another one"]) { $1 }
    #expect(try await post("/password", next, token) == 403)
    #expect(try await post("/delete", try await wallet.proof(at: fixture), token) == 403)
    #expect(try await post("/delete", ["Password": "a password"], token) == 200)
    // The wallet is free.
    let again = try #require(
      try await wallet.login(at: fixture, as: "anna").object["Token"] as? String)
    #expect(try await post("/delete", try await wallet.proof(at: fixture), again) == 200)
    #expect(try await wallet.login(at: fixture).status == 400)
  }

  @Test func registrationsHaveTheirRules() async throws {
    let wallet = try Wallet(5)
    #expect(
      try await wallet.login(at: try await Fixture(Self.toml + "signup = \"closed\"\n"), as: "anna")
        .status == 403)
    let fixture = try await Fixture(Self.toml + "signup = \"invite\"\n")
    let store = fixture.service.service.store
    try await store.addInvitation(
      InvitationHash(ofToken: "come in".utf8), uses: 1, expires: fixture.clock.now + .seconds(3600))
    #expect(try await wallet.login(at: fixture, as: "anna").status == 403)
    #expect(
      try await wallet.login(at: fixture, as: "anna", ["Invitation": "let me in"]).status == 403)
    #expect(
      try await wallet.login(at: fixture, as: "anna", ["Invitation": "come in"]).status == 200)
    #expect(
      try await Wallet(6).login(at: fixture, as: "bert", ["Invitation": "come in"]).status == 403)
    let few = try await Fixture(
      Self.toml + "registrations_burst = 1\nregistrations_per_minute = 1\n")
    #expect(try await wallet.login(at: few, as: "anna").status == 200)
    #expect(try await Wallet(6).login(at: few, as: "bert").status == 429)
    #expect(try await wallet.login(at: few).status == 200)
  }

  @Test(.enabled(if: AccountChain.isThere, "needs eth-tester"))
  func contractsLogIn() async throws {
    let owner = try Wallet(5)
    let chain = try await AccountChain(owner: owner.address.checksummed)
    let fixture = try await Fixture(Self.toml + "[chains]\n1 = \"\(chain.url)\"\n")
    func login(_ sign: (String) throws -> String, from peer: String = "192.0.2.1") async throws
      -> TestResponse
    {
      let challenge = try await fixture.post("/msgr/wallet-challenge", ["Address": chain.wallet])
      let message = try #require(challenge.object["Message"] as? String)
      return try await fixture.post(
        "/msgr/wallet-login",
        [
          "Message": message, "Signature": try sign(message), "Username": "safe",
          "DeviceID": Fixture.device("a"),
        ], from: peer)
    }
    #expect(try await login(owner.sign).status == 200)
    #expect(try await login(try Wallet(6).sign).status == 403)
    let calls = try await chain.calls()
    for _ in 1...60 { _ = try await login(owner.sign, from: "198.51.100.2") }
    #expect(try await login(owner.sign, from: "198.51.100.2").status == 429)
    #expect(try await chain.calls() == calls + 60)
    try await chain.stop()
    #expect(try await login(owner.sign).status == 503)
  }
}
