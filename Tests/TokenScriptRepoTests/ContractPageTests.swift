internal import Configuration
internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of `/contracts/<chain>/<address>`, and of the pages for people that other requests get.
@Suite(.ownThreads) struct ContractPageTests {
  private let fixture: RepositoryFixture
  private static let address = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
  private static let page = "/contracts/1/\(alice)"
  private static let html = ["Accept": "text/html"]

  init() throws { fixture = try RepositoryFixture() }

  private func write(
    _ path: String, _ schema: String = "2020/06", by signer: Signer = .shop, note: String = "",
    at time: Int64 = 1_600_000_000
  ) throws {
    let text = tokenScript(
      schema, contracts: [("Coin", [("1", alice)])], origins: ["Coin"], note: note)
    try fixture.write(path, bytes: signer.sign(text, at: time))
  }

  private func server(_ toml: String = "") async throws -> RepositoryServer {
    try await fixture.server(toml, publicURL: "https://repo.example")
  }

  @Test func thePageHasWhatAnIssuerNeeds() async throws {
    try write("a.tsml")
    try write("b.tsml", "2019/05")
    try write("c.tsml", note: "old", at: 1_500_000_001)
    let response = try await server().get(Self.page)
    #expect(response.status == .ok)
    let html = response.text
    let url = "https://repo.example/2020/06/\(Self.address)"
    for part in [
      "<h1><bdi>Coin</bdi></h1>", "Ethereum (1)", ">\(url)</code>",
      ">https://repo.example/2019/05/\(Self.address)</code>",
      ">0x\(Hex.encode(FunctionCall.setScriptURI([url]).data))</code>", "<svg class=\"code\"",
      "href=\"https://etherscan.io/address/\(Self.address)\"",
      "href=\"https://viewer.tokenscript.org/?tokenscriptUrl=https%3A%2F%2Frepo.example%2F2020",
      try Signer.shop.identifier(), "P-256, self-signed", "shadowed</span>", "<dd>2019/05</dd>",
      "&lt;ts:token xmlns:ts=&quot;http://tokenscript.org/2020/06/tokenscript&quot;&gt;",
    ] { #expect(html.contains(part), "\(part)") }
    // The chain is in the URL as soon as the address has several.
    try fixture.write(
      "d.tsml",
      bytes: Signer.shop.sign(
        tokenScript(contracts: [("Coin", [("4242", alice)])], origins: ["Coin"]),
        at: 1_600_000_000))
    let again = try await server()
    #expect(
      try await again.get(Self.page).text
        .contains(">https://repo.example/2020/06/chain/1/\(Self.address)</code>"))
    let other = try await again.get("/contracts/4242/\(alice)").text
    #expect(other.contains("chain 4242") && !other.contains("in an explorer"))
  }

