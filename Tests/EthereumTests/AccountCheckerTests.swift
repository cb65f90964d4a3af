internal import Ethereum
internal import Configuration
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform

/// An endpoint that answers everything alike.
private final class Endpoint: Responder {
  let bodies = Lock<[String]>([])
  private let status: Status
  private let text: String

  init(_ text: String, status: Status = .ok) {
    self.text = text
    self.status = status
  }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    .respond(bodyLimit: 1 << 16) { [self] request in
      bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
      return Response(status, type: "application/json", text: text)
    }
  }
}

@Suite("Signatures of accounts")
struct AccountCheckerTests {
  private let secret = [UInt8](repeating: 0x11, count: 32)
  private let hash = [UInt8](repeating: 0x22, count: 32)
  private let owner: EthereumAddress
  private let signature: [UInt8]
  private let other: EthereumAddress

  init() throws {
    signature = try #require(WalletSignature.sign(hash, with: secret))
    owner = try #require(WalletSignature.signer(of: hash, signature))
    other = try #require(EthereumAddress("0x6b175474e89094c44da98b954eedeac495271d0f"))
  }

  private static func section(_ toml: String) throws -> ConfigurationSection {
    ConfigurationReader(try ConfigurationDocument(parsing: Array(toml.utf8), file: "awd.toml"))
      .section("server")
  }

  private func checker(_ url: String?) throws -> AccountChecker {
    let toml = "[server]\ndata = \"/tmp\"\n" + (url.map { "[chains]\n1 = \"\($0)\"" } ?? "")
    return try AccountChecker(ChainEndpoint.all(for: try Self.section(toml)))
  }

  @Test func aKeyNeedsNoChain() async throws {
    let checker = try checker("http://127.0.0.1:1")
    let outcome = await checker.evaluate(signature, of: hash, by: owner, on: .main) { false }
    #expect(outcome == .key)
  }

  @Test func withoutAnEndpointOthersAreWrong() async throws {
    let checker = try checker(nil)
    let outcome = await checker.evaluate(signature, of: hash, by: other, on: .main) { true }
    #expect(outcome == .wrong)
  }

  @Test func anEndpointIsAskedOnlyAsOftenAsItMayBe() async throws {
    let checker = try checker("http://127.0.0.1:1")
    let outcome = await checker.evaluate(signature, of: hash, by: other, on: .main) { false }
    #expect(outcome == .tooMany)
  }

  @Test(
    .enabled(if: AccountChain.isThere, "needs eth-tester"))
  func contractsTell() async throws {
    let chain = try await AccountChain(owner: owner.checksummed)
    let checker = try checker(chain.url)
    let wallet = try #require(EthereumAddress(chain.wallet))
    let future = try #require(EthereumAddress(chain.future))
    func evaluate(_ signature: [UInt8], _ address: EthereumAddress) async -> AccountChecker.Outcome
    {
      await checker.evaluate(signature, of: hash, by: address, on: .main) { true }
    }
    var changed = signature
    changed[0] ^= 1
    #expect(await evaluate(signature, wallet) == .contract)
    #expect(await evaluate(changed, wallet) == .wrong)
    #expect(await evaluate([], wallet) == .wrong)
    // Nobody is there.
    #expect(await evaluate(signature, future) == .wrong)
    #expect(await evaluate(signature, other) == .wrong)
    #expect(await evaluate(chain.wrapped(signature), future) == .contract)
    #expect(await evaluate(chain.wrapped(changed), future) == .wrong)
    #expect(await evaluate(chain.wrapped(signature), wallet) == .contract)
    #expect(await evaluate(chain.wrapped(signature), other) == .wrong)
    #expect(await evaluate(signature, owner) == .key)
    try await chain.stop()
    let gone = await evaluate(signature, wallet)
    guard case .unknown = gone else {
      Issue.record("\(gone)")
      return
    }
  }

