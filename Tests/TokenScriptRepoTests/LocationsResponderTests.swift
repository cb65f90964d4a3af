internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// A script as the engine and the viewer read it.
struct FoundScript: Decodable {
  let name, icon, sourceId, sourceUrl, scriptId, type: String
  let order: Int
  let authenticated: Bool
}

/// Tests of what today's clients ask for about a contract's places.
@Suite(.ownThreads) struct LocationsResponderTests: ChainSuite {
  let fixture: RepositoryFixture
  private let owner: EthereumAddress
  private let contract: EthereumAddress

  init() throws {
    fixture = try RepositoryFixture()
    owner = try #require(EthereumAddress(Signer.issuer.identifier()))
    contract = try #require(EthereumAddress(alice))
  }

  static let info = "/tokenscript/\(alice)/chain/1/script-info"

  /// A file with a label, an icon and cards.
  private func labelled(_ label: String, icon: String = "", note: String = "") -> String {
    tokenScript("2020/06", contracts: [("Coin", [("1", alice)])], origins: ["Coin"], note: note)
      .replacing(
        "tokenscript\">",
        with:
          "tokenscript\" name=\"Root\">\(label)<ts:meta><ts:iconUrl>\(icon)</ts:iconUrl></ts:meta>")
  }

  private func found(
    _ server: RepositoryServer, _ path: String = Self.info
  ) async throws -> [FoundScript] {
    let response = try await server.get(path)
    #expect(response.status == .ok && response[.contentType] == "application/json")
    #expect(response[.accessControlAllowOrigin] == "*" && response[.lastModified] == nil)
    let scripts = try JSONDecoder().decode([FoundScript].self, from: Data(response.bytes))
    #expect(scripts.map(\.order) == Array(scripts.indices))
    #expect(Set(scripts.map(\.scriptId)).count == scripts.count)
    #expect(scripts.allSatisfy { !$0.scriptId.contains("-") && $0.name.utf8.count <= 128 })
    #expect(scripts.allSatisfy { $0.sourceId == "1-\(contract.checksummed)" })
    return scripts
  }

