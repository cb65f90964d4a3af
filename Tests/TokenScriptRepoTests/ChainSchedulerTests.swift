internal import Ethereum
internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Answers `owner()` and `scriptURI()` of every contract.
private func words(
  owner: EthereumAddress?, scripts: [String]
) -> @Sendable ([[String: Any]]) -> String {
  { calls in
    let answers = calls.map { call in
      let id = call["id"] as? Int ?? -1
      let data = ((call["params"] as? [Any])?.first as? [String: String])?["data"] ?? ""
      let result =
        data == "0x8da5cb5b"
        ? owner.map { String(repeating: "0", count: 24) + $0.hex } ?? ""
        : Hex.encode(Array(FunctionCall.setScriptURI(scripts).data.dropFirst(4)))
      return #"{"jsonrpc":"2.0","id":\#(id),"result":"0x\#(result)"}"#
    }
    return "[\(answers.joined(separator: ","))]"
  }
}

/// Tests of the proof by the chain, with a stand-in for the endpoint.
@Suite(.ownThreads) struct ChainSchedulerTests: ChainSuite {
  let fixture: RepositoryFixture
  private let owner: EthereumAddress

  init() throws {
    fixture = try RepositoryFixture()
    owner = try #require(EthereumAddress(Signer.issuer.identifier()))
    try fixture.write(
      "Coin.tsml", bytes: Signer.issuer.sign(tokenScript(for: alice), at: 1_600_000_000))
  }

