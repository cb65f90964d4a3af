internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of the page at `/`.
@Suite(.ownThreads) struct IndexPageTests {
  private static let hostile = "\"><script>alert('x')</script>&"
  private static let key = String(repeating: "0123456789abcdef", count: 4)

  private func row(
    _ path: String, _ state: IndexRow.State = .served, contract: String? = alice,
    name: String? = nil, signer: String? = nil
  ) -> IndexRow {
    var row = IndexRow(path: RepositoryPath(path), state: state)
    row.contract = contract.flatMap { EthereumAddress($0) }
    row.name = name
    row.schema = SchemaVersion("2020/06")
    row.time = Timestamp(seconds: 1_795_301_108)
    row.signer = TokenScriptFile.Signer(
      commonName: signer, key: Self.key, kind: "P-256", time: row.time)
    row.digest = SHA256.hash([])
    return row
  }

  private func index(_ rows: [IndexRow]) -> ContractIndex {
    ContractIndex(generation: 1, documents: .none, editions: [:], files: [], rows: rows)
  }

  private var mixed: ContractIndex {
    var warned = row("dai.tsml", name: "Dai", signer: "shop.example")
    warned.chains = [1, 137].compactMap { ChainID($0 as Int64) }
    warned.warnings = ["signed in <the> future"]
    return index([
      warned,
      row("old.tsml", .shadowed(by: RepositoryPath("dai.tsml")), signer: "Rival"),
      row("broken.tsml", .refused(FileRefusal(reason: "not XML", detail: "s3cret")), contract: nil),
      row("empty.tsml", .servesNothing, contract: nil),
      row("usdc.tsml.gone", .gone, contract: bob, name: "USDC"),
    ])
  }

  /// Returns the paths on a page, in order.
  private func paths(_ page: IndexPage) -> [String] {
    (page.refused + page.others).map(\.path.text)
  }

  @Test func foreignWordsAreText() {
    var row = row(
      "a/\(Self.hostile).tsml", name: Self.hostile, signer: Self.hostile)
    row.warnings = [Self.hostile]
    let refusal = IndexRow.State.refused(FileRefusal(reason: Self.hostile, detail: ""))
    var refused = row
    refused.state = refusal
    let html = IndexPage(index([row, refused]), query: Self.hostile.lowercased()).html
    #expect(html.contains("a/<wbr>&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)"))
    #expect(html.contains("value=\"&quot;&gt;&lt;script&gt;"))
    #expect(!html.contains("<script") && !html.contains("\"><script") && !html.contains("('x')"))
  }