  @Test func theContractsOwnComeFirst() async throws {
    let label =
      "<ts:label><ts:string xml:lang=\"de\">Münze</ts:string><ts:plurals xml:lang=\"en\">"
      + "<ts:string quantity=\"other\">Coins</ts:string><ts:string quantity=\"one\">My\u{202e} \n Coin</ts:string>"
      + "</ts:plurals></ts:label>"
    try fixture.write(
      "issuer.tsml",
      bytes: Signer.issuer.sign(labelled(label, icon: "ipfs://icon"), at: 1_600_000_000))
    try fixture.write(
      "rival.tsml",
      bytes: Signer.rival.sign(labelled("", icon: "javascript:alert(1)"), at: 1_600_000_100))
    try await withChain { chain, server, ask in
      chain.set(contract, .owner, Encoded.word(owner))
      chain.set(contract, .name, Encoded.string("Coin of\u{202e} Alice\u{7}"))
      chain.set(
        contract, .scriptURI,
        Encoded.strings(["javascript:alert(1)", "https://own.example/a.tsml", "ipfs://Qm2"]))
      let stranger = TestChain.address(9)
      chain.set(
        TestChain.registry, .scriptData(of: contract),
        Encoded.entries([
          .init(name: "Stranger\u{2066}'s", icon: "http://x", token: 7),
          .init(token: 0), .init(token: 8, place: "javascript:alert(1)"),
          .init(name: "", token: 3, isAuthenticated: 1),
          .init(name: "Sold", token: 5, isAuthenticated: 1),
          .init(token: 3, place: "https://again.example"),
        ]))
      func token(_ number: Int) -> FunctionCall { .ownerOf(Encoded.word(number)) }
      chain.set(TestChain.registry, token(3), Encoded.word(owner))
      chain.set(TestChain.registry, token(5), Encoded.word(stranger))
      _ = try await ask()
      let scripts = try await found(server)
      let base = "https://repo.example/2020/06/\(contract.checksummed)"
      let rival = try Signer.rival.identifier()
      let expected = [
        "Coin of Alice|https://own.example/a.tsml||scriptUri|true|",
        "Coin of Alice|ipfs://Qm2|5169_1|scriptUri|true|",
        "My Coin|\(base)?signer=\(owner.checksummed)|awd_202006_\(owner.checksummed)|scriptUri|true|ipfs://icon",
        "TokenScript|https://scripts.example/x.tsml|7738_3|registry|true|",
        "Root|\(base)?signer=\(rival)|awd_202006_\(rival)|scriptUri|false|",
        "Sold|https://scripts.example/x.tsml|7738_5|registry|false|",
        "Stranger's|https://scripts.example/x.tsml|7738_7|registry|false|",
      ]
      #expect(
        scripts.map {
          "\($0.name)|\($0.sourceUrl)|\($0.scriptId)|\($0.type)|\($0.authenticated)|\($0.icon)"
        } == expected)
      // Every URL of this server gives one file, also those of script-uri.
      let places = try await server.get("/tokenscript/\(alice)/chain/1/script-uri")
      let urls = scripts.map(\.sourceUrl).filter { $0.hasPrefix(base) }
      #expect(places.text.contains("\"offchain\":[\"\(urls[0])\",\"\(urls[1])\"]"))
      for url in urls {
        #expect(
          try await server.get(String(url.dropFirst("https://repo.example".count))).status == .ok)
      }
      // The page shows the same.
      let page = try await server.get("/contracts/1/\(alice)").text
      #expect(page.contains("the owner’s: ") && page.contains("Coin of Alice"))
      // Names that differ are told.
      let rows = server.service.indexer.current.rows
      #expect(rows.allSatisfy { $0.contractName == "Coin of Alice" })
      #expect(rows.allSatisfy { $0.warnings.contains("the contract calls itself “Coin of Alice”") })
      chain.set(contract, .name, Encoded.string("my COIN"))
      _ = try await ask()
      let warnings = server.service.indexer.current.rows.map {
        $0.warnings.filter { $0.contains("calls itself") }.count
      }
      #expect(warnings == [0, 1])
    }
  }

  @Test func anEntityTagTellsChanges() async throws {
    try fixture.write("a.tsml", bytes: Signer.shop.sign(labelled(""), at: 1_600_000_000))
    let server = try await fixture.server(publicURL: "https://repo.example")
    for path in [Self.info, "/tokenscript/\(alice)/chain/1/script-uri"] {
      let response = try await server.get(
        path, ["If-Modified-Since": "Thu, 1 Jan 2037 00:00:00 GMT"])
      #expect(response.status == .ok && response[.cacheControl] == "no-cache")
      let tag = try #require(response[.entityTag])
      #expect(tag.hasPrefix("\""))
      let same = try await server.get(path, ["If-None-Match": tag])
      #expect(same.status == .notModified && same.bytes.isEmpty && same[.entityTag] == tag)
      #expect(try await server.get(path, method: .head).status == .ok)
    }
  }

  @Test func whatIsNoContractIsTold() async throws {
    let server = try await fixture.server(publicURL: "https://repo.example")
    #expect(try await server.get(Self.info).text == "[]")
    for path in ["0x12/chain/1", "\(alice)/chain/0", "\(alice)/chain/x", "\(alice).tsml/chain/1"] {
      #expect(try await server.get("/tokenscript/\(path)/script-info").status == .badRequest)
    }
    #expect(try await fixture.server().get(Self.info).status == .notFound)
    for path in ["\(alice)/chain/1", "0x12/chain/x"] {
      let response = try await server.get("/tokenscript/\(path)/from-template/0")
      #expect(response.status == .notFound && response.text.contains("\"url\":null"))
    }
  }

  @Test func threeHundredEntriesAreNoFlood() async throws {
    for number in 0..<40 {
      let signer = Signer(.p256, "signer\(number).example")
      try fixture.write(
        "\(number).tsml", bytes: signer.sign(labelled("", note: "\(number)"), at: 1_600_000_000))
    }
    try await withChain { chain, server, ask in
      chain.set(contract, .owner, Encoded.word(owner))
      chain.set(
        TestChain.registry, .scriptData(of: contract),
        Encoded.entries((1...300).map { .init(token: $0, isAuthenticated: $0 > 250 ? 1 : 0) }))
      for token in 251...300 {
        chain.set(TestChain.registry, .ownerOf(Encoded.word(token)), Encoded.word(owner))
      }
      _ = try await ask()
      let scripts = try await found(server)
      #expect(scripts.count == 64)
      #expect(scripts.filter(\.authenticated).map(\.scriptId) == (251...282).map { "7738_\($0)" })
      #expect(chain.batches.map(\.count).max() == 32)
      let word = server.service.scheduler.answers.value.byOrigin.values.first
      #expect(word?.entries.count == 32)
    }
  }

  /// Whatever the registry says, the owner is known.
  @Test(arguments: 0..<6) func malformedEntriesSpoilNothing(_ number: Int) async throws {
    try fixture.write("a.tsml", bytes: Signer.issuer.sign(labelled(""), at: 1_600_000_000))
    let good = Encoded.entries([.init(), .init(token: 2)])
    let bad: [[UInt8]] = [
      [], Encoded.word(32) + Encoded.word(501), Encoded.word(32) + Encoded.word(Int.max),
      [UInt8](repeating: 0x20, count: 300 << 10), Array(good.prefix(good.count - 64)),
      Encoded.word(32) + Encoded.word(2) + Encoded.word(64) + Encoded.word(64),
    ]
    try await withChain { chain, server, ask in
      chain.set(contract, .owner, Encoded.word(owner))
      chain.set(TestChain.registry, .scriptData(of: contract), bad[number])
      _ = try await ask()
      #expect(server.service.indexer.current.rows[0].standing == .issuer)
      #expect(try await found(server).filter { $0.type == "registry" }.count <= 1)
    }
  }

  @Test func anOldRegistryIsForThePage() async throws {
    try fixture.write("a.tsml", bytes: Signer.issuer.sign(labelled(""), at: 1_600_000_000))
    try await withChain { chain, server, ask in
      chain.set(contract, .owner, Encoded.word(owner))
      chain.set(TestChain.registry, .scriptURI(of: contract), Encoded.strings(["ipfs://old"]))
      _ = try await ask()
      #expect(try await server.get("/contracts/1/\(alice)").text.contains("ipfs://old"))
      #expect(try await found(server).map(\.sourceUrl).contains("ipfs://old") == false)
    }
  }

  @Test func anEndingIsLeftOut() async throws {
    try fixture.write("a.tsml", bytes: Signer.shop.sign(labelled(""), at: 1_600_000_000))
    let server = try await fixture.server()
    for path in [
      "/\(alice)", "/2020/06/\(alice)", "/chain/1/\(alice)", "/2020/06/chain/1/\(alice)",
    ] {
      let plain = try await server.get(path)
      let ending = try await server.get("\(path).tsml")
      #expect(ending.status == .ok && ending.bytes == plain.bytes)
      #expect(
        ending[.entityTag] == plain[.entityTag] && ending[.lastModified] == plain[.lastModified])
      for other in [".xml", ".tsml.tsml", "tsml"] {
        #expect(try await server.get(path + other).status == .badRequest)
      }
    }
  }

  // MARK: token-view

  private struct View: Decodable {
    struct Metadata: Decodable {
      struct Action: Decodable, Equatable {
        let name, label: String
        let type, buttonClass: String?
        let fullScreen: Bool
      }

      let name, label: String?
      let meta: [String: String?]
      let signed: Bool
      let actions: [Action]
      let cssStr: String
    }

    let tokenMetadata: String?
    let tsMetadata: Metadata
    let signed: Bool
    let explorerUrl: String?
  }

  @Test func aTokensViewIsReadFromTheFile() async throws {
    let cards =
      "<ts:cards><ts:card name=\"mint\" type=\"action\" buttonClass=\"featured\"><ts:view fullScreen=\"true\"/>"
      + "<ts:label><ts:string xml:lang=\"en\">Mint</ts:string></ts:label></ts:card>"
      + String(repeating: "<ts:card name=\"info\" type=\"token\"/>", count: 70) + "</ts:cards>"
    let text = labelled(
      "<ts:label><ts:string>First</ts:string><ts:string xml:lang=\"en\">Coin</ts:string></ts:label>"
    )
    .replacing(
      "<ts:meta>",
      with:
        "<ts:meta><ts:description xml:lang=\"en\">\(String(repeating: "x", count: 5000))</ts:description><ts:aboutUrl>javascript:x</ts:aboutUrl>"
    )
    .replacing("<ts:origins>", with: cards + "<ts:origins>")
    try fixture.write("a.tsml", bytes: Signer.shop.sign(text, at: 1_600_000_000))
    try fixture.write("b.tsml", bytes: Signer.rival.sign(labelled(""), at: 1_500_000_000))
    let server = try await fixture.server(publicURL: "https://repo.example")
    let path = "/token-view/1/\(alice)"
    let response = try await server.get("\(path)?tokenId=1&entry=", ["X-Stl-Key": "key"])
    #expect(response.status == .ok && response[.accessControlAllowOrigin] == "*")
    let view = try JSONDecoder().decode(View.self, from: Data(response.bytes))
    #expect(view.tokenMetadata == nil && view.signed && view.tsMetadata.signed)
    #expect(view.tsMetadata.name == "Root" && view.tsMetadata.label == "Coin")
    #expect(
      view.tsMetadata.meta.keys.sorted() == [
        "aboutUrl", "backgroundImageUrl", "description", "iconUrl", "imageUrl",
      ])
    #expect(view.tsMetadata.meta["aboutUrl"] == .some(nil))
    #expect((view.tsMetadata.meta["description"] ?? nil)?.utf8.count == 4096)
    #expect(view.tsMetadata.actions.count == 64)
    #expect(
      view.tsMetadata.actions.prefix(2) == [
        .init(
          name: "mint", label: "Mint", type: "action", buttonClass: "featured", fullScreen: true),
        .init(
          name: "info", label: "Unnamed Card", type: "token", buttonClass: nil, fullScreen: false),
      ])
    #expect(view.explorerUrl?.contains(contract.checksummed) == true)
    let place = try await server.get("\(path)/script-uri").text
    let url = try #require(
      try JSONDecoder().decode([String: String].self, from: Data(place.utf8))["scriptURI"])
    #expect(url.hasSuffix(".tsml"))
    let file = try await server.get(String(url.dropFirst("https://repo.example".count)))
    #expect(
      file.status == .ok && file.text.contains("Unnamed") == false && file.text.contains("mint"))
    for (path, status) in [
      ("\(path)?entry=3", 404), ("/token-view/5/\(alice)", 404), ("/token-view/1/\(bob)", 404),
      ("/token-view/x/\(alice)", 400), ("/token-view/1/0x1", 400),
      ("\(path)/script-uri?entry=1", 404),
    ] {
      let response = try await server.get(path, ["Accept": "text/html"])
      #expect(response.status.code == status && response.text.hasPrefix("{\"error\":\""), "\(path)")
    }
    let preflight = try await server.get(path, method: .options)
    let allowed = preflight[FieldName("Access-Control-Allow-Headers")] ?? ""
    #expect(preflight.status == .noContent && allowed.contains("X-Stl-Key"))
  }

  // MARK: validate

  @Test func aFileHereIsValidatedByItsURL() async throws {
    try fixture.write("a.tsml", bytes: Signer.shop.sign(labelled(""), at: 1_600_000_000))
    try fixture.write("b.tsml", bytes: Signer.rival.sign(labelled(""), at: 1_600_000_000))
    let server = try await fixture.server(
      "verify_untrusted = true", publicURL: "https://repo.example")
    func validate(_ url: String) async throws -> Response {
      let head = try RequestHead(
        method: .post, path: "/tokenscript/validate", authority: "repo.example",
        fields: [("Content-Type", "application/json")])
      let body =
        "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\",\"sourceUrl\":\"\(url)\"}"
      return await server.table.respond(
        to: Request(head: head, body: Array(body.utf8), origin: RequestOrigin(peer: "127.0.0.1")))
    }
    for script in try await found(server) {
      let response = try await validate(script.sourceUrl)
      #expect(response.status == .ok && response.text.contains("\"status\":\"pass\""))
    }
    for url in [
      "https://repo.example/2020/06/\(contract.checksummed)", "https://other.example/x", "",
      "https://repo.example.evil/2020/06/\(alice)", "http://127.0.0.1:1/", "https://repo.example/",
    ] {
      #expect(try await validate(url).status == .badRequest, "\(url)")
    }
  }
}