  @Test func whatTheEndpointFailsToTellStays() throws {
    let time = Timestamp(seconds: 1)
    let data = ReturnData([UInt8](repeating: 0, count: 12) + owner.bytes)
    let last = ChainAnswer(owner: nil, name: "Coin", scripts: ["a:1"], time: time)
    let later = Timestamp(seconds: 2)
    #expect(
      ChainAnswer([.returned(data), .failed("x"), .failed("y")], after: last, time: later)
        == ChainAnswer(owner: owner, name: "Coin", scripts: ["a:1"], time: later))
    #expect(
      ChainAnswer([.none, .none, .failed("y")], after: nil, time: later)
        == ChainAnswer(owner: nil, scripts: [], time: later))
    #expect(ChainAnswer([.failed("x"), .returned(data), .none], after: last, time: later) == nil)
  }

  @Test func aContractsPlacesAreBounded() {
    let place = "https://x/" + String(repeating: "x", count: 4000)
    let word = ChainAnswer(
      owner: nil, scripts: [place, place, place, "a:1"], registered: [],
      time: Timestamp(seconds: 1))
    #expect(word.scripts == [place, place, "a:1"])
  }

  private func scripts(_ server: RepositoryServer) async throws -> String {
    try await server.get("/tokenscript/\(alice)/chain/1/script-uri").text
  }

  @Test func theOwnersKeyIsTheIssuers() async throws {
    let endpoint = Endpoint(words(owner: owner, scripts: ["ipfs://abc"]))
    try await withAnswers(endpoint, "trust = \"require\"") { server, ask in
      #expect(try await server.get("/\(alice)").status == .notFound)
      #expect(try await ask())
      #expect(try await server.get("/\(alice)").status == .ok)
      #expect(server.service.indexer.current.rows[0].standing == .issuer)
      #expect(try await scripts(server).contains(#""erc5169":["ipfs://abc"]"#))
      let page = try await server.get("/contracts/1/\(alice)").text
      #expect(page.contains(owner.checksummed) && page.contains("<code>ipfs://abc</code>"))
      // The same word again is no change.
      #expect(try await !ask())
      // A contract that was sold has another issuer.
      endpoint.change(words(owner: nil, scripts: []))
      #expect(try await ask())
      #expect(try await server.get("/\(alice)").status == .notFound)
    }
  }

  private static let failures: [@Sendable ([[String: Any]]) -> String] = [
    { _ in "" }, { _ in "no JSON" }, { _ in "[]" },
    { _ in String(repeating: " ", count: 300 << 10) },
    { _ in #"[{"id":0,"error":{"code":-32000,"message":"busy"}},{"id":1,"result":"0x"}]"# },
  ]

  @Test(arguments: failures.indices)
  func aFailingEndpointLeavesTheLastWord(_ index: Int) async throws {
    let endpoint = Endpoint(words(owner: owner, scripts: ["https://x.example"]))
    let store = try await fixture.store()
    try await withAnswers(endpoint) { server, ask in
      #expect(try await ask())
      fixture.time.withLock { $0 += 7200 }
      endpoint.change(Self.failures[index])
      #expect(try await !ask())
      let word = try #require(server.service.scheduler.answers.value.byOrigin.values.first)
      #expect(word.owner == owner && word.time == Timestamp(seconds: 1_700_000_000))
      #expect(server.service.indexer.current.rows[0].standing == .issuer)
    }
    // The word outlasts a restart.
    let stored = try await ContractStore(store).chainAnswers(on: [.main])
    #expect(stored.answers.values.map(\.scripts) == [["https://x.example"]])
  }

  @Test func aRevertIsAWord() async throws {
    let endpoint = Endpoint(words(owner: owner, scripts: ["https://x.example"]))
    try await withAnswers(endpoint) { server, ask in
      #expect(try await ask())
      endpoint.change { _ in
        #"[{"id":0,"error":{"code":3,"message":"execution reverted"}},{"id":1,"result":"0x"}]"#
      }
      #expect(try await ask())
      let text = try await scripts(server)
      #expect(text.contains(#""erc5169":[]"#))
    }
  }

  @Test func whatIsNoURIIsNotTold() async throws {
    let hostile = ["javascript:alert(1)\"><script>", "no scheme", "https://x\n", "ok:1"]
    try await withAnswers(Endpoint(words(owner: nil, scripts: hostile))) { server, ask in
      #expect(try await ask())
      let page = try await server.get("/contracts/1/\(alice)").text
      #expect(!page.contains("<script") && page.contains("ok:1") && !page.contains("no scheme"))
    }
  }

  @Test func theOwnerMayPublish() async throws {
    try await withAnswers(
      Endpoint(words(owner: owner, scripts: [])), "[tokenscript.publish]\npolicy = \"known\""
    ) { server, ask in
      try fixture.remove("Coin.tsml")
      try fixture.write(
        "Coin.tsml", bytes: Signer.rival.sign(tokenScript(for: alice), at: 1_600_000_000))
      try await server.service.reload()
      #expect(try await ask())
      let head = try RequestHead(
        method: .put, path: "/2019/05/\(alice)", authority: "repo.example", fields: [])
      let bytes = try Signer.issuer.sign(tokenScript(for: alice), at: 1_600_000_001)
      let response = await server.table.respond(
        to: Request(head: head, body: bytes, origin: RequestOrigin(peer: "192.0.2.1")))
      #expect(response.status == .created)
    }
  }

  /// An owner whom the chain was not asked for is refused, and may publish as soon as the chain has told.
  @Test func theChainIsAskedAtOnceForWhoPublishes() async throws {
    try fixture.remove("Coin.tsml")
    try await withAnswers(
      Endpoint(words(owner: owner, scripts: ["ipfs://abc"])),
      "[tokenscript.publish]\npolicy = \"known\""
    ) { server, _ in
      let running = Task { try await server.service.run() }
      defer { running.cancel() }
      func put(_ signer: Signer, at time: Int64, from peer: String) async throws -> Response {
        let head = try RequestHead(
          method: .put, path: "/2019/05/\(alice)", authority: "repo.example", fields: [])
        let bytes = try signer.sign(tokenScript(for: alice), at: time)
        return await server.table.respond(
          to: Request(head: head, body: bytes, origin: RequestOrigin(peer: peer)))
      }
      let first = try await put(.issuer, at: 1_600_000_001, from: "192.0.2.1")
      #expect(first.status == .forbidden && first[.retryAfter] == "5")
      #expect(first.text.contains("is being queried"))
      try await waitUntil {
        server.service.indexer.current.rules.answers.values.contains { $0.owner == owner }
      }
      #expect(try await put(.issuer, at: 1_600_000_001, from: "192.0.2.1").status == .created)
      let stranger = try await put(.rival, at: 1_600_000_002, from: "192.0.2.1")
      #expect(stranger.status == .forbidden && stranger[.retryAfter] == nil)
    }
  }

  /// Nobody makes the server ask without end: questions count as publications.
  @Test func questionsAreCounted() async throws {
    let asked = Lock(0)
    let none = words(owner: nil, scripts: [])
    let endpoint = Endpoint { calls in
      if calls.count == 3 { asked.withLock { $0 += 1 } }
      return none(calls)
    }
    try fixture.remove("Coin.tsml")
    try await withAnswers(endpoint, "[tokenscript.publish]\npolicy = \"known\"") { server, _ in
      let running = Task { try await server.service.run() }
      defer { running.cancel() }
      var told = 0
      for number in 1...35 {
        let contract = "0x" + String(repeating: "0", count: 37) + "\(100 + number)"
        let head = try RequestHead(
          method: .put, path: "/2019/05/\(contract)", authority: "repo.example", fields: [])
        let bytes = try Signer.rival.sign(tokenScript(for: contract), at: 1_600_000_000)
        let response = await server.table.respond(
          to: Request(head: head, body: bytes, origin: RequestOrigin(peer: "192.0.2.1")))
        #expect(response.status == .forbidden)
        if response[.retryAfter] != nil { told += 1 }
      }
      #expect(told == 30)
      try await waitUntil { asked.withLock { $0 } == 30 }
    }
  }

  /// A contract may make calls fail, but not the questions about others.
  @Test func oneContractsAnswerIsNotAnothers() async throws {
    for number in 1...20 {
      let contract = "0x" + String(repeating: "0", count: 38) + "\(10 + number)"
      try fixture.write(
        "\(number).tsml", bytes: Signer.rival.sign(tokenScript(for: contract), at: 1_600_000_000))
    }
    let good = words(owner: owner, scripts: [])
    let endpoint = Endpoint { calls in
      let to = ((calls.first?["params"] as? [Any])?.first as? [String: String])?["to"] ?? ""
      return to == alice ? good(calls) : String(repeating: " ", count: 300 << 10)
    }
    try await withAnswers(endpoint) { server, ask in
      let hasChanged = try await ask()
      #expect(hasChanged)
      #expect(server.service.scheduler.answers.value.byOrigin.values.compactMap(\.owner) == [owner])
    }
  }

  /// An endpoint that fails is left alone until the next hour.
  @Test func aDeadEndpointIsLeftAlone() async throws {
    for number in 1...40 {
      let contract = "0x" + String(repeating: "0", count: 38) + "\(10 + number)"
      try fixture.write(
        "\(number).tsml", bytes: Signer.rival.sign(tokenScript(for: contract), at: 1_600_000_000))
    }
    let asked = Lock(0)
    let endpoint = Endpoint(status: .serviceUnavailable) { _ in
      asked.withLock { $0 += 1 }
      return ""
    }
    try await withAnswers(endpoint) { _, ask in
      let hasChanged = try await ask()
      #expect(!hasChanged)
      #expect((8..<16).contains(asked.withLock { $0 }))
    }
  }

  @Test func aSlowEndpointHoldsUpNoRequest() async throws {
    let gate = DispatchSemaphore(value: 0)
    let answer = words(owner: owner, scripts: [])
    let endpoint = Endpoint { calls in
      gate.wait()
      return answer(calls)
    }
    try await withAnswers(endpoint) { server, ask in
      async let hasChanged = ask()
      #expect(try await server.get("/\(alice)").status == .ok)
      let text = try await scripts(server)
      #expect(text.contains(#""erc5169":[]"#))
      // For each request about the contract.
      for _ in 0..<4 { gate.signal() }
      #expect(try await hasChanged)
    }
  }

  @Test(arguments: [
    "1 = \"ftp://x\"", "0 = \"https://x\"", "x = \"https://x\"", "1 = { url = \"\" }",
    "1 = { url = \"https://x\", registry = \"0x12\" }", "1 = { url = \"https://x\", other = 1 }",
    "1 = 7",
  ])
  func aWrongEndpointIsRejected(_ toml: String) throws {
    let section = try fixture.section("[tokenscript.chains]\n\(toml)")
    _ = TokenScriptConfiguration(section)
    #expect(throws: (any Error).self) { try section.finish() }
  }

  @Test func endpointsOfAllServicesAreRead() throws {
    let section = try fixture.section(
      "[chains]\n1 = \"https://x\"\n[tokenscript.chains]\n5 = \"https://y\"")
    let chains = TokenScriptConfiguration(section).chains
    try section.finish()
    #expect(chains[.main]?.url == "https://x" && chains.count == 2)
  }

  @Test func aChainInBothTablesIsRejected() throws {
    let section = try fixture.section(
      "[chains]\n5 = \"https://x\"\n[tokenscript.chains]\n5 = \"https://y\"")
    _ = TokenScriptConfiguration(section)
    #expect(throws: (any Error).self) { try section.finish() }
  }

  @Test func anEndpointMayHaveARegistry() throws {
    let section = try fixture.section(
      "[tokenscript.chains]\n5 = { url = \"https://x\", registry = \"\(bob)\" }")
    let chains = TokenScriptConfiguration(section).chains
    try section.finish()
    let chain = try #require(ChainID(5))
    let endpoint = try #require(chains[chain])
    #expect(endpoint.registry == EthereumAddress(bob))
  }

  @Test func withoutAWordItIsTheOneInUse() throws {
    let section = try fixture.section(
      "[tokenscript.chains]\n1 = \"https://x\"\n5 = { url = \"https://x\", registry = \"off\" }")
    let chains = TokenScriptConfiguration(section).chains
    try section.finish()
    let inUse = EthereumAddress("0x0077380bCDb2717C9640e892B9d5Ee02Bb5e0682")
    let other = try #require(ChainID(5))
    #expect(inUse != nil && chains[.main]?.registry == inUse)
    #expect(chains[other] != nil && chains[other]?.registry == nil)
  }
}
