internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of requests to a repository of signed files, with the default checks.
@Suite(.ownThreads) struct SignedRepositoryTests {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  @Test func onlyWhatIsSignedIsServed() async throws {
    let signed = try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000)
    try fixture.write("a.tsml", bytes: signed)
    try fixture.write("unsigned.tsml", tokenScript("2019/06", for: alice))
    let changed = String(decoding: signed, as: UTF8.self)
      .replacing("2019/05", with: "2019/07")
    try fixture.write("changed.tsml", changed)
    let server = try await fixture.server()
    #expect(try await server.get("/2019/05/\(alice)").bytes == signed)
    #expect(try await server.get("/2019/06/\(alice)").status == .notFound)
    #expect(try await server.get("/2019/07/\(alice)").status == .notFound)
    let tolerant = try await fixture.server("signature = \"warn\"")
    #expect(try await tolerant.get("/2019/06/\(alice)").status == .ok)
    #expect(try await tolerant.get("/2019/07/\(alice)").status == .ok)
    // A result under one setting does not count under another.
    let strict = try await fixture.server()
    #expect(try await strict.get("/2019/06/\(alice)").status == .notFound)
  }

  @Test func theTimeIsTheSigningTimeUnlessItIsInTheFuture() async throws {
    try fixture.write(
      "a.tsml", bytes: try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000))
    try fixture.write(
      "b.tsml", bytes: try Signer.shop.sign(tokenScript(for: bob), at: 1_690_000_000),
      modified: 1_600_000_000)
    let store = try await fixture.store()
    let server = try await fixture.server(store: store)
    #expect(try await server.get("/\(alice)")[.lastModified] == HTTPDate(1_550_000_000).text)
    #expect(try await server.get("/\(bob)")[.lastModified] == HTTPDate(1_690_000_000).text)
    // The signing time counts as absent until the clock reaches it.
    let other = try RepositoryFixture()
    other.time.withLock { $0 = 1_680_000_000 }
    try other.write(
      "b.tsml", bytes: try Signer.shop.sign(tokenScript(for: bob), at: 1_690_000_000),
      modified: 1_600_000_000)
    let early = try await other.server()
    #expect(try await early.get("/\(bob)")[.lastModified] == HTTPDate(1_600_000_000).text)
    other.time.withLock { $0 = 1_695_000_000 }
    try await early.service.reload()
    #expect(try await early.get("/\(bob)")[.lastModified] == HTTPDate(1_690_000_000).text)
  }

  @Test func ofOneSignerTheNewestIsServed() async throws {
    try fixture.write(
      "new.tsml",
      bytes: try Signer.shop.sign(tokenScript(for: alice, note: "new"), at: 1_560_000_000),
      modified: 1_400_000_000)
    try fixture.write(
      "old.tsml",
      bytes: try Signer.shop.sign(tokenScript(for: alice, note: "old"), at: 1_550_000_000))
    #expect(try await fixture.server().get("/\(alice)").text.contains("<!--new-->"))
  }

  @Test func severalSignersAreTheWalletsToChooseFrom() async throws {
    for (name, signer, time) in [
      ("shop", Signer.shop, 1_550_000_000), ("rival", Signer.rival, 1_560_000_000),
    ] as [(String, Signer, Int64)] {
      try fixture.write(
        "\(name).tsml",
        bytes: try signer.sign(tokenScript(for: alice, note: name), at: time))
    }
    let server = try await fixture.server()
    let bare = try await server.get(
      "/\(alice)", ["If-Modified-Since": HTTPDate(1_650_000_000).text, "If-None-Match": "*"])
    #expect(bare.status == .multipleChoices)
    #expect(bare.bytes.isEmpty)
    #expect(bare[.location] == nil)
    #expect(bare[.entityTag] == nil)
    #expect(bare[.lastModified] == nil)
    let links = bare.fields.pairs.filter { $0.name == "Link" }.map(\.value)
    #expect(
      links == [
        "</2019/05/\(alice)?signer=rival.example>; rel=\"alternate\"; "
          + "type=\"application/tokenscript+xml\"; title=\"rival.example\"",
        "</2019/05/\(alice)?signer=shop.example>; rel=\"alternate\"; "
          + "type=\"application/tokenscript+xml\"; title=\"shop.example\"",
      ])
    let json = try await server.get("/2019/05/\(alice)", ["Accept": "application/json"])
    #expect(json.status == .multipleChoices)
    #expect(json.text.contains("\"url\":\"/2019/05/\(alice)?signer=shop.example\""))
    let html = try await server.get(
      "/\(alice)", ["Accept": "text/html, application/json;q=0.9"])
    #expect(html[.contentType] == "text/html; charset=utf-8")
    #expect(html.text.contains("href=\"/2019/05/\(alice)?signer=rival.example\""))

    for path in ["/\(alice)", "/2019/05/\(alice)"] {
      let shop = try await server.get("\(path)?signer=Shop.Example")
      #expect(shop.status == .ok)
      #expect(shop.text.contains("<!--shop-->"))
      let rival = try await server.get("\(path)?signer=\(Signer.rival.identifier())")
      #expect(rival.text.contains("<!--rival-->"))
      #expect(try await server.get("\(path)?signer=").status == .multipleChoices)
      #expect(try await server.get("\(path)?other=1").status == .multipleChoices)
      #expect(try await server.get("\(path)?signer=nobody").status == .notFound)
      #expect(try await server.get("\(path)?signer=%zz").status == .badRequest)
    }
    let newest = try await fixture.server("choice = \"newest\"")
    #expect(try await newest.get("/\(alice)").text.contains("<!--rival-->"))
  }

  @Test func aNameThatTwoKeysBearIsNoName() async throws {
    for (name, signer) in [("shop", Signer.shop), ("impostor", Signer.impostor)] {
      try fixture.write(
        "\(name).tsml",
        bytes: try signer.sign(tokenScript(for: alice, note: name), at: 1_550_000_000))
    }
    let server = try await fixture.server()
    let response = try await server.get("/\(alice)")
    #expect(response.status == .multipleChoices)
    for signer in [Signer.shop, Signer.impostor] {
      let key = try signer.identifier()
      #expect(response.fields.pairs.contains { $0.value.contains(key) })
    }
    #expect(try await server.get("/\(alice)?signer=shop.example").status == .multipleChoices)
    let key = try Signer.impostor.identifier()
    #expect(try await server.get("/\(alice)?signer=\(key)").text.contains("<!--impostor-->"))
  }

  @Test func theSignerDecidesBeforeTheVersion() async throws {
    try fixture.write(
      "a.tsml", bytes: try Signer.shop.sign(tokenScript("2019/05", for: alice), at: 1_550_000_000)
    )
    try fixture.write(
      "b.tsml",
      bytes: try Signer.rival.sign(tokenScript("2020/03", for: alice), at: 1_550_000_000))
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").text.contains("2020/03"))
    #expect(try await server.get("/\(alice)?signer=shop.example").text.contains("2019/05"))
    #expect(try await server.get("/2020/03/\(alice)?signer=shop.example").status == .notFound)
  }

  @Test func theIssuerIsPreferredWhereTheRuleSaysSo() async throws {
    try fixture.write(
      "issuer.tsml",
      bytes: try Signer.issuer.sign(tokenScript(for: alice, note: "issuer"), at: 1_540_000_000))
    for contract in [alice, bob] {
      for (name, signer) in [("shop", Signer.shop), ("rival", Signer.rival)] {
        try fixture.write(
          "\(contract)/\(name).tsml",
          bytes: try signer.sign(tokenScript(for: contract, note: name), at: 1_550_000_000))
      }
    }
    let deployers = "[tokenscript.deployers]\n\"\(alice)\" = \"\(try Signer.issuer.identifier())\""
    let server = try await fixture.server("choice = \"issuer\"\n" + deployers)
    #expect(try await server.get("/\(alice)").text.contains("<!--issuer-->"))
    #expect(
      try await server.get("/\(alice)?signer=rival.example").text.contains("<!--rival-->"))
    // Without the issuer's file the wallet gets the list.
    #expect(try await server.get("/\(bob)").status == .multipleChoices)
    #expect(try await fixture.server(deployers).get("/\(alice)").status == .multipleChoices)
    // Other signers need a chain.
    let trusting = try await fixture.server("trust = \"require\"\n" + deployers)
    #expect(try await trusting.get("/\(alice)").text.contains("<!--issuer-->"))
    #expect(try await trusting.get("/\(bob)").status == .notFound)
  }

  @Test func aChainUpToTheRootsIsTrusted() async throws {
    try fixture.write(
      "shop.tsml",
      bytes: try Signer.shop.sign(tokenScript(for: alice, note: "shop"), at: 1_550_000_000))
    try fixture.write(
      "rival.tsml",
      bytes: try Signer.rival.sign(tokenScript(for: alice, note: "rival"), at: 1_560_000_000))
    let roots = "\(fixture.folder)/roots.pem"
    try Data(Signer.shop.key.certificatePEM).write(to: URL(filePath: roots))
    let setting = "trust = \"require\"\nroots = \"\(roots)\""
    let server = try await fixture.server(setting)
    #expect(try await server.get("/\(alice)").text.contains("<!--shop-->"))
    // Other roots void the readings under the old ones.
    try Data(Signer.rival.key.certificatePEM).write(to: URL(filePath: roots))
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").text.contains("<!--rival-->"))
  }

  @Test func aSchemaIsCheckedAndServed() async throws {
    let schema = """
      <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified"
        targetNamespace="http://tokenscript.org/2019/05/tokenscript">
        <xs:element name="token"><xs:complexType><xs:sequence>
          <xs:any processContents="skip" maxOccurs="4"/>
        </xs:sequence></xs:complexType></xs:element>
      </xs:schema>
      """
    try fixture.write("../schemas/2019/05/tokenscript/tokenscript.xsd", schema)
    try fixture.write("../schemas/2019/05/tokenscript/readme.txt", "secret")
    let good = try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000)
    try fixture.write("good.tsml", bytes: good)
    let many = (1...5).map { (name: "C\($0)", addresses: [("1", bob)]) }
    try fixture.write(
      "bad.tsml",
      bytes: try Signer.shop.sign(
        tokenScript(contracts: many, origins: ["C1"]), at: 1_550_000_000))
    try fixture.write(
      "none.tsml", bytes: try Signer.shop.sign(tokenScript("2020/03", for: bob), at: 1))
    let setting = "schemas = \"\(fixture.folder)/schemas\"\n"
    let server = try await fixture.server(setting + "schema = \"require\"")
    #expect(try await server.get("/2019/05/\(alice)").bytes == good)
    #expect(try await server.get("/2019/05/\(bob)").status == .notFound)
    #expect(try await server.get("/2020/03/\(bob)").status == .notFound)
    let tolerant = try await fixture.server(setting)
    #expect(try await tolerant.get("/2019/05/\(bob)").status == .ok)
    #expect(try await tolerant.get("/2020/03/\(bob)").status == .ok)

    for path in ["/2019/05/tokenscript.xsd", "/2019/05/tokenscript/tokenscript.xsd"] {
      let response = try await server.get(path, ["Accept": "application/tokenscript+xml"])
      #expect(response.text == schema)
      #expect(response[.contentType] == "text/xml; charset=UTF-8")
      let tag = try #require(response[.entityTag])
      #expect(try await server.get(path, ["If-None-Match": tag]).status == .notModified)
    }
    for path in [
      "/2019/05/tokenscript/readme.txt", "/2019/05/other.xsd", "/2019/10/tokenscript.xsd",
      "/2019/05/tokenscript/..%2ftokenscript.xsd",
    ] {
      #expect(try await server.get(path).status == .notFound)
    }
  }

  @Test func aRestartVerifiesNothingAgain() async throws {
    for number in 0..<5 {
      try fixture.write(
        "\(number).tsml",
        bytes: try Signer.shop.sign(tokenScript(for: alice, note: "\(number)"), at: 1_550_000_000))
    }
    let store = try await fixture.store()
    _ = try await fixture.server(store: store)
    // A stored result that no check would give shows that no check was made.
    try await store.write { transaction in
      try transaction.execute("UPDATE tokenscript_files SET signer = 'remembered.example'")
    }
    let server = try await fixture.server(store: store)
    #expect(try await server.get("/\(alice)?signer=remembered.example").status == .ok)
    // Under other rules the checks are made again.
    let other = try await fixture.server("trust = \"off\"", store: store)
    #expect(try await other.get("/\(alice)?signer=remembered.example").status == .notFound)
    #expect(try await other.get("/\(alice)?signer=shop.example").status == .ok)
  }

  @Test func theIndexIsATableForPeopleAndPrograms() async throws {
    try fixture.write(
      "a/<b>.tsml", bytes: try Signer.shop.sign(tokenScript(for: alice), at: 1_550_000_000))
    try fixture.write("broken.tsml", "<broken")
    let server = try await fixture.server()
    let json = try await server.get("/", ["Accept": "application/json"])
    #expect(json[.contentType] == "application/json")
    struct Listing: Decodable {
      struct Row: Decodable {
        let contract, name, schema, time, signer, key, kind, sha256: String?
        let path, state: String
        let networks, chains: [Int64]
        let size: Int
        let warnings: [String]
      }
      let contracts: [Row]
    }
    let rows = try JSONDecoder().decode(Listing.self, from: Data(json.bytes)).contracts
    #expect(rows.map(\.path) == ["a/<b>.tsml", "broken.tsml"])
    #expect(rows[0].contract?.lowercased() == alice)
    #expect(rows[0].networks == [1] && rows[0].chains == [1])
    #expect(rows[0].schema == "2019/05")
    #expect(rows[0].time?.hasPrefix("2019-02-12T19:33:20") == true)
    #expect(rows[0].signer == "shop.example")
    #expect(rows[0].kind == "P-256")
    #expect(rows[0].sha256?.count == 64)
    #expect(rows[0].state == "served")
    #expect(rows[1].contract == nil)
    #expect(json.text.contains("\"contract\":null"))
    #expect(rows[1].state == "refused because not well-formed XML")

    for accept in [nil, "text/html", "*/*", "text/html, application/json;q=0.5"] {
      let page = try await server.get("/", accept.map { ["Accept": $0] } ?? [:])
      #expect(page[.contentType] == "text/html; charset=utf-8")
      #expect(page.text.contains("a/&lt;b&gt;.tsml"))
      #expect(!page.text.contains("<b>"))
    }
    // A new index gives a new table.
    try fixture.remove("broken.tsml")
    try await server.service.reload()
    #expect(try await !server.get("/").text.contains("broken.tsml"))
  }

  @Test func scriptURIsNameEachVersionOnThatNetwork() async throws {
    for (schema, network) in [("2019/05", "1"), ("2020/03", "1"), ("2020/06", "137")] {
      try fixture.write(
        "\(schema)/a.tsml",
        bytes: try Signer.shop.sign(
          tokenScript(
            schema, contracts: [("A", [(network, alice)]), ("B", [("1", bob)])], origins: ["A"]),
          at: 1_550_000_000))
    }
    let server = try await fixture.server(
      "default_namespace = \"2019/05\"", publicURL: "https://repo.example")
    func places(_ address: String, _ network: String) async throws -> [String] {
      let text = try await server.get("/tokenscript/\(address)/chain/\(network)/script-uri").text
      #expect(text.hasPrefix("{\"scriptURI\":{\"erc5169\":[],\"offchain\":["))
      return text.split(separator: "\"").map(String.init).filter { $0.hasPrefix("https:") }
    }
    let address = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
    #expect(
      try await places(alice, "1") == [
        "https://repo.example/2019/05/chain/1/\(address)",
        "https://repo.example/2020/03/chain/1/\(address)",
      ])
    #expect(try await places(alice, "137") == ["https://repo.example/2020/06/chain/137/\(address)"])
    for place in try await places(alice, "137") + places(alice, "1") {
      let path = place.dropFirst("https://repo.example".count)
      #expect(try await server.get(String(path)).status == .ok)
    }
    #expect(try await places(alice, "5").isEmpty)
    // The file merely uses this contract, and is not served for it.
    #expect(try await places(bob, "1").isEmpty)
    for path in [
      "/tokenscript/0x12/chain/1/script-uri", "/tokenscript/\(alice)/chain/x/script-uri",
      "/tokenscript/\(alice)/chain/0/script-uri", "/tokenscript/\(alice)/chain/+1/script-uri",
    ] {
      #expect(try await server.get(path).status == .badRequest)
    }
    let nameless = try await fixture.server()
    #expect(
      try await nameless.get("/tokenscript/\(alice)/chain/1/script-uri").status == .notFound)
  }
}
