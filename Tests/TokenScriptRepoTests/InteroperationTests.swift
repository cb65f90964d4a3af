internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of what clients of today expect of the repository beside its own rules.
@Suite(.ownThreads) struct InteroperationTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  // MARK: Links by path

  @Test func aFilesPathLeadsToItsURL() async throws {
    let signed = try sign()
    try fixture.write("aw.app/2020/06/Coin.tsml", bytes: signed)
    try fixture.write("2020/06/Coin.tsml", bytes: sign(.rival, schema: "2020/06"))
    try fixture.write("a b/é.tsml", bytes: sign(.issuer, schema: "2019/05"))
    try fixture.write("old.xml", bytes: sign(.issuer, schema: "2019/04"))
    try fixture.write("refused.tsml", tokenScript(for: alice))
    let server = try await fixture.server()
    for path in ["/aw.app/2020/06/Coin.tsml", "/2020/06/Coin.tsml", "/a%20b/%C3%A9.tsml"] {
      for method in [HTTPProtocol.Method.get, .head] {
        let response = try await server.get(path, method: method)
        #expect(response.status == .permanentRedirect, "\(path)")
        let url = try #require(response[.location])
        #expect(response[.accessControlAllowOrigin] == "*")
        #expect(try await server.get(url).status == .ok, "\(url)")
      }
    }
    let url = try #require(try await server.get("/aw.app/2020/06/Coin.tsml")[.location])
    #expect(try await server.get(url).bytes == signed)
    for path in [
      "/old.xml", "/refused.tsml", "/aw.app/2020/06/coin.tsml", "/aw.app", "/aw.app/2020/06/",
      "/aw.app/../aw.app/2020/06/Coin.tsml", "/aw.app/%2e%2e/aw.app/2020/06/Coin.tsml",
      "/aw.app%2F2020/06/Coin.tsml", "/aw.app//2020/06/Coin.tsml", "/none.tsml", "/.tsml",
    ] {
      #expect(try await server.get(path).status == .notFound, "\(path)")
    }
    #expect(
      try await send(server, signed, to: "/aw.app/2020/06/Coin.tsml").status == .methodNotAllowed)
  }

  // MARK: The chain's own currency

  @Test(arguments: [
    "0x0000000000000000000000000000000000000000", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
  ])
  func nobodyPublishesForTheChainsCurrency(address: String) async throws {
    let own = tokenScript(
      "2020/06", contracts: [("ETH", [("1", address)])], origins: ["ETH"], note: "own")
    try fixture.write("eth.tsml", bytes: Signer.issuer.sign(own, at: Self.now - 100))
    for policy in ["open", "known"] {
      let server = try await server(policy)
      #expect(try await server.get("/2020/06/\(address)").status == .ok)
      for signer in [Signer.shop, .issuer] {
        let put = try await send(
          server, signer.sign(own, at: Self.now), to: "/2020/06/chain/1/\(address)")
        #expect(put.status == .forbidden)
        let text = tokenScript(
          "2020/06", contracts: [("Coin", [("1", alice)]), ("ETH", [("1", address)])],
          origins: ["Coin", "ETH"])
        #expect(
          try await send(server, signer.sign(text, at: Self.now)).status == .forbidden)
      }
    }
  }

  // MARK: Icons and cards

  private func view(_ meta: String, cards: String = "") async throws -> [String: Any] {
    let text = tokenScript("2020/06", for: alice)
      .replacing("<ts:origins>", with: "<ts:meta>\(meta)</ts:meta>\(cards)<ts:origins>")
    try fixture.write("icon.tsml", bytes: Signer.shop.sign(text, at: Self.now - 100))
    let server = try await fixture.server(publicURL: "https://repo.example")
    let found = try await server.get("/token-view/1/\(alice)")
    let object = try JSONSerialization.jsonObject(with: Data(found.bytes)) as? [String: Any]
    return try #require(object?["tsMetadata"] as? [String: Any])
  }

  private func icon(_ url: String) async throws -> (view: String?, info: String?) {
    let metadata = try await view("<ts:iconUrl>\(url)</ts:iconUrl>")
    let server = try await fixture.server(publicURL: "https://repo.example")
    let info = try await server.get("/tokenscript/\(alice)/chain/1/script-info")
    let scripts = try JSONSerialization.jsonObject(with: Data(info.bytes)) as? [[String: Any]]
    return (
      (metadata["meta"] as? [String: Any])?["iconUrl"] as? String,
      scripts?.first?["icon"] as? String
    )
  }

  private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

  private static func data(_ type: String, _ bytes: [UInt8]) -> String {
    "data:image/\(type);base64,\(Data(bytes).base64EncodedString())"
  }

  @Test(arguments: [
    data("png", png), data("jpeg", [0xff, 0xd8, 0xff, 0xe0]), data("gif", Array("GIF89a1".utf8)),
    data("webp", Array("RIFF1234WEBPVP8 ".utf8)),
    data("png", png + [UInt8](repeating: 7, count: (16 << 10) - 8)),
    data("PNG", png), "DATA:" + data("png", png).dropFirst(5),
  ])
  func smallPicturesPass(url: String) async throws {
    let found = try await icon(url)
    #expect(found.view == url && found.info == url)
  }

  @Test func aPictureInLinesPasses() async throws {
    let bytes = Self.png + [UInt8](repeating: 7, count: (16 << 10) - 8)
    let lines = Data(bytes).base64EncodedString(options: .lineLength76Characters)
    let found = try await icon("\n  data:image/png;base64,\n\(lines)\n")
    #expect(found.view == Self.data("png", bytes) && found.info == found.view)
  }

  @Test(arguments: [
    data("svg+xml", Array("<svg/>".utf8)), data("png", [0xff, 0xd8, 0xff]),
    data("webp", Array("RIFF1234WAVEfmt ".utf8)), "data:image/png,abc",
    "data:text/html;base64,AAAA",
    "data:image/png;base64,@@", "data:image/png;base64,",
    data("png", png + [UInt8](repeating: 7, count: (16 << 10) - 7)),
  ])
  func otherDataDoesNot(url: String) async throws {
    let found = try await icon(url)
    #expect(found.view == nil && found.info == "")
  }

  @Test func fullScreenIsTheFirstViews() async throws {
    let metadata = try await view(
      "",
      cards:
        "<ts:cards><ts:card type=\"action\" name=\"Feed\"><ts:view fullScreen=\"true\"/></ts:card>"
        + "<ts:card type=\"token\" name=\"Info\" fullScreen=\"true\"><ts:view/>"
        + "<ts:view fullScreen=\"true\"/></ts:card></ts:cards>")
    let actions = try #require(metadata["actions"] as? [[String: Any]])
    #expect(actions.map { $0["fullScreen"] as? Bool } == [true, false])
  }

  // MARK: The index

  private struct Listing: Decodable {
    struct Row: Decodable { let path: String }

    let contracts: [Row]
    let next: String?
  }

  @Test func theIndexInJSONIsSearchedToo() async throws {
    for number in 0..<1001 {
      try fixture.write("many/\(number).tsml", "<cat>\(number)</cat>")
    }
    try fixture.write("dog.tsml", bytes: sign())
    let server = try await fixture.server()
    func list(_ path: String, _ fields: [String: String] = [:]) async throws -> Listing {
      let response = try await server.get(path, fields)
      #expect(response.status == .ok)
      return try JSONDecoder().decode(Listing.self, from: Data(response.bytes))
    }
    let json = ["Accept": "application/json"]
    #expect(try await list("/?format=json&q=DOG").contracts.map(\.path) == ["dog.tsml"])
    #expect(
      try await list("/?q=\(alice.uppercased().replacing("0X", with: "0x"))", json)
        .contracts.map(\.path) == ["dog.tsml"])
    let first = try await list("/?q=many+tsml", json)
    #expect(first.contracts.count == 1000)
    let next = try #require(first.next)
    #expect(next.contains("q=many%20tsml") && next.contains("page=2"))
    let second = try await list(next)
    #expect(second.contracts.count == 1 && second.next == nil)
    let long = String(repeating: "x", count: 257)
    #expect(try await server.get("/?format=json&q=\(long)").status == .badRequest)
  }

  // MARK: Publications at once

  @Test func eachPublicationIsAnsweredForItself() async throws {
    let server = try await server()
    var files: [[UInt8]] = []
    for number in 0..<5 { files.append(try await signWithoutTime(.issuer, note: "\(number)")) }
    let responses = try await withThrowingTaskGroup(of: (Int, Response).self) { group in
      for (number, file) in files.enumerated() {
        group.addTask { (number, try await send(server, file)) }
      }
      return try await group.reduce(into: [Int: Response]()) { $0[$1.0] = $1.1 }
    }
    var times: Set<String> = []
    for (number, file) in files.enumerated() {
      let response = try #require(responses[number])
      #expect(response.status == .created || response.status == .ok)
      #expect(try row(response).sha256 == SHA256.hash(file).hex)
      #expect(response[.entityTag] == "\"\(SHA256.hash(file).hex)\"")
      times.insert(try #require(response[.lastModified]))
    }
    #expect(times.count == 5)
  }
}
