internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo
@testable import WalletClient

/// Tests of who stands for a contract: authorities, roles, and identifiers of IPFS.
@Suite(.ownThreads) struct StandingTests: ChainSuite, PublishingSuite {
  let fixture: RepositoryFixture
  private let delegates: Delegates
  private let contract: EthereumAddress
  private let owner: EthereumAddress

  init() throws {
    fixture = try RepositoryFixture()
    delegates = try Delegates.shared.get()
    contract = try #require(EthereumAddress(alice))
    owner = try #require(EthereumAddress(delegates.address("owner")))
  }

  private func text(_ note: String = "", on chains: [String] = ["1"]) -> String {
    tokenScript(
      "2020/06", contracts: [("Coin", chains.map { ($0, alice) })], origins: ["Coin"], note: note)
  }

  private func isIssuers(_ server: RepositoryServer) -> Bool {
    server.service.indexer.current.rows.contains { $0.standing == .issuer }
  }

  // MARK: Delegation

  @Test(arguments: [
    ("good", "owner"), ("forged", nil), ("expired", nil), ("compressed", nil), ("offcurve", nil),
    ("names", nil), ("digest", nil), ("nistpoint", nil), ("madeup", "other"),
    ("twostep", "middle"),
  ])
  func aCertificateProvesOneStep(_ name: String, _ authority: String?) throws {
    var reader = TokenScriptReader()
    reader.verifier = SignatureVerifier()
    let chain = name == "twostep" ? [name, "middle-by-owner"] : [name]
    let bytes = try delegates.sign(text(), with: chain, at: Self.now)
    let file = try reader.read(bytes, now: Timestamp(seconds: Self.now))
    #expect(file.signature == .passed)
    #expect(try file.signer?.key == delegates.address("author"))
    #expect(try file.signer?.authority == authority.map { try delegates.address($0) })
  }

  @Test func withinItsValidityAnExpiredOneHolds() throws {
    var reader = TokenScriptReader()
    reader.verifier = SignatureVerifier()
    let bytes = try delegates.sign(text(), with: ["expired"], at: 1_600_000_000)
    let now = Timestamp(seconds: Self.now)
    #expect(try reader.read(bytes, now: now).signer?.authority == owner.checksummed)
    // A signing time that is still to come is none.
    let later = try delegates.sign(text(), with: ["expired"], at: Self.now)
    let early = Timestamp(seconds: 1_600_000_000)
    #expect(try reader.read(later, now: early).signer?.authority == owner.checksummed)
  }

