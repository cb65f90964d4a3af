internal import ServiceKit
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of `awd wallet open`.
@Suite(.ownThreads) struct WalletOpenCommandTests {
  private static let contract = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
  private static let viewer = "https://viewer.tokenscript.org/?chain=1&contract=\(contract)"
  private let fixture: CommandsFixture

  init() throws { fixture = try CommandsFixture() }

  private func run(_ words: [String]) async throws -> String {
    try await fixture.run(WalletOpenCommand.self, words)
  }

  private func usage(_ words: [String]) async throws -> String {
    do {
      Issue.record("\(try await run(words))")
    } catch CommandError.usage(let text) { return text }
    return ""
  }

  @Test func itPrintsWhatALinkNames() async throws {
    let link = Self.viewer + "&scriptId=7738_2#card=A%1b%5B2J&tokenId=7"
    #expect(
      try await run([link]) == """
        kind      viewer
        chain     Ethereum (1)
        contract  \(Self.contract)
        tokens    7
        script    7738_2
        card      A\u{FFFD}[2J
        """)
    #expect(
      try await run(["--json", link]) == """
        {
          "card" : "A\\u001b[2J",
          "chain" : 1,
          "contract" : "\(Self.contract)",
          "kind" : "viewer",
          "originId" : null,
          "scriptId" : "7738_2",
          "tokenIds" : [
            "7"
          ],
          "url" : null
        }
        """)
    let bare = try await run(["--json", "ethereum:\(alice)"])
    #expect(bare.contains("\"chain\" : null") && bare.contains("\"kind\" : \"eip681\""))
    #expect(try await run(["--json", alice, "--network", "137"]).contains("\"chain\" : 137"))
    let url = "https://repo.example/chain/5/\(alice)"
    #expect(try await run([url, "--repo", "https://repo.example"]).hasSuffix("url       \(url)"))
    // The link's own chain counts.
    #expect(
      try await run(["--json", "ethereum:\(alice)@5", "--network", "137"]).contains("\"chain\" : 5")
    )
  }

  @Test(
    arguments: [
      ([], "LINK is missing"), ([alice, bob], "unexpected argument"),
      (["wc:x@1"], "LINK: it is neither an address nor a link"),
      (["https://evil.example/\u{1b}[2J"], "LINK: it is neither"),
      ([alice, "--cache", "c"], "--repo is missing"),
      ([alice, "--cache", "c", "--repo", "https://repo.example"], "--network is missing"),
      ([alice, "--cache", "c", "--repo", "file:///"], "--repo: expected a URL"),
      ([alice, "--network", "0"], "--network: expected a number"),
      (["https://repo.example/\(alice)"], "names no contract for a wallet"),
    ] as [([String], String)])
  func mistakes(_ words: [String], _ problem: String) async throws {
    #expect(try await usage(words).contains(problem))
  }

  /// A program sees what its user does.
  @Test func whatIsNoLinkIsAMistake() throws {
    let outcome = try fixture.spawn(
      CommandsFixture.program(), ["wallet", "open", "https://evil.example/x\u{1b}"])
    #expect(outcome.code == 2 && outcome.errors.contains("neither an address nor a link"))
    #expect(!outcome.errors.contains("\u{1b}"))
  }

  @Test func itFetchesFromTheRepositoryOnly() async throws {
    let repository = try RepositoryFixture()
    let file = try Signer.shop.sign(tokenScript("2020/06", for: alice), at: 1_600_000_000)
    try repository.write("a.tsml", bytes: file)
    try repository.write(
      "b.tsml", bytes: Signer.rival.sign(tokenScript("2019/05", for: alice), at: 1_700_000_000))
    let server = try await repository.server()
    let canary = Canary()
    try await withServer(canary) { foreign in
      try await withServer(server.table) { url in
        func fetch(_ link: String, _ cache: String) async throws -> String {
          try await run([link, "--repo", url + "/", "--cache", "\(fixture.folder)/\(cache)"])
        }
        let stored = try await fetch(Self.viewer, "a")
        #expect(stored.contains("\nstored \(fixture.folder)/a/1/\(Self.contract).xml\n"))
        #expect(try fixture.read("a/1/\(Self.contract).xml") == file)
        // A URL of the repository says which file.
        let place = "\(url)/2019/05/\(alice)?chain=1&signer=rival.example"
        #expect(try await fetch(place, "b").contains("namespace  2019/05"))
        let query = try #require(
          place.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let viewed = "https://viewer.tokenscript.org/?tokenscriptUrl=\(query)"
        #expect(try await fetch(viewed, "b").contains("unchanged"))
        let json = try await run([
          "--json", Self.viewer, "--repo", url, "--cache", "\(fixture.folder)/a",
        ])
        #expect(json.contains("\"fetch\" : {") && json.contains("\"result\" : \"unchanged\""))
        await #expect(throws: CommandError.self) { try await fetch("ethereum:\(bob)@1", "a") }
        for other in [
          "\(foreign)/\(alice)", "https://aw.app/openurl?url=\(foreign)/\(alice)",
          "https://viewer.tokenscript.org/?tokenscriptUrl=\(foreign)/\(alice)",
          "https://viewer.tokenscript.org/?emulator=\(foreign)",
        ] {
          #expect(
            try await usage([other, "--network", "1", "--repo", url, "--cache", fixture.folder])
              .hasPrefix("LINK: "))
        }
      }
    }
    #expect(canary.requests.withLock { $0 } == 0)
  }

  /// A server that nobody is to ask.
  private final class Canary: Responder {
    let requests = Lock(0)

    func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
      requests.withLock { $0 += 1 }
      return .respond(bodyLimit: 0) { _ in Response(.notFound) }
    }
  }
}
