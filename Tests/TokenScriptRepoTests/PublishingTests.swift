internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of publishing over HTTP.
@Suite(.ownThreads) struct PublishingTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  @Test func aFileIsServedWhenItsPublicationIsAnswered() async throws {
    let server = try await server()
    let first = try sign()
    let response = try await send(server, first)
    #expect(response.status == .created)
    let row = try row(response)
    let key = try Signer.shop.identifier()
    #expect(row.path == "published/\(key)/2020-06/1-\(alice).tsml" && row.state == "served")
    #expect(row.warnings.isEmpty)
    #expect(response[.entityTag] == "\"\(SHA256.hash(first).hex)\"")
    #expect(response[.lastModified] == HTTPDate(Self.now).text)
    #expect(try await server.get("/\(alice)").bytes == first)
    // The same bytes change nothing, a newer file replaces the old one.
    #expect(try await send(server, first).status == .ok)
    let second = try sign(at: Self.now + 1)
    #expect(try await send(server, second, to: "/2020/06/\(alice)").status == .ok)
    #expect(try await server.get(Self.place).bytes == second)
    // An old one doesn't come back, nor one of the same time.
    for old in [first, try sign(at: Self.now + 1, "other")] {
      let response = try await send(server, old)
      #expect(response.status == .conflict)
      #expect(try refusal(response).error.contains("no later than"))
    }
    let again = try await self.server()
    #expect(try await again.get(Self.place).bytes == second)
    #expect(again.service.indexer.current.files.count == 1)
  }

  @Test func withoutAPolicyNothingIsTaken() async throws {
    let server = try await fixture.server()
    for response in [
      try await send(server, sign()), try await server.get(Self.place, method: .delete),
    ] {
      #expect(response.status == .methodNotAllowed)
      #expect(response[.allow] == "GET, HEAD, OPTIONS")
    }
    let other = try await server.get("/tokenscript/validate", method: .put)
    #expect(other[.allow] == "OPTIONS, POST")
  }

  @Test(arguments: ["known", "open"])
  func strangersAreRefused(_ policy: String) async throws {
    let present = try sign()
    try fixture.write("a.tsml", bytes: present)
    let server = try await server(policy)
    let response = try await send(server, sign(.rival, at: Self.now + 5))
    #expect(response.status == .forbidden)
    let refusal = try refusal(response)
    #expect(refusal.signer == (try Signer.rival.identifier()))
    #expect(refusal.known == [try Signer.shop.identifier()])
    // A certificate with the shop's name is no key of the shop's.
    #expect(try await send(server, sign(.impostor, at: Self.now + 5)).status == .forbidden)
    #expect(try await server.get(Self.place).bytes == present)
    // The signer of what is served may replace it, here and in another version.
    let newer = try sign(at: Self.now + 5)
    #expect(try await send(server, newer).status == .ok)
    #expect(try await server.get(Self.place).bytes == newer)
    let version = try sign(schema: "2024/01")
    #expect(try await send(server, version, to: "/2024/01/\(alice)").status == .created)
  }

  @Test func aContractWithoutAFileIsForItsDeployerOrForAnybody() async throws {
    let key = try Signer.issuer.identifier()
    let deployers = "[tokenscript.deployers]\n\"\(alice)\" = \"\(key)\""
    let known = try await server("known")
    let response = try await send(known, sign())
    #expect(response.status == .forbidden)
    #expect(try refusal(response).known == [])
    for policy in ["known", "open"] {
      let server = try await server(policy, deployers)
      let refused = try await send(server, sign())
      #expect(refused.status == .forbidden)
      #expect(try refusal(refused).known == [key])
      let bytes = try sign(.issuer, at: Self.now + (policy == "open" ? 1 : 0))
      #expect(try await send(server, bytes).status.code < 300)
    }
  }

  @Test func everyOriginOfTheFileCounts() async throws {
    try fixture.write("a.tsml", bytes: try sign(.rival, on: ["5"]))
    let server = try await server()
    // The rival's contract is on another chain.
    let response = try await send(server, sign(on: ["1", "5"]))
    #expect(response.status == .forbidden)
    #expect(try refusal(response).known == [try Signer.rival.identifier()])
    #expect(try await send(server, sign()).status == .created)
  }

  @Test func thePlaceMustBeTheFiles() async throws {
    let server = try await server()
    let file = try sign(on: ["1", "5"])
    for path in [
      "/2020/03/chain/1/\(alice)", "/2020/06/chain/1/\(bob)", "/2020/06/chain/7/\(alice)",
      "/2020/06/\(alice)", "/2020/06/\(alice)?chain=7",
    ] {
      let response = try await send(server, file, to: path)
      #expect(response.status == .badRequest, "\(path)")
      #expect(try !refusal(response).error.isEmpty)
    }
    for path in ["/2020/06/chain/0/\(alice)", "/2020/06/chain/../\(alice)", "/2020/06/0x..%2f"] {
      #expect([400, 404].contains(try await send(server, file, to: path).status.code), "\(path)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).isEmpty)
    #expect(try await send(server, file, to: "/2020/06/\(alice)?chain=5").status == .created)
    #expect(try await server.get("/2020/06/chain/1/\(alice)").bytes == file)
  }

  @Test func theSignatureAndItsTimeAreChecked() async throws {
    let server = try await server("open", "signature = \"off\"\ntrust = \"off\"")
    let signed = String(decoding: try sign(), as: UTF8.self)
    for text in [
      "", "<x/>", String(signed.dropLast(100)), signed.replacing("Coin", with: "Coyn"),
      tokenScript("2020/06", for: alice),
    ] {
      #expect(try await send(server, Array(text.utf8)).status == .badRequest)
    }
    let early = try await send(server, sign(at: Self.now + 301))
    #expect(early.status == .badRequest)
    #expect(try refusal(early).error.contains("signed in the future"))
    let file = try sign()
    #expect(try await send(server, file).status == .created)
    #expect(try await send(server, file).status == .ok)
    #expect(try await send(server, sign(at: Self.now + 300)).status == .ok)
    #expect(try await send(server, sign(.rival, at: Self.now + 300)).status == .forbidden)
  }

  @Test func whatTheOperatorRequiresIsRequired() async throws {
    let server = try await server("open", "trust = \"require\"")
    let response = try await send(server, sign())
    #expect(response.status == .badRequest)
    #expect(try refusal(response).error.contains("not trusted"))
  }

  @Test func ofTwoAtOnceTheNewerStays() async throws {
    let server = try await server()
    let files = try (1...6).map { try sign(at: Self.now + $0 * 10) }
    let statuses = try await withThrowingTaskGroup(of: UInt16.self) { group in
      for file in files {
        group.addTask { try await self.send(server, file).status.code }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.count { $0 == 201 } == 1)
    #expect(statuses.allSatisfy { [200, 201, 409].contains($0) })
    #expect(try await server.get(Self.place).bytes == files[5])
  }

  /// The folder is the operator's, and a server may have no right to write to it.
  @Test func noRequestWritesToTheFolder() async throws {
    let operators = try sign()
    try fixture.write("a.tsml", bytes: operators)
    let server = try await server("known")
    let newer = try sign(at: Self.now + 5)
    #expect(try await send(server, newer).status == .ok)
    #expect(try await server.get(Self.place).bytes == newer)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["a.tsml"])
    try await server.service.reload()
    #expect(try await server.get(Self.place).bytes == newer)
  }

  @Test func aKeyHasAQuota() async throws {
    let key = try Signer.shop.identifier()
    let server = try await server()
    for number in 1...PublicationQuota.single.files {
      let text = tokenScript(
        "2020/06", contracts: [("Coin", [("\(number)", bob)])], origins: ["Coin"])
      let published = try await send(
        server, Signer.shop.sign(text, at: Self.now), to: "/2020/06/chain/\(number)/\(bob)",
        from: "2001:db8:\(number)::1")
      #expect(published.status == .created)
    }
    let response = try await send(server, sign())
    #expect(response.status.code == 507)
    #expect(try refusal(response).signer == key)
    // The place of a file that is there isn't counted twice.
    let text = tokenScript("2020/06", contracts: [("Coin", [("7", bob)])], origins: ["Coin"])
    let newer = try Signer.shop.sign(text, at: Self.now + 1)
    #expect(try await send(server, newer, to: "/2020/06/chain/7/\(bob)").status == .ok)
    #expect(try await send(server, sign(.rival)).status == .created)
  }

  /// Keys are free, networks are not.
  @Test func aNetworkIsChargedWithItsContracts() async throws {
    let server = try await server()
    func publish(_ number: Int, from peer: String) async throws -> Response {
      let chains = (0..<32).map { "\(number * 32 + $0 + 1)" }
      let signer = Signer(.secp256k1, "key", isBare: true)
      return try await send(
        server, sign(signer, on: chains), to: "/2020/06/chain/\(chains[0])/\(alice)", from: peer)
    }
    for number in 0..<8 {
      #expect(try await publish(number, from: "2001:db8:1:\(number)::1").status == .created)
    }
    let refused = try await publish(8, from: "2001:db8:1:9::1")
    #expect(refused.status.code == 507)
    #expect(try refusal(refused).error.contains("a network"))
    #expect(try await publish(8, from: "2001:db8:2::1").status == .created)
  }

  /// Owners find room in a repository that strangers have filled, and can replace their own files.
  @Test func roomIsKeptForOwners() async throws {
    let store = try await fixture.store()
    let owner = try Signer.issuer.identifier()
    let toml = "[tokenscript.deployers]\n\"\(bob)\" = \"\(owner)\""
    let server = try await fixture.server(
      "\(toml)\n[tokenscript.publish]\npolicy = \"open\"", store: store,
      publicURL: "https://repo.example")
    #expect(try await send(server, sign()).status == .created)
    func fill(issuer: Int) async throws {
      try await store.write { transaction in
        try transaction.execute(
          """
          INSERT INTO tokenscript_published
            SELECT 'filler', '2020/06', contract, 1000 + ?, sha256, 1, 1, 1, 0, 'network', ?, ?, 1,
              content FROM tokenscript_published WHERE chain = 1 LIMIT 1
          """, issuer, issuer, issuer == 0 ? 7500 : 2500)
      }
    }
    try await fill(issuer: 0)
    #expect(
      try await send(server, sign(.rival, on: ["5"]), to: "/2020/06/chain/5/\(alice)").status.code
        == 507)
    let larger = try sign(at: Self.now + 1, String(repeating: "x", count: 1000))
    #expect(try await send(server, larger).status == .ok)
    let text = tokenScript("2020/06", for: bob)
    let bobs = "/2020/06/chain/1/\(bob)"
    #expect(
      try await send(server, Signer.issuer.sign(text, at: Self.now), to: bobs).status == .created)
    try await fill(issuer: 1)
    #expect(
      try await send(server, Signer.issuer.sign(text, at: Self.now + 1), to: bobs).status == .ok)
  }

  @Test func anAddressPublishesThirtyTimesAnHour() async throws {
    let server = try await server()
    for number in 0..<30 {
      #expect(try await send(server, sign(at: Self.now + Int64(number))).status.code < 300)
    }
    let last = try sign(at: Self.now + 30)
    let response = try await send(server, last)
    #expect(response.status == .tooManyRequests && response[.retryAfter] != nil)
    #expect(try await send(server, last, from: "192.0.2.2").status == .ok)
  }

  @Test func aFileHasFewOrigins() async throws {
    let many = (1...33).map(String.init)
    let response = try await send(try await server(), sign(on: many))
    #expect(response.status == .badRequest)
    #expect(try refusal(response).error.contains("32"))
    #expect(try await send(try await server(), sign(on: Array(many[..<32]))).status == .created)
  }

  /// A publication costs one file, and leaves no trace in the store besides its reading.
  @Test func noOtherFileIsReadForAPublication() async throws {
    let before = tokenScript(for: bob, note: "1")
    try fixture.write("other.tsml", bytes: Signer.rival.sign(before, at: 1))
    let store = try await fixture.store()
    let server = try await fixture.server(
      "[tokenscript.publish]\npolicy = \"open\"", store: store, publicURL: "https://repo.example")
    let old = try await server.get("/\(bob)").bytes
    try fixture.write("other.tsml", bytes: Signer.rival.sign(before + " ", at: 2))
    for number in 0..<3 {
      let file = try sign(at: Self.now - 3 + Int64(number))
      #expect(try await send(server, file).status.code < 300)
      #expect(try await server.get(Self.place).bytes == file)
      #expect(try await server.get("/\(bob)").bytes == old)
    }
    try await server.service.reload()
    #expect(try await server.get("/\(bob)").bytes != old)
    let rows = try await store.read { snapshot in
      var counts: [Int] = []
      try snapshot.forEach("SELECT count(*) FROM tokenscript_files") { counts.append(try $0[0]) }
      try snapshot.forEach("SELECT count(*) FROM tokenscript_sightings") {
        counts.append(try $0[0])
      }
      return counts
    }
    // Of the other file both versions were seen.
    #expect(rows == [2, 2])
  }

  @Test func aBrowserOfAnotherOriginMayPublish() async throws {
    let preflight = try await server().get(Self.place, method: .options)
    #expect(preflight[.accessControlAllowMethods]?.contains("PUT, DELETE") == true)
    #expect(preflight[.accessControlAllowHeaders]?.contains("Authorization") == true)
    #expect(preflight[.allow]?.contains("PUT") == true)
  }
}