  @Test func everyStateIsToldInWords() {
    let html = IndexPage(mixed).html
    for state in IndexRow.Summary.allCases {
      #expect(html.contains("<span class=\"state \(state.rawValue)\">"))
    }
    #expect(html.contains("refused</span> not XML</p>"))
    #expect(!html.contains("s3cret"))
    #expect(html.contains("it names no contract as its origin"))
    #expect(html.contains("<li><bdi>signed in &lt;the&gt; future</bdi></li>"))
    #expect(html.contains("<a href=\"/contracts/1/0x6B17"))
    // The name and the address lead to the page for people, and the file's path to the file.
    #expect(html.contains(/<a class="line" href="\/contracts\/1\/0x6B17[^"]*"><strong><bdi>Dai</))
    #expect(html.contains(/<a class="mono" href="\/contracts\/1\/0x6B17[^"]*">0x6B17/))
    #expect(html.contains(/<a href="\/2020\/06\/0x6B17[^"]*"><span[^>]*><bdi>dai.tsml</))
    #expect(html.contains(">Ethereum (1)</a>, ") && html.contains(">Polygon (137)</a>"))
    #expect(
      html.contains("<time datetime=\"2026-11-21T22:45:08.000Z\">2026-11-21 22:45 UTC</time>"))
    // Only served files have a link.
    let links = html.split(separator: "href=\"/2020/06/").dropFirst()
    #expect(links.map { $0.prefix(42).lowercased() } == [alice])
  }

  @Test(arguments: [
    ("", ["broken.tsml", "dai.tsml", "old.tsml", "empty.tsml", "usdc.tsml.gone"]),
    ("  DAI ", ["dai.tsml", "old.tsml"]), ("0X6B17", ["dai.tsml", "old.tsml"]),
    ("usdc", ["usdc.tsml.gone"]), ("rival", ["old.tsml"]), ("SHADOWED", ["old.tsml"]),
    ("refused", ["broken.tsml"]), ("serves nothing", ["empty.tsml"]), ("s3cret", []),
    ("served  Dai", ["dai.tsml"]), ("dai nowhere", []),
  ])
  func searchLooksAtWhatIsShown(_ query: String, _ found: [String]) {
    let page = IndexPage(mixed, query: query)
    #expect(paths(page) == found)
    #expect(page.html.contains("Nothing matches") == found.isEmpty)
  }

  @Test func eachPageHasItsRows() {
    let rows = (0..<1_201).map { number in
      row(
        "\(number).tsml", number == 1_200 ? .refused(FileRefusal(reason: "x", detail: "")) : .served
      )
    }
    let index = index(rows)
    #expect(IndexPage(index).pages == 3)
    #expect(paths(IndexPage(index)) == ["1200.tsml"] + (0..<499).map { "\($0).tsml" })
    #expect(paths(IndexPage(index, number: 3)) == (999..<1_200).map { "\($0).tsml" })
    for (number, nearest) in [(Int.min, 1), (0, 1), (4, 3), (.max, 3)] {
      #expect(IndexPage(index, number: number).number == nearest)
    }
    let html = IndexPage(index, query: ".TSML", number: 2).html
    #expect(html.contains("rel=\"prev\" href=\"/tokenscripts?q=.TSML\""))
    #expect(html.contains("rel=\"next\" href=\"/tokenscripts?q=.TSML&amp;page=3\""))
    #expect(html.contains("Page 2 of 3"))
    #expect(!IndexPage(mixed).html.contains("<nav"))
  }

  @Test func theServiceSearchesAndForbidsScripts() async throws {
    let fixture = try RepositoryFixture()
    try fixture.write("alpha beta.tsml", "broken")
    try fixture.write("gamma.tsml", "broken")
    try fixture.write(
      "d.tsml", bytes: Signer.shop.sign(tokenScript(for: alice), at: 1_600_000_000))
    try fixture.write(
      "e.tsml", bytes: Signer.rival.sign(tokenScript(for: alice), at: 1_600_000_000))
    let server = try await fixture.server()
    let page = try await server.get("/?q=ALPHA+%62eta")
    #expect(page.text.contains("alpha beta.tsml") && !page.text.contains("gamma.tsml"))
    let policy = try #require(page[.contentSecurityPolicy])
    let style = try #require(page.text.firstMatch(of: /<style>((?s).*?)<\/style>/)).1
    let digest = Data(SHA256.hash(Array(style.utf8)).bytes).base64EncodedString()
    #expect(policy.contains("default-src 'none'; style-src 'sha256-\(digest)';"))
    #expect(policy.contains("form-action 'self'"))
    #expect(page[.contentTypeOptions] == "nosniff")
    #expect(page[.referrerPolicy] == "no-referrer")
    #expect(try await server.get("/?q=%zz").status == .badRequest)
    #expect(try await server.get("/?page=x").status == .ok)
    #expect(try await server.get("/?format=json")[.contentType]?.contains("json") == true)
    // Each link leads to the file of its row, also among several signers.
    let links = try await server.get("/").text.matches(of: /href="(\/2019[^"]*)"/).map { "\($0.1)" }
    #expect(links.count == 2)
    for link in links {
      #expect(try await server.get(link).status == .ok, "\(link)")
    }
  }
}
