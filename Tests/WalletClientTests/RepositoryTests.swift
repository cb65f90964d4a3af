internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform
internal import WalletClient

/// The agent against the repository of this project, over sockets, with real signatures.
@Suite(.ownThreads) struct RepositoryTests {
  let files = TemporaryFolder()
  let cache = TemporaryFolder()

  @Test func downloadsKeepsAndUpdates() async throws {
    let first = try Signer.shop.sign(tokenScript(note: "1"), at: 1_600_000_000)
    try files.write("a.tsml", first)
    try await withRepository("", files) { repository in
      let agent = try agent(repository.url, cache)
      let name = "1/\(alice).xml"
      let stored = try await agent.fetch(request())
      guard case .stored(let script, let modified, isUpdate: false) = stored.outcome else {
        Issue.record("\(stored)")
        return
      }
      #expect(script.namespace == may && script.signer == "shop.example")
      #expect(try script.key == Signer.shop.identifier())
      #expect(script.signingTime == Timestamp(seconds: 1_600_000_000))
      #expect(stored.path == "\(cache.path)/\(name)" && stored.hasFile)
      #expect(cache.bytes(name) == first)
      #expect(try cache.modified(name) == 1_600_000_000 && modified.seconds == 1_600_000_000)
      #expect(try await agent.fetch(request()).outcome == .unchanged)

      let second = try Signer.shop.sign(tokenScript(note: "2"), at: 1_600_000_500)
      try files.write("a.tsml", second)
      try await repository.reload()
      let updated = try await agent.fetch(request())
      guard case .stored(_, _, isUpdate: true) = updated.outcome else {
        Issue.record("\(updated)")
        return
      }
      #expect(cache.bytes(name) == second)
      #expect(try cache.modified(name) == 1_600_000_500)
      #expect(cache.files == [name])
    }
  }

  @Test func anInvalidFirstDownloadLeavesNothing() async throws {
    try files.write("a.tsml", Array(tokenScript().utf8))
    try await withRepository("signature = \"off\"\ntrust = \"off\"", files) { repository in
      let report = try await agent(repository.url, cache).fetch(request())
      #expect(report.outcome == .invalid && !report.hasFile)
      #expect(report.attempts.map(\.rejection?.code) == [.signature])
      #expect(cache.files.isEmpty)
    }
  }

  @Test func anInvalidUpdateChangesNothing() async throws {
    let good = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    try files.write("a.tsml", good, modified: 1_600_000_000)
    try await withRepository("signature = \"off\"\ntrust = \"off\"", files) { repository in
      let agent = try agent(repository.url, cache)
      guard case .stored = try await agent.fetch(request(in: [may, april])).outcome else {
        Issue.record("not stored")
        return
      }
      let text = String(decoding: good, as: UTF8.self)
      let forged = text.replacing("name=\"Coin\"", with: "name=\"Coin\" x=\"1\"")
      try files.write("a.tsml", Array(forged.utf8), modified: 1_600_000_900)
      try files.write(
        "b.tsml", Signer.shop.sign(tokenScript("2019/04"), at: 1), modified: 1_600_000_900)
      try await repository.reload()
      let report = try await agent.fetch(request(in: [may, april]))
      #expect(report.outcome == .invalid && report.hasFile)
      #expect(report.attempts.map(\.namespace) == [may])
      #expect(cache.bytes("1/\(alice).xml") == good)
      #expect(try cache.modified("1/\(alice).xml") == 1_600_000_000)
    }
  }