  @Test func foreignWordsAreText() async throws {
    let hostile = "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    let text = tokenScript(
      contracts: [(hostile, [("1", alice)])], origins: [hostile], note: "</pre><script>")
    try fixture.write("<script>.tsml", bytes: Signer.shop.sign(text, at: 1_600_000_000))
    let html = try await server().get(Self.page).text
    #expect(!html.contains("<script") && html.contains("&lt;/pre&gt;&lt;script&gt;"))
  }

  @Test func scriptsAreForbiddenAndTheStyleIsAllowed() async throws {
    try write("a.tsml")
    let server = try await server()
    for (path, fields) in [
      (Self.page, [:]), ("/", [:]), ("/\(bob)", Self.html), ("/contracts/1/\(bob)", Self.html),
    ] {
      let response = try await server.get(path, fields)
      let policy = try #require(response[.contentSecurityPolicy], "\(path)")
      let style = try #require(response.text.firstMatch(of: /<style>((?s).*?)<\/style>/)).1
      let digest = Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString()
      #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-\(digest)'; img-src 'self'"))
      #expect(response.text.contains("@media (prefers-color-scheme: dark)"))
      #expect(response.text.contains("href=\"/favicon.svg\""))
    }
    for path in ["/favicon.svg", "/favicon.ico"] {
      let icon = try await server.get(path)
      #expect(icon.status == .ok && icon[.contentType] == "image/svg+xml")
    }
  }

  @Test func choicesAndAbsencesAreTold() async throws {
    try write("a.tsml")
    try write("b.tsml", by: .rival)
    let server = try await server()
    let choices = try await server.get("/2020/06/\(alice)", Self.html)
    #expect(choices.status == .multipleChoices)
    #expect(
      choices.text.contains("Several signers") && choices.text.contains("shop.example</bdi></a>"))
    #expect(choices[.contentSecurityPolicy]?.contains("style-src 'sha256-") == true)
    let list = try await server.get("/2020/06/\(alice)", ["Accept": "application/json"])
    #expect(list[.contentSecurityPolicy] == "sandbox; default-src 'none'")
    let absent = try await server.get("/\(bob)", Self.html)
    #expect(absent.status == .notFound && absent.text.contains("no TokenScript is published here"))
    for name in ["a.tsml", "b.tsml"] { try fixture.move(name, to: "\(name).gone") }
    try await server.service.reload()
    let gone = try await server.get("/\(alice)", Self.html)
    #expect(gone.status == .gone && gone.text.contains("was withdrawn"))
    let page = try await server.get(Self.page)
    #expect(page.status == .gone && page.text.contains("Nothing is served"))
  }

  @Test(arguments: [
    ("/contracts/0/\(alice)", 400), ("/contracts/x/\(alice)", 400), ("/contracts/1/0x12", 400),
    ("/contracts/5/\(alice)", 404), ("/contracts/1/\(bob)", 404),
  ])
  func whatIsNoContractHasNoPage(_ path: String, _ status: Int) async throws {
    try write("a.tsml")
    #expect(try await Int(server().get(path).status.code) == status)
  }

  @Test(
    arguments: [
      ("localhost:8080", "127.0.0.1", [:], true), ("[::1]:8080", "::1", [:], true),
      ("Repo.example:8080", "192.0.2.1", [:], true), ("evil.example", "127.0.0.1", [:], false),
      ("evil.example", "192.0.2.1", [:], false), ("localhost", "192.0.2.1", [:], false),
      ("localhost", "127.0.0.1", ["X-Forwarded-For": "192.0.2.1"], false),
    ] as [(String, String, [String: String], Bool)])
  func withoutAPublicURLItIsTheRequestsWhereThatIsSafe(
    _ host: String, _ peer: String, _ fields: [String: String], _ isSafe: Bool
  ) async throws {
    try write("a.tsml")
    let server = try await fixture.server(hosts: ["repo.example"])
    let head = try RequestHead(
      method: .get, path: Self.page, authority: host, fields: fields.map { ($0.key, $0.value) })
    let page = await server.table.respond(
      to: Request(head: head, origin: RequestOrigin(peer: peer)))
    let url = "http://\(host.lowercased())/2020/06/\(Self.address)"
    #expect(page.text.contains(">\(url)</code>") == isSafe)
    #expect(page.text.contains("<svg class") == isSafe)
    #expect(!page.text.contains("public_url") && !page.text.contains("evil"))
  }

  @Test func theOperatorNamesExplorers() async throws {
    try write("a.tsml")
    let toml = "[tokenscript.explorers]\n1 = \"https://scan.example/{address}?x=<y>\""
    #expect(
      try await server(toml).get(Self.page).text
        .contains("href=\"https://scan.example/\(Self.address)?x=&lt;y&gt;\""))
    for wrong in ["0 = \"https://x/{address}\"", "1 = \"http://x/{address}\"", "1 = \"https://x\""]
    {
      let section = try fixture.section("[tokenscript.explorers]\n\(wrong)")
      _ = TokenScriptConfiguration(section)
      #expect(throws: (any Error).self) { try section.finish() }
    }
  }

  @Test func aSignersStandingIsNoWarning() async throws {
    try write("Coin.tsml")
    let rows = try await server().service.indexer.current.rows
    #expect(rows[0].warnings.isEmpty && rows[0].standing == .selfSigned)
    try write("Coin.tsml", by: .issuer)
    let key = try Signer.issuer.identifier()
    let server = try await server()
    #expect(server.service.indexer.current.rows[0].standing == .bareKey)
    let issued = try await self.server("[tokenscript.deployers]\n\"\(alice)\" = \"\(key)\"")
    #expect(issued.service.indexer.current.rows[0].standing == .issuer)
  }

  /// A source of the largest size that is shown, and one that isn't.
  @Test func longSourcesAreLeftOut() async throws {
    try write("a.tsml", note: String(repeating: "x", count: ContractPage.sourceLimit))
    let html = try await server().get(Self.page).text
    #expect(html.contains("too long to be shown") && html.utf8.count < 64 << 10)
  }
}