  private static let good = "1626ba7e" + String(repeating: "0", count: 56)

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","id":0,"result":"0x\#(good)"}"#, AccountChecker.Outcome.contract),
    (#"{"jsonrpc":"2.0","id":0,"result":"0x1626ba7e"}"#, .wrong),
    (#"{"jsonrpc":"2.0","id":0,"result":"0x\#(good)00"}"#, .wrong),
    (#"{"jsonrpc":"2.0","id":0,"result":"0x\#(good.dropLast())1"}"#, .wrong),
    (#"{"jsonrpc":"2.0","id":0,"result":"0x"}"#, .wrong),
    (#"{"jsonrpc":"2.0","id":0,"result":"0x01"}"#, .wrong),
    (#"{"jsonrpc":"2.0","id":0,"error":{"code":3,"message":"execution reverted"}}"#, .wrong),
    (
      #"{"jsonrpc":"2.0","id":0,"result":"0x\#(String(repeating: "0", count: 600_000))"}"#,
      .wrong
    ),
    (
      #"{"jsonrpc":"2.0","id":0,"error":{"code":-32005,"message":"limit"}}"#,
      .unknown("error -32005")
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"result":"0x\#(good)"}"#,
      .unknown("the endpoint left a call out")
    ),
    ("<html>", .unknown("the endpoint’s response is no JSON-RPC")),
  ])
  func answersAreRead(_ text: String, _ outcome: AccountChecker.Outcome) async throws {
    let endpoint = Endpoint(text)
    try await withServer(endpoint) { url in
      let checker = try checker(url)
      #expect(await checker.evaluate(signature, of: hash, by: other, on: .main) { true } == outcome)
      let bodies = endpoint.bodies.withLock { $0 }
      #expect(
        bodies.first?.hasPrefix(
          #"{"jsonrpc":"2.0","id":0,"method":"eth_call","params":[{"to":"0x6b"#) == true)
    }
    try await withServer(Endpoint(text, status: .internalServerError)) { url in
      let outcome = try await checker(url).evaluate(signature, of: hash, by: other, on: .main) {
        true
      }
      #expect(outcome == (text.count > 262_144 ? .wrong : .unknown("it answers 500")))
    }
  }

  @Test(arguments: [
    "[chains]\n1 = [\"https://rpc.example\"]", "[chains]\n1 = \"rpc.example\"",
    "[chains]\nmain = \"https://rpc.example\"", "[chains]\n1 = { registry = \"off\" }",
    "[chains]\n1 = { url = 1 }",
  ])
  func aWrongEndpointIsRefusedOnceWithTheRightForm(_ toml: String) throws {
    let chains = try Self.section("[server]\ndata = \"/tmp\"\n\(toml)").beside("chains")
    _ = ChainEndpoint.all(in: chains)
    let error = #expect(throws: ConfigurationError.self) { try chains.finish() }
    #expect(error?.problems.count == 1)
    #expect(error?.problems.first?.message.contains("https://…") == true)
  }

  @Test func rulesComeFromTheConfiguration() throws {
    let toml = """
      [server]
      data = "/tmp"
      public_url = "https://Wallet.example:8443/base/"
      [apptimist.siwe]
      chains = [1, 10]
      max_age = "1m"
      """
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "awd.toml"))
    let siwe = reader.section("apptimist").section("siwe")
    let rules = SignInRules(siwe, path: "/siren", isUsed: true)
    try siwe.finish()
    #expect(rules.domain == "wallet.example:8443")
    #expect(rules.uri == "https://wallet.example:8443/base/siren")
    #expect(rules.chains.map(\.number) == [1, 10] && rules.maxAge == .seconds(60))
  }

  @Test(arguments: [
    "", "chains = []", "chains = [0]", "chains = [\"1\"]", "chains = 1", "max_age = \"0s\"",
  ])
  func wrongRulesAreRejected(_ lines: String) throws {
    let named = lines.isEmpty ? "" : "domain = \"a.example\"\nuri = \"https://a.example/siren\"\n"
    let toml = "[server]\ndata = \"/tmp\"\n[apptimist.siwe]\n\(named)\(lines)"
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "awd.toml"))
    let siwe = reader.section("apptimist").section("siwe")
    _ = SignInRules(siwe, path: "/siren", isUsed: true)
    #expect(throws: ConfigurationError.self) { try siwe.finish() }
  }
}
