internal import Formats
internal import ApptimistProtocol
internal import Ethereum
internal import Configuration
internal import Cryptography
internal import Foundation
internal import FoundationNetworking
internal import HTTPProtocol
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// Accounts of Apptimist that are made by wallets.
@Suite("Sign-In with Ethereum at Apptimist") struct ApptimistSignInTests {
  private struct Vectors: Decodable {
    struct Refused: Decodable {
      let why: String
      let message: String
      let signature: String
    }
    let encryptionKey: String
    let authenticationKey: String
    let uid: String
    let token: String
    let message: String
    let refused: [Refused]
  }

  private static let now = Timestamp(seconds: 1_795_608_300)
  private static let secret = [UInt8](repeating: 0x33, count: 32)
  private let vectors: Vectors
  private let key: EncryptionPublicKey
  private let signer: AuthenticationPublicKey

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../EthereumTests/SignIn/apptimist.json").standardized
    vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
    key = try #require(EncryptionPublicKey(hex: vectors.encryptionKey))
    signer = try #require(AuthenticationPublicKey(hex: vectors.authenticationKey))
    #expect(Self.now.description == "2026-11-25T12:05:00.000Z")
  }

  private static func configuration(_ more: String = "") throws -> ApptimistConfiguration {
    let toml = """
      [server]
      data = "/tmp"
      public_url = "https://example.org"
      [apptimist]
      identity = "siwe"
      \(more)
      """
    let section = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "/awd.toml")
    ).section("apptimist")
    let configuration = ApptimistConfiguration(section)
    try section.finish()
    return configuration
  }

  private static func client(_ more: String = "") throws -> SignInClient {
    let configuration = try configuration(more)
    return SignInClient(configuration.siwe, try AccountChecker(configuration.chains)) { now }
  }

  private static func token(_ message: String, _ signature: [UInt8]) -> [UInt8] {
    let text = Array(message.utf8)
    return [UInt8(text.count >> 8), UInt8(text.count & 255)] + text + signature
  }

  private func applicant(_ token: [UInt8], uid: String? = nil) -> Applicant {
    Applicant(
      encryptionKey: key, authenticationKey: signer, uid: uid ?? vectors.uid, token: token)
  }

  @Test func vectorsAreJudged() async throws {
    let client = try Self.client()
    let token = try #require(Hex.decode(vectors.token.utf8))
    func decision(_ applicant: Applicant) async -> IdentityProvider.IdentityDecision {
      await client.evaluate(applicant) { true }
    }
    #expect(await decision(applicant(token)) == .signed(.key))
    for one in vectors.refused {
      let signature = try #require(Hex.decode(one.signature.utf8))
      guard case .refused = await decision(applicant(Self.token(one.message, signature))) else {
        Issue.record("\(one.why)")
        continue
      }
    }
    for uid in [
      "", vectors.uid.replacing(":1:", with: ":2:"), vectors.uid.uppercased(), vectors.uid + "0",
    ] {
      guard case .refused = await decision(applicant(token, uid: uid)) else {
        Issue.record("\(uid)")
        continue
      }
    }
    // Cut anywhere, or with a byte more, it is refused.
    for count in 0..<token.count {
      guard case .refused = await decision(applicant(Array(token.prefix(count)))) else {
        Issue.record("\(count) bytes")
        continue
      }
    }
    #expect(await decision(applicant(token + [0])) == .refused(reason: "the signature is wrong"))
    let others = Applicant(
      encryptionKey: key,
      authenticationKey: AuthenticationKeyPair.generate(for: .session).publicKey,
      uid: vectors.uid, token: token)
    #expect(await decision(others) == .refused(reason: SignInRefusal.nonce.rawValue))
  }

  @Test func messagesAreWritten() async throws {
    let client = try Self.client()
    func respond(to body: [UInt8]) async throws -> Response {
      try await client.respond(to: body, from: nil) { _ in
        true
      } mayQuery: {
        true
      }
    }
    func respond(_ fields: [String: Any]) async throws -> (Status, [String: String]) {
      let body = try JSONSerialization.data(withJSONObject: fields)
      let response = try await respond(to: Array(body))
      guard case .array(let bytes) = response.body else { return (response.status, [:]) }
      return (
        response.status, try JSONDecoder().decode([String: String].self, from: Data(bytes))
      )
    }
    let address = String(vectors.uid.suffix(42))
    let good: [String: Any] = [
      "address": address, "chain": 1, "encryptionKey": vectors.encryptionKey,
      "authenticationKey": vectors.authenticationKey,
    ]
    let (status, members) = try await respond(good)
    let times = { (text: String) in
      text.replacing("12:00:00Z", with: "12:05:00Z").replacing("12:10:00Z", with: "12:15:00Z")
    }
    #expect(status == .ok && members == ["uid": vectors.uid, "message": times(vectors.message)])
    for (field, values) in [
      "address": ["", "0x12", 1, NSNull(), Self.withWrongChecksum(address)],
      "chain": [0, 2, "1", 1.5, -1, 1e300, NSNull()],
      "encryptionKey": ["", "00", 1], "authenticationKey": ["zz", true],
    ] as [String: [Any]] {
      for value in values {
        var bad = good
        bad[field] = value
        let (status, members) = try await respond(bad)
        #expect(status == .badRequest && members["field"] == field)
      }
    }
    #expect(try await respond(to: Array("[".utf8)).status == .badRequest)
  }

  /// An address whose mixed case is not its checksum.
  private static func withWrongChecksum(_ address: String) -> String {
    let right = EthereumAddress(address)?.checksummed ?? ""
    let swapped = right.dropFirst(2).map { $0.isUppercase ? $0.lowercased() : $0.uppercased() }
    return "0x" + swapped.joined()
  }

  /// Only who shows the wallet's signature learns whether it has an account.
  @Test func walletsAreKnownToWhoSignsForThem() async throws {
    let client = try Self.client()
    let token = try #require(Hex.decode(vectors.token.utf8))
    let length = token.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    let signature = "0x" + Hex.encode(token[(2 + length)...])
    func respond(
      _ fields: [String: String], isKnown: Bool
    ) async throws -> [String: Bool]? {
      let body = try JSONSerialization.data(withJSONObject: fields)
      let response = try await client.respond(to: Array(body), from: nil) {
        [uid = vectors.uid] wanted in
        #expect(wanted == uid)
        return isKnown
      } mayQuery: {
        false
      }
      guard response.status == .ok, case .array(let bytes) = response.body else { return nil }
      return try JSONDecoder().decode([String: Bool].self, from: Data(bytes))
    }
    let good = ["message": vectors.message, "signature": signature]
    for isKnown in [true, false] {
      #expect(try await respond(good, isKnown: isKnown) == ["known": isKnown])
    }
    #expect(try await respond(["signature": signature], isKnown: true) == nil)
    #expect(
      try await respond(["message": vectors.message, "signature": "0x"], isKnown: true) == nil)
    let other = ["message": vectors.message, "signature": signature.dropLast(6) + "000000"]
    await #expect(throws: HTTPError.self) { try await respond(other, isKnown: true) }
    let old = vectors.message.replacing("T12:", with: "T09:")
    await #expect(throws: HTTPError.self) {
      try await respond(["message": old, "signature": signature], isKnown: true)
    }
  }

  /// Makes an account, as a session would.
  private func register(
    _ accounts: AccountService, _ token: [UInt8], uid: String, number: Int = 1
  ) async throws -> [EncryptionPublicKey]? {
    try await accounts.register(
      RequestedAccount(
        key: number == 1 ? key : StoreFixture.key(number), authenticationKey: signer,
        name: try #require(AccountName("anna")), uid: uid, token: token, isProven: true), from: nil)
  }

  @Test func accountsTellThatTheirUIDIsProved() async throws {
    let store = try await StoreFixture().open()
    let configuration = try Self.configuration()
    let clients = ClientAccounting(configuration.clients) { Self.now }
    func accounts(_ identity: IdentityProvider) -> AccountService {
      AccountService(
        store: store, identity: identity, clients: clients,
        log: Log(level: .error, descriptor: -1)
      ) { Self.now }
    }
    let token = try #require(Hex.decode(vectors.token.utf8))
    // As it was made while everybody could.
    _ = try await register(accounts(.open), [], uid: vectors.uid)
    #expect(try await store.account(key)?.user.flags == [])
    let wallets = accounts(
      try IdentityProvider(configuration, AccountChecker(configuration.chains)) { Self.now })
    let refusal = await #expect(throws: AccountService.Refusal.self) {
      try await register(wallets, [], uid: vectors.uid)
    }
    guard case .identity? = refusal else {
      Issue.record("an account without a signature")
      return
    }
    for _ in 1...2 { #expect(try await register(wallets, token, uid: vectors.uid) == nil) }
    #expect(try await store.account(key)?.user.flags == .signed)
    #expect(try await store.accounts(uid: vectors.uid, behind: nil, max: 5).count == 1)

    // A disabled user makes no other account with the same wallet.
    #expect(try await store.setDisabled(true, key, at: Self.now))
    let disabled = await #expect(throws: AccountService.Refusal.self) {
      try await register(wallets, token, uid: vectors.uid)
    }
    #expect(disabled?.error == .notPermitted)
    #expect(try await store.setDisabled(false, key, at: Self.now))
    #expect(try await register(wallets, token, uid: vectors.uid) == nil)
  }

  /// An account that version 1 gave away takes its name from who proves to have the key: that is a new name.
  @Test func anAccountThatGivesWayTakesNoFaultyName() async throws {
    let store = try await StoreFixture().open()
    let clients = ClientAccounting(try Self.configuration().clients) { Self.now }
    let accounts = AccountService(
      store: store, identity: .open, clients: clients, log: Log(level: .error, descriptor: -1)
    ) { Self.now }
    func register(_ name: String, isProven: Bool) async throws -> ErrorCode {
      do {
        let new = RequestedAccount(
          key: key, authenticationKey: signer, name: try #require(AccountName(name)), uid: "",
          isProven: isProven)
        _ = try await accounts.register(new, from: nil)
        return .done
      } catch let refusal as AccountService.Refusal { return refusal.error }
    }
    #expect(try await register("bank\u{fe0f}", isProven: false) == .badFilename)
    #expect(try await register("bank", isProven: false) == .done)
    #expect(try await register("bank\u{fe0f}", isProven: true) == .badFilename)
    #expect(try await register("bank\u{fe0f}", isProven: false) == .badFilename)
    #expect(try await store.name(of: key) == "bank")
    #expect(try await register("the bank", isProven: true) == .done)
    #expect(try await store.name(of: key) == "the bank")
  }

  @Test(.enabled(if: AccountChain.isThere, "needs eth-tester"))
  func contractsSign() async throws {
    let hash = [UInt8](repeating: 1, count: 32)
    let owner = try #require(
      WalletSignature.signer(of: hash, WalletSignature.sign(hash, with: Self.secret) ?? []))
    let chain = try await AccountChain(owner: owner.checksummed)
    let client = try Self.client("[chains]\n1 = \"\(chain.url)\"")
    let (wallet, future) = (chain.wallet, chain.future)
    func parts(_ address: String) throws -> (message: String, signature: [UInt8], uid: String) {
      let message = vectors.message.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated().map { $0 == 1 ? Substring(address) : $1 }.joined(separator: "\n")
      let signature = try #require(
        WalletSignature.sign(WalletSignature.hash(Array(message.utf8)), with: Self.secret))
      return (message, signature, "eip155:1:\(address.lowercased())")
    }
    let own = try parts(wallet)
    let good = applicant(Self.token(own.message, own.signature), uid: own.uid)
    #expect(await client.evaluate(good) { true } == .signed(.contract))
    let later = try parts(future)
    let deployed = applicant(
      Self.token(later.message, chain.wrapped(later.signature)), uid: later.uid)
    #expect(await client.evaluate(deployed) { true } == .signed(.contract))
    let wrong = applicant(Self.token(own.message, later.signature), uid: own.uid)
    #expect(await client.evaluate(wrong) { true } == .refused(reason: "the signature is wrong"))

    // Floods are bounded by the network, keys need no call.
    let calls = try await chain.calls()
    #expect(calls == 3)
    let store = try await StoreFixture().open()
    let configuration = try Self.configuration(
      "chain_calls_per_address = 2\n[chains]\n1 = \"\(chain.url)\"")
    let accounts = AccountService(
      store: store,
      identity: try IdentityProvider(
        configuration, AccountChecker(configuration.chains)
      ) { Self.now },
      clients: ClientAccounting(configuration.clients) { Self.now },
      log: Log(level: .error, descriptor: -1)
    ) { Self.now }
    let network = ClientNetwork(of: .loopback)
    var outcomes: [ErrorCode] = []
    for _ in 1...5 {
      do {
        _ = try await accounts.register(
          RequestedAccount(
            key: key, authenticationKey: signer, name: try #require(AccountName("anna")),
            uid: own.uid, token: wrong.token, isProven: true), from: network)
      } catch let refusal as AccountService.Refusal { outcomes.append(refusal.error) }
    }
    #expect(outcomes == [.notPermitted, .notPermitted, .overQuota, .overQuota, .overQuota])
    #expect(try await chain.calls() == calls + 2)
    try await chain.stop()
    guard case .unavailable = await client.evaluate(good, mayQuery: { true }) else {
      Issue.record("a decision without an endpoint")
      return
    }
  }

  @Test func whatIsMissingIsDoubted() throws {
    #expect(try Self.configuration().warnings(isExposed: true).count == 1)
    #expect(
      try Self.configuration("[chains]\n1 = \"https://x\"").warnings(isExposed: true).isEmpty)
    #expect(
      try Self.configuration("siwe = { chains = [1, 5] }").warnings(isExposed: true).count == 2)
  }

  @Test func theMessageIsThereForWalletsAlone() async throws {
    let siwe = """
      identity = "siwe"
      web = true
      [apptimist.siwe]
      domain = "example.org"
      uri = "https://example.org/siren"
      chains = [1, 10]
      """
    for (toml, status, settings) in [
      (siwe, 400, #"{"chains":[1,10],"identity":"siwe"}"#),
      ("web = true", 404, #"{"identity":"open"}"#),
    ] {
      try await withServer(toml) { server in
        var request = URLRequest(
          url: try #require(URL(string: "http://127.0.0.1:\(server.port)/siren/siwe")))
        request.httpMethod = "POST"
        request.httpBody = Data("{}".utf8)
        let (_, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == status)
        let (data, _) = try await URLSession.shared.data(
          from: try #require(
            URL(string: "http://127.0.0.1:\(server.port)/siren/app/settings.json")))
        #expect(String(decoding: data, as: UTF8.self) == settings)
      }
    }
  }
}