  @Test func theAuthorityCountsAsTheKey() async throws {
    try await withChain("trust = \"require\"\n[tokenscript.publish]\npolicy = \"known\"") {
      chain, server, ask in
      let stranger = try sign(.rival, at: Self.now - 100)
      chain.set(contract, .owner, Encoded.word(owner))
      try fixture.write("a.tsml", bytes: delegates.sign(text(), with: ["good"], at: Self.now - 50))
      try fixture.write(
        "forged.tsml", bytes: delegates.sign(text(), with: ["forged"], at: Self.now - 40))
      try await server.service.reload()
      _ = try await ask()
      let rows = server.service.indexer.current.rows
      #expect(rows.map(\.standing) == [.issuer, .unproven])
      let index = try await server.get("/?format=json").text
      #expect(
        index.contains("\"authority\":\"\(owner.checksummed)\"")
          && index.contains("\"authority\":null"))

      // It publishes and withdraws, and its files are one signer's.
      #expect(try await send(server, stranger).status == .forbidden)
      for name in ["forged", "madeup", "compressed", "offcurve", "twostep", "expired"] {
        // Even one whose certificate was valid when it says it was signed.
        let time = name == "expired" ? 1_600_000_000 : Self.now - 10
        let file = try delegates.sign(text(name), with: [name], at: time)
        #expect(try await send(server, file).status == .forbidden, "\(name)")
      }
      try fixture.remove("a.tsml")
      try fixture.remove("forged.tsml")
      try await server.service.reload()
      let first = try delegates.sign(text("1"), with: ["good"], at: Self.now - 30)
      #expect(try await send(server, first).status == .created)
      let own = try delegates.sign(text("2"), with: [], as: "owner", at: Self.now - 20)
      #expect(try await send(server, own).status == .ok)
      #expect(
        try await send(server, delegates.sign(text("3"), with: ["good"], at: Self.now - 25)).status
          == .conflict)
      let third = try delegates.sign(text("4"), with: ["good"], at: Self.now - 5)
      #expect(try await send(server, third).status == .ok)
      for path in [
        "", "?signer=\(owner.checksummed)", "?signer=\(try delegates.address("author"))",
      ] {
        #expect(try await server.get(Self.place + path).bytes == third)
      }
      for (signer, status) in [("other", Status.forbidden), ("owner", .ok)] {
        let time = "2023-11-14T22:13:20Z"
        let message = Withdrawal.message(
          url: "https://repo.example" + Self.place, digest: SHA256.hash(third), time: time)
        let statement = Withdrawal(
          time: time, signature: try delegates.key(signer).sign(message: message))
        let response = try await server.get(
          Self.place, ["Authorization": statement.fieldValue], method: .delete)
        #expect(response.status == status)
      }
      #expect(try await server.get(Self.place).status == .gone)
    }
  }

  @Test func filesOfOneAuthorityAreOneSigners() async throws {
    try fixture.write("a.tsml", bytes: delegates.sign(text("1"), with: ["good"], at: 1_600_000_000))
    let newest = try delegates.sign(text("2"), with: [], as: "owner", at: 1_600_000_100)
    try fixture.write("b.tsml", bytes: newest)
    let server = try await fixture.server()
    #expect(try await server.get("/\(alice)").bytes == newest)
    #expect(
      server.service.indexer.current.rows.map(\.state.words) == ["shadowed by b.tsml", "served"])
  }

  // MARK: Roles

  @Test(arguments: [0, 1]) func aRoleStandsForTheContract(_ role: Int) async throws {
    try fixture.write("a.tsml", bytes: delegates.sign(text(), with: ["good"], at: 1_600_000_000))
    try await withChain { chain, server, ask in
      // That there is no owner doesn't matter.
      chain.set(contract, FunctionCall.hasRoles(owner)[role], Encoded.word(1))
      _ = try await ask()
      #expect(isIssuers(server))
      #expect(try await server.get("/contracts/1/\(alice)").text.contains(owner.checksummed))
    }
  }

  private static let otherWords: [[UInt8]] = [
    Encoded.word(0), Encoded.word(2), Encoded.word(1) + [0], Array(Encoded.word(1).dropFirst()),
    Encoded.word(1) + Encoded.word(1), [0x80] + Array(Encoded.word(1).dropFirst()),
    [1] + [UInt8](repeating: 0, count: 31),
  ]

  @Test(arguments: otherWords)
  func anyOtherWordThanOneIsNo(_ word: [UInt8]) async throws {
    try fixture.write("a.tsml", bytes: delegates.sign(text(), with: ["good"], at: 1_600_000_000))
    try await withChain { chain, server, ask in
      for call in FunctionCall.hasRoles(owner) { chain.set(contract, call, word) }
      _ = try await ask()
      #expect(!isIssuers(server))
    }
  }

  @Test func sixteenKeysAreAskedFor() async throws {
    for number in 0..<20 {
      let signer = Signer(.secp256k1, "x", isBare: true)
      try fixture.write("\(number).tsml", bytes: signer.sign(text("\(number)"), at: 1_600_000_000))
    }
    try await withChain { chain, server, ask in
      _ = try await ask()
      let roles = chain.batches.filter { $0.contains("0x91d14854") }
      #expect(roles.map(\.count) == [32])
      #expect(server.service.scheduler.answers.value.byOrigin.values.first?.roles.count == 16)
    }
  }

  /// Holders of a role are refused until the chain has been asked, and then accepted.
  @Test func aRefusedKeyIsAskedFor() async throws {
    try fixture.write("a.tsml", bytes: Signer.rival.sign(text(), at: 1_600_000_000))
    try await withChain("[tokenscript.publish]\npolicy = \"known\"") { chain, server, ask in
      chain.set(contract, FunctionCall.hasRoles(owner)[1], Encoded.word(1))
      _ = try await ask()
      let running = Task { try await server.service.run() }
      defer { running.cancel() }
      let file = try delegates.sign(text("2"), with: ["good"], at: Self.now - 1)
      let refused = try await send(server, file)
      #expect(refused.status == .forbidden && refused[.retryAfter] == "5")
      try await waitUntil {
        server.service.indexer.current.rules.answers.values.contains { $0.roles[owner] == true }
      }
      #expect(try await send(server, file).status == .created)
      let stranger = try await send(server, sign(.issuer, at: Self.now))
      #expect(stranger.status == .forbidden && stranger[.retryAfter] == "5")
      try await waitUntil { chain.batches.flatMap(\.self).filter { $0 == "0x91d14854" }.count >= 8 }
      try await waitUntil {
        server.service.indexer.current.rules.answers.values.contains { $0.roles.count == 3 }
      }
      #expect(try await send(server, sign(.issuer, at: Self.now))[.retryAfter] == nil)
    }
  }

  // MARK: Identifiers of IPFS

  @Test(arguments: [0, 1, 2]) func theContractNamesTheBytes(_ version: Int) async throws {
    let bytes = try sign(.rival, at: 1_600_000_000)
    try fixture.write("a.tsml", bytes: bytes)
    let identifier = ContentIdentifiers.all(of: bytes)[version]
    let forms = [
      "ipfs://\(identifier)": true, "ipfs://ipfs/\(identifier)": true,
      "https://gateway.example/ipfs/\(identifier)": true, "ipfs://\(identifier)/a.tsml": false,
      "https://gateway.example/ipfs/\(identifier)?x": true,
      "https://gateway.example/ipfs/\(identifier)/?x": false, "ipfs://\(identifier)x": false,
      "https://gateway.example/x": false,
    ]
    try await withChain("trust = \"require\"") { chain, server, ask in
      for (form, isNamed) in forms {
        chain.set(contract, .scriptURI, Encoded.strings([form]))
        _ = try await ask()
        #expect(isIssuers(server) == isNamed, "\(form)")
        #expect(try await server.get("/\(alice)").status == (isNamed ? .ok : .notFound))
      }
      // A registry's entry proves nothing.
      chain.set(contract, .scriptURI, Encoded.strings([]))
      chain.set(
        TestChain.registry, .scriptData(of: contract),
        Encoded.entries([.init(place: "ipfs://\(identifier)", isAuthenticated: 1)]))
      _ = try await ask()
      #expect(!isIssuers(server))
    }
  }

  @Test func namedBytesNeedASignatureAllTheSame() async throws {
    try fixture.write("a.tsml", text())
    let identifier = ContentIdentifiers.all(of: Array(text().utf8))[0]
    try await withChain { chain, server, ask in
      chain.set(contract, .scriptURI, Encoded.strings(["ipfs://\(identifier)"]))
      _ = try await ask()
      #expect(try await server.get("/\(alice)").status == .notFound)
      let index = try await server.get("/?format=json").text
      #expect(index.contains("\"cids\":[\"\(identifier)\""))
    }
  }

  @Test func validatingTellsWhy() async throws {
    let bytes = try sign(.rival, at: 1_600_000_000)
    try fixture.write("a.tsml", bytes: bytes)
    try await withChain { chain, server, ask in
      chain.set(
        contract, .scriptURI, Encoded.strings(["ipfs://\(ContentIdentifiers.all(of: bytes)[1])"]))
      _ = try await ask()
      let body = """
        {"sourceType":"scriptUri","sourceId":"1-\(alice)","base64Xml":"\(Data(bytes).base64EncodedString())"}
        """
      let head = try RequestHead(
        method: .post, path: "/tokenscript/validate", authority: "repo.example",
        fields: [("Content-Type", "application/json")])
      let response = await server.table.respond(
        to: Request(head: head, body: Array(body.utf8), origin: RequestOrigin(peer: "127.0.0.1")))
      #expect(
        response.text.contains("set by the contract owner: the IPFS CID matches the scriptURI"))
      #expect(response.text.contains("\"status\":\"pass\""))
    }
  }

  // MARK: Canary

  /// Nothing that a stranger names is fetched.
  @Test func whatStrangersNameIsNotFetched() async throws {
    let caught = Lock(0)
    let trap = Endpoint { _ in
      caught.withLock { $0 += 1 }
      return "[]"
    }
    try await withStandIn(trap) { url in
      let meta = ["iconUrl", "imageUrl", "aboutUrl"].map { "<ts:\($0)>\(url)</ts:\($0)>" }.joined()
      let file = text().replacing(
        "tokenscript\">",
        with: "tokenscript\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
          + "xsi:schemaLocation=\"\(url) \(url)/x.xsd\"><ts:meta>\(meta)</ts:meta>")
      let bytes = try delegates.sign(file, with: ["good"], at: Self.now - 100)
      try fixture.write("a.tsml", bytes: bytes)
      try await withChain(
        "[tokenscript.publish]\npolicy = \"open\"\n[tokenscript.preview]\npolicy = \"open\""
      ) { chain, server, ask in
        chain.set(contract, .owner, Encoded.word(owner))
        chain.set(contract, .scriptURI, Encoded.strings(["\(url)/own", "\(url)/ipfs/Qm1"]))
        chain.set(
          TestChain.registry, .scriptData(of: contract),
          Encoded.entries([
            .init(icon: url, place: url), .init(token: 2, place: url, isAuthenticated: 1),
          ]))
        _ = try await ask()
        for path in [
          "/tokenscript/\(alice)/chain/1/script-info", "/tokenscript/\(alice)/chain/1/script-uri",
          "/token-view/1/\(alice)", "/token-view/1/\(alice)/script-uri", "/contracts/1/\(alice)",
          "/",
        ] {
          let response = try await server.get(path, ["X-Stl-Key": url, "Referer": url])
          #expect(response.status == .ok, "\(path)")
        }
        #expect(
          try await send(server, delegates.sign(file, with: ["good"], at: Self.now)).status.code
            < 300)
        for (path, body) in [
          ("/preview", bytes),
          (
            "/tokenscript/validate",
            Array(
              "{\"sourceType\":\"scriptUri\",\"sourceId\":\"1-\(alice)\",\"sourceUrl\":\"\(url)\"}"
                .utf8)
          ),
        ] {
          let head = try RequestHead(
            method: .post, path: path, authority: "repo.example", fields: [])
          _ = await server.table.respond(
            to: Request(head: head, body: body, origin: RequestOrigin(peer: "127.0.0.1")))
        }
        try await Task.sleep(for: .milliseconds(100))
        #expect(caught.withLock { $0 } == 0)
      }
    }
  }
}