  @Test func namespacesAreAskedInOrder() async throws {
    let old = try Signer.shop.sign(tokenScript("2019/04"), at: 1_600_000_000)
    try files.write("04.tsml", old)
    try await withRepository("", files) { repository in
      let agent = try agent(repository.url, cache)
      let report = try await agent.fetch(request(in: [may, april]))
      #expect(report.attempts.map(\.result) == ["not found", "accepted"])
      #expect(cache.bytes("1/\(alice).xml") == old)
      // The file of the preferred namespace appears, and is not newer.
      let new = try Signer.shop.sign(tokenScript("2019/05"), at: 1_600_000_000)
      try files.write("05.tsml", new)
      try await repository.reload()
      #expect(
        try await agent.fetch(request(in: [may, april])).attempts.map(\.result) == ["accepted"])
      #expect(cache.bytes("1/\(alice).xml") == new)
      // Without a preference the repository chooses.
      _ = try await agent.fetch(request(in: []))
      #expect(cache.bytes("1/\(alice).xml") == new)
    }
  }

  @Test func aBareAddressGetsWhatTheRepositoryChooses() async throws {
    try files.write("a.tsml", Signer.shop.sign(tokenScript("2020/06"), at: 1_600_000_000))
    try await withRepository("", files) { repository in
      let report = try await agent(repository.url, cache).fetch(request(in: []))
      guard case .stored(let script, _, _) = report.outcome else {
        Issue.record("\(report)")
        return
      }
      #expect(script.namespace.path == "2020/06")
    }
  }

  @Test func withoutAVersionThatItReadsItKeepsItsFile() async throws {
    let file = try Signer.shop.sign(tokenScript("2020/06"), at: 1_600_000_000)
    try files.write("a.tsml", file)
    let toml = "[[tokenscript.clients]]\nname = \"awd\"\nnamespaces = [\"2019/05\"]"
    try await withRepository(toml, files) { repository in
      let agent = try agent(repository.url, cache)
      let first = try await agent.fetch(request(in: []))
      #expect(first.outcome == .unreadable && !first.hasFile && cache.files.isEmpty)
      // A version in the URL is what the wallet wants, whatever is known about it.
      guard case .stored = try await agent.fetch(request(in: [namespace("2020/06")])).outcome else {
        Issue.record("not stored")
        return
      }
      let second = try await agent.fetch(request(in: []))
      #expect(second.outcome == .unreadable && second.hasFile)
      #expect(cache.bytes("1/\(alice).xml") == file)
    }
  }

  @Test func severalSignersAreListedAndOneIsChosen() async throws {
    let shop = try Signer.shop.sign(tokenScript(note: "shop"), at: 1_600_000_000)
    let rival = try Signer.rival.sign(tokenScript(note: "rival"), at: 1_600_000_500)
    try files.write("shop.tsml", shop)
    try files.write("rival.tsml", rival)
    try await withRepository("", files) { repository in
      let agent = try agent(repository.url, cache)
      guard case .choices(let choices) = try await agent.fetch(request()).outcome else {
        Issue.record("no choices")
        return
      }
      #expect(choices.map(\.signer) == ["rival.example", "shop.example"])
      #expect(choices.map(\.title) == ["rival.example", "shop.example"])
      #expect(choices[0].url == "/2019/05/chain/1/\(alice)?signer=rival.example")
      #expect(cache.files.isEmpty)
      // The choice counts, not the time.
      for (signer, bytes) in [
        ("SHOP.example", shop), (try Signer.rival.identifier(), rival), ("shop.example", shop),
      ] {
        _ = try await agent.fetch(request(signer: signer))
        #expect(cache.bytes("1/\(alice).xml") == bytes)
        #expect(try await agent.fetch(request(signer: signer)).outcome == .unchanged)
      }
      // A file that its author has not signed yet is nobody else's.
      try cache.write("1/\(alice).xml", Array(tokenScript().utf8))
      guard case .ownFile = try await agent.fetch(request(signer: "shop.example")).outcome else {
        Issue.record("not kept")
        return
      }
      let unknown = try await agent.fetch(request(signer: "nobody.example"))
      #expect(unknown.outcome == .absent(isGone: false) && unknown.hasFile)
    }
  }

  @Test func whatIsGoneOrUnknownIsSaidAndTheLocalFileStays() async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    try files.write("a.tsml", bytes)
    try await withRepository("", files) { repository in
      let agent = try agent(repository.url, cache)
      #expect(try await agent.fetch(request(bob)).outcome == .absent(isGone: false))
      _ = try await agent.fetch(request())
      try FileManager.default.moveItem(
        atPath: "\(files.path)/a.tsml", toPath: "\(files.path)/a.tsml.gone")
      try await repository.reload()
      let gone = try await agent.fetch(request())
      #expect(gone.outcome == .absent(isGone: true) && gone.hasFile)
      try FileManager.default.removeItem(atPath: "\(files.path)/a.tsml.gone")
      try await repository.reload()
      #expect(try await agent.fetch(request()).outcome == .absent(isGone: false))
      #expect(cache.bytes("1/\(alice).xml") == bytes)
    }
  }

  @Test func aNewerLocalFileIsItsAuthorsOwn() async throws {
    try files.write("a.tsml", Signer.shop.sign(tokenScript(), at: 1_600_000_000))
    let own = Array("<not yet signed".utf8)
    let tomorrow = Int64(Date().timeIntervalSince1970) + 86_400
    try await withRepository("", files) { repository in
      for time in [1_600_000_001, tomorrow] {
        try cache.write("1/\(alice).xml", own, modified: time)
        let report = try await agent(repository.url, cache).fetch(request())
        #expect(report.outcome == .ownFile(repository: HTTPDate(1_600_000_000)) && report.hasFile)
        #expect(cache.bytes("1/\(alice).xml") == own)
      }
      try cache.touch("1/\(alice).xml", 1_599_999_999)
      _ = try await agent(repository.url, cache).fetch(request())
      #expect(cache.bytes("1/\(alice).xml") != own)
    }
  }

  @Test func eachSpellingAndNetworkHasItsFile() async throws {
    // Each network has another file, and what names no network is on the first.
    let spellings = [
      alice, "0x6B175474E89094C44Da98b954EedeAC495271d0F",
      "0x6B175474E89094C44DA98B954EEDEAC495271D0F",
    ]
    let farthest = try #require(ChainID(.max))
    let main = try Signer.shop.sign(tokenScript(network: nil), at: 1_600_000_000)
    let far = try Signer.shop.sign(tokenScript(network: "\(farthest)"), at: 1_650_000_000)
    try files.write("a.tsml", main)
    try files.write("b.tsml", far)
    try await withRepository("", files) { repository in
      let agent = try agent(repository.url + "//", cache)
      for spelling in spellings { _ = try await agent.fetch(request(spelling)) }
      _ = try await agent.fetch(request(network: farthest))
      let absent = try await agent.fetch(request(network: try #require(ChainID(2))))
      #expect(absent.outcome == .absent(isGone: false))
      let expected = spellings.map { "1/\($0).xml" } + ["9223372036854775807/\(alice).xml"]
      #expect(cache.files == expected.sorted())
      for name in expected {
        #expect(cache.bytes(name) == (name.hasPrefix("1/") ? main : far))
      }
    }
  }

  @Test(arguments: ["4", "one", "0"])
  func aFileForAnotherNetworkIsNotTaken(_ network: String) async throws {
    // A repository of 2018 doesn't look at the query.
    let bytes = try Signer.shop.sign(tokenScript(network: network), at: 1_600_000_000)
    let cache = cache
    try await withServer(ScriptedResponder { _, _ in .file(bytes) }) { url in
      let report = try await agent(url, cache).fetch(request())
      #expect(report.outcome == .invalid && report.attempts.last?.rejection?.code == .contract)
      #expect(cache.files.isEmpty)
    }
  }
}
