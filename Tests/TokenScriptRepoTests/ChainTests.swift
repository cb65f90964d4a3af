internal import Cryptography
internal import FoundationEssentials
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of files that name one address on several chains.
@Suite(.ownThreads) struct ChainTests {
  private let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  /// Writes a signed file for one address on some chains, and returns its bytes.
  @discardableResult
  private func write(
    _ path: String, on chains: [String], by signer: Signer = .shop, at time: Int64 = 1_600_000_000,
    _ schema: String = "2020/06"
  ) throws -> [UInt8] {
    let text = tokenScript(
      schema, contracts: [("Coin", chains.map { ($0, alice) })], origins: ["Coin"], note: path)
    let bytes = try signer.sign(text, at: time)
    try fixture.write(path, bytes: bytes)
    return bytes
  }

  private static let places = [
    "/2020/06/chain/CHAIN/\(alice)", "/2020/06/\(alice)?chain=CHAIN", "/chain/CHAIN/\(alice)",
    "/\(alice)?chain=CHAIN", "/chain/CHAIN/\(alice)?chain=CHAIN",
  ]

  private func paths(_ chain: String) -> [String] {
    Self.places.map { $0.replacing("CHAIN", with: chain) }
  }

  private func links(_ response: Response) -> String {
    response.fields.pairs.filter { $0.name == "Link" }.map(\.value).joined(separator: ", ")
  }

  @Test func eachChainHasItsFile() async throws {
    let bytes = [
      "1001": try write("a.tsml", on: ["1001"]),
      "11155111": try write("b.tsml", on: ["11155111"], at: 1_600_000_500),
    ]
    let server = try await fixture.server()
    for (chain, file) in bytes {
      for path in paths(chain) {
        let response = try await server.get(path)
        #expect(response.status == .ok && response.bytes == file, "\(path)")
      }
    }
    for path in paths("1") + paths("5") {
      #expect(try await server.get(path).status == .notFound, "\(path)")
    }
    let rows = server.service.indexer.current.rows
    #expect(rows.map(\.state) == [.served, .served])
    // Without a chain people must choose one.
    for path in ["/\(alice)", "/2020/06/\(alice)"] {
      let response = try await server.get(path, ["Accept": "application/json"])
      #expect(response.status == .multipleChoices)
      let links = self.links(response)
      #expect(
        links == """
          </2020/06/chain/1001/\(alice)>; rel="alternate"; type="application/tokenscript+xml"; \
          title="shop.example, chain 1001", </2020/06/chain/11155111/\(alice)>; rel="alternate"; \
          type="application/tokenscript+xml"; title="shop.example, chain 11155111"
          """)
      let choices = try JSONDecoder().decode(Choices.self, from: Data(response.bytes)).choices
      #expect(choices.map(\.chain) == [1001, 11_155_111])
      for choice in choices {
        #expect(try await server.get(choice.url).bytes == bytes["\(choice.chain)"])
      }
    }
    // A page links each row to its own file.
    let page = try await server.get("/").text
    for path in ["/2020/06/chain/1001/0x6B17", "/2020/06/chain/11155111/0x6B17"] {
      #expect(page.contains("href=\"\(path)"), "\(path)")
    }
  }

  private struct Choices: Decodable {
    struct Choice: Decodable {
      let url: String
      let chain: Int64
    }

    let choices: [Choice]
  }

  @Test(arguments: ["0", "-1", "+1", "01", "x", "", "9223372036854775808", "1.0", "%31%00"])
  func whatIsNoChainIsABadRequest(_ chain: String) async throws {
    try write("a.tsml", on: ["1"])
    let server = try await fixture.server()
    for path in paths(chain) where !path.contains("chain//") {
      #expect(try await server.get(path).status == .badRequest, "\(path)")
    }
  }

  @Test func twoChainsInOneRequestContradict() async throws {
    try write("a.tsml", on: ["1", "5"])
    let server = try await fixture.server()
    #expect(try await server.get("/chain/1/\(alice)?chain=5").status == .badRequest)
    #expect(try await server.get("/\(alice)?chain=1&chain=5").status == .badRequest)
    #expect(try await server.get("/chain/%31/\(alice)?chain=1").status == .ok)
  }

  @Test func aFileForAllChainsAnswersWithoutOne() async throws {
    let all = try write("all.tsml", on: ["5", "1", "100"])
    let newer = try write("newer.tsml", on: ["100"], at: 1_600_000_500)
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == all)
    #expect(try await server.get("/2020/06/\(alice)").bytes == all)
    #expect(try await server.get("/chain/5/\(alice)").bytes == all)
    #expect(try await server.get("/chain/100/\(alice)").bytes == newer)
    // It is the answer for two of its chains.
    #expect(server.service.indexer.current.rows.map(\.state) == [.served, .served])
  }

  @Test func aFileThatIsShadowedOnEveryChainAnswersNothing() async throws {
    try write("all.tsml", on: ["1", "5"])
    let main = try write("main.tsml", on: ["1"], at: 1_600_000_500)
    let other = try write("other.tsml", on: ["5"], at: 1_600_000_600)
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == main)
    #expect(try await server.get("/chain/5/\(alice)").bytes == other)
    #expect(
      server.service.indexer.current.rows.map(\.state.words)
        == ["shadowed by main.tsml", "served", "served"])
  }

  @Test func withoutAFileForAllChainsTheMainOneCounts() async throws {
    let main = try write("main.tsml", on: ["1", "4"])
    try write("test.tsml", on: ["11155111"], at: 1_600_000_500)
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == main)
    // The choice among signers comes after the chain, and its links name it.
    let rival = try write("rival.tsml", on: ["1"], by: .rival)
    try await server.service.reload()
    let response = try await server.get("/2020/06/\(alice)")
    #expect(response.status == .multipleChoices)
    let links = self.links(response)
    for (name, bytes) in [("shop.example", main), ("rival.example", rival)] {
      let url = "/2020/06/chain/1/\(alice)?signer=\(name)"
      #expect(links.contains("<\(url)>"))
      #expect(try await server.get(url).bytes == bytes)
    }
    #expect(try await server.get("/chain/4/\(alice)").bytes == main)
  }

  @Test func aSignerIsAskedForOnAChain() async throws {
    try write("shop.tsml", on: ["5"])
    try write("shop6.tsml", on: ["6"])
    let rival = try write("rival.tsml", on: ["5"], by: .rival)
    let server = try await fixture.server()
    #expect(try await server.get("/chain/5/\(alice)").status == .multipleChoices)
    #expect(try await server.get("/chain/5/\(alice)?signer=rival.example").bytes == rival)
    #expect(try await server.get("/\(alice)?signer=rival.example").bytes == rival)
    #expect(try await server.get("/chain/6/\(alice)?signer=rival.example").status == .notFound)
    // A list by chain keeps the signer.
    let links = self.links(try await server.get("/\(alice)?signer=Shop.Example"))
    #expect(links.contains("</2020/06/chain/6/\(alice)?signer=shop.example>"))
  }

  @Test func aChainIsGoneByItself() async throws {
    try write("a.tsml.gone", on: ["1", "5"])
    let other = try write("b.tsml", on: ["5"])
    try write("c.tsml", on: ["7"], "2019/05")
    let server = try await fixture.server()
    for path in paths("1") {
      #expect(try await server.get(path).status == .gone, "\(path)")
    }
    for path in paths("5") { #expect(try await server.get(path).bytes == other, "\(path)") }
    #expect(try await server.get("/2020/06/chain/7/\(alice)").status == .notFound)
    #expect(try await server.get("/chain/7/\(alice)").status == .ok)
    #expect(try await server.get("/2020/06/chain/1/\(alice)?signer=x").status == .gone)
    // Nothing but the other chains is left without one.
    #expect(try await server.get("/2020/06/\(alice)").bytes == other)
  }

  @Test func theVersionIsChosenAmongThoseOfTheChain() async throws {
    let old = try write("old.tsml", on: ["5"], "2019/05")
    let new = try write("new.tsml", on: ["1"])
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == new)
    #expect(try await server.get("/\(alice)?chain=5").bytes == old)
    #expect(try await server.get("/2020/06/\(alice)?chain=5").status == .notFound)
  }

  @Test func theChainComesBeforeTheVersion() async throws {
    let main = try write("main.tsml", on: ["1"], "2019/05")
    let test = try write("test.tsml", on: ["5"], at: 1_600_000_500)
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == main)
    #expect(try await server.get("/\(alice)?chain=5").bytes == test)
    let all = try write("all.tsml", on: ["5", "1"], "2019/10")
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").bytes == all)
  }

  @Test func publicationCountsByChain() async throws {
    fixture.time.withLock { $0 = 1_600_001_000 }
    let store = try await fixture.store()
    try write("a.tsml", on: ["1", "5"])
    let server = try await fixture.server("modified = \"published\"", store: store)
    fixture.time.withLock { $0 = 1_600_002_000 }
    try write("b.tsml", on: ["5"], at: 1_600_000_500)
    try await server.service.reload()
    for server in [server, try await fixture.server("modified = \"published\"", store: store)] {
      for (path, time) in [
        ("/chain/1/\(alice)", 1_600_001_000), ("/chain/5/\(alice)", 1_600_002_000),
        ("/chain/5/\(alice)?signer=shop.example", 1_600_002_000),
        ("/2020/06/\(alice)", 1_600_001_000),
      ] {
        let response = try await server.get(path)
        #expect(response[.lastModified] == HTTPDate(Int64(time)).text, "\(path)")
      }
    }
  }
}
