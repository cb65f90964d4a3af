internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import Platform
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of previews.
@Suite(.ownThreads) struct PreviewsTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  private struct Answer: Decodable {
    struct Contract: Decodable, Equatable {
      let chain: Int
      let address: String
    }
    let url, expires, sha256: String
    let signer: String?
    let contracts: [Contract]
    let warnings: [String]
  }

  private func server(
    _ policy: String, publicURL: String? = "https://repo.example", store: Store? = nil,
    log: Log = Log(level: .error)
  ) async throws -> RepositoryServer {
    try await fixture.server(
      "[tokenscript.preview]\npolicy = \"\(policy)\"", store: store, publicURL: publicURL, log: log)
  }

  private func post(
    _ server: RepositoryServer, _ bytes: [UInt8], from peer: String = "192.0.2.1"
  ) async throws -> Response {
    let head = try RequestHead(
      method: .post, path: "/preview", authority: "repo.example", fields: [])
    return await server.table.respond(
      to: Request(head: head, body: bytes, origin: RequestOrigin(peer: peer)))
  }

  private func answer(_ response: Response) throws -> Answer {
    try JSONDecoder().decode(Answer.self, from: Data(response.bytes))
  }

  private func path(_ answer: Answer) throws -> String {
    let match = try #require(
      answer.url.wholeMatch(of: /https:\/\/repo\.example(\/preview\/[A-Za-z0-9_-]{22})/))
    return String(match.1)
  }

  @Test(arguments: ["signed", "open"]) func aPreviewLastsForADay(_ policy: String) async throws {
    var server = try await server(policy)
    let file = try sign()
    let response = try await post(server, file)
    #expect(response.status == .created)
    let answer = try answer(response)
    #expect(response[.location] == answer.url)
    #expect(answer.expires == "2023-11-15T22:13:20.000Z")
    #expect(answer.signer == (try Signer.shop.identifier()))
    #expect(answer.contracts.map(\.chain) == [1])
    #expect(answer.contracts.first?.address.lowercased() == alice)
    let path = try path(answer)
    // It is there after a restart, and in no index.
    server = try await self.server(policy)
    let got = try await server.get(path)
    #expect(got.bytes == file)
    #expect(got[.contentType] == "text/xml; charset=UTF-8")
    #expect(got[.cacheControl] == "no-store" && got[.referrerPolicy] == "no-referrer")
    #expect(got[FieldName("X-Robots-Tag")] == "noindex")
    #expect(got[.accessControlAllowOrigin] == "*")
    #expect(got[.contentSecurityPolicy] == "sandbox; default-src 'none'")
    #expect(try await server.get("/\(alice)").status == .notFound)
    #expect(try await server.get("/?format=json").text.contains("\"contracts\":[]"))
    let script = try await server.get(path, ["Accept": "application/tokenscript+xml"])
    #expect(script[.contentType] == "application/tokenscript+xml; charset=UTF-8")

    let page = try await server.get(path, ["Accept": "text/html,application/xml;q=0.9"])
    #expect(page[.contentType] == "text/html; charset=utf-8")
    #expect(page[.cacheControl] == "no-store" && page[FieldName("X-Robots-Tag")] == "noindex")
    for part in ["<svg", "&lt;ts:token", "viewer.tokenscript.org/?tokenscriptUrl=", "Signature"] {
      #expect(page.text.contains(part))
    }
    fixture.time.withLock { $0 += 86_399 }
    #expect(try await server.get(path).status == .ok)
    fixture.time.withLock { $0 += 1 }
    #expect(try await server.get(path).status == .notFound)
  }

  @Test func thePolicyDecides() async throws {
    #expect(try await post(server("off"), sign()).status == .notFound)
    #expect(try await post(server("open", publicURL: nil), sign()).status == .notFound)
    let unsigned = Array(tokenScript(for: alice).utf8)
    #expect(try await post(server("signed"), unsigned).status == .badRequest)
    let open = try await post(server("open"), unsigned)
    #expect(open.status == .created)
    let answer = try answer(open)
    #expect(answer.signer == nil && answer.warnings.contains { $0.contains("not signed") })
  }

  @Test func whatIsNoTokenScriptIsRefused() async throws {
    let server = try await server("open")
    let text = tokenScript(for: alice)
    for bad in [
      "", "<x/>", String(text.dropLast(5)), "<!DOCTYPE a><a/>",
      "<!DOCTYPE ts:token [<!ENTITY a \"b\">]>" + text.drop { $0 != ">" }.dropFirst(),
      tokenScript(contracts: [("Coin", [("1", alice)])], origins: []),
    ] {
      let response = try await post(server, Array(bad.utf8))
      #expect(response.status == .badRequest)
      #expect(try !refusal(response).error.isEmpty)
    }
    let head = try RequestHead(
      method: .post, path: "/preview", authority: "repo.example",
      fields: [("Content-Length", "\(8 << 20 + 1)")])
    let large = Request(
      head: head, body: [UInt8](repeating: 32, count: 8 << 20 + 1),
      origin: RequestOrigin(peer: "192.0.2.1"))
    #expect(await server.table.respond(to: large).status.code == 413)
    for path in ["/preview/", "/preview/x", "/preview/AAAAAAAAAAAAAAAAAAAAAA"] {
      #expect(try await server.get(path).status == .notFound)
    }
    // What can't be a preview isn't counted.
    #expect(try await post(server, Array(text.utf8)).status == .created)
  }

  @Test func aNetworkPutsUpTenAnHour() async throws {
    let server = try await server("open")
    let file = Array(tokenScript(for: alice).utf8)
    for _ in 0..<10 { #expect(try await post(server, file).status == .created) }
    let refused = try await post(server, file)
    #expect(refused.status == .tooManyRequests && refused[.retryAfter] == "3600")
    #expect(try await post(server, file, from: "192.0.2.2").status == .created)
    fixture.time.withLock { $0 += 3600 }
    #expect(try await post(server, file).status == .created)
  }

  @Test func whoeverTakesMostRoomLosesTheOldest() async throws {
    try await expectTheLargestToLose(in: try await fixture.store())
  }

  @Test(.withOtherPrograms) func whoeverTakesMostRoomLosesTheOldestOnPostgreSQL() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let store = try await Store.open(
      .postgreSQL(try PostgreSQLAddress(server.url(of: database))),
      migrations: TokenScriptService.migrations)
    let result: Result<Void, any Error>
    do { result = .success(try await expectTheLargestToLose(in: store)) } catch {
      result = .failure(error)
    }
    await store.close()
    try result.get()
  }

  private func expectTheLargestToLose(in store: Store) async throws {
    let server = try await server("open", store: store)
    func put(_ previews: [(name: String, network: String, size: Int)]) async throws {
      try await store.write { transaction in
        for (number, preview) in previews.enumerated() {
          try transaction.execute(
            """
            INSERT INTO tokenscript_previews (id, size, expires, facts, network, content)
            VALUES (?, ?, ?, '', ?, ?)
            """, preview.name, preview.size, (Self.now + 10 + Int64(number)) * 1000,
            preview.network,
            [UInt8]())
        }
      }
    }
    func names() async throws -> Set<String> {
      try await store.read { snapshot in
        Set(try snapshot.all("SELECT id FROM tokenscript_previews") { try $0[0] as String })
      }
    }
    let file = Array(tokenScript(for: alice).utf8)
    try await put([
      ("a1", "a", 8 << 20), ("b1", "b", 100 << 20), ("a2", "a", 8 << 20), ("b2", "b", 40 << 20),
      ("c1", "c", 100 << 20),
    ])
    // Together they fill the room; a short one takes 256 KiB.
    let first = try answer(try await post(server, file))
    let own = String(try path(first).dropFirst("/preview/".count))
    #expect(try await names() == ["a1", "a2", "b2", "c1", own])
    #expect(try await server.get(try path(first)).bytes == file)
    // The next to lose are those of what is largest now, and one's own if that is.
    try await put([("d1", "192.0.2.1", 120 << 20)])
    let second = try answer(try await post(server, file))
    #expect(try await names().isDisjoint(with: ["d1"]))
    for answer in [first, second] { #expect(try await server.get(try path(answer)).status == .ok) }

    // Many who have put up one each keep it, and one who wants more than they have gets no place.
    try await store.write { try $0.execute("DELETE FROM tokenscript_previews") }
    try await put((0..<1024).map { ("\($0)", "network \($0)", 256 << 10) })
    let long = Array(
      tokenScript(for: alice, note: String(repeating: "x", count: 257 << 10)).utf8)
    #expect(try await post(server, long, from: "192.0.2.2").status.code == 507)
    #expect(try await names().count == 1024)
    // It has cost as much as one that finds room, and counts.
    var statuses: [Int] = []
    for _ in 0..<11 {
      statuses.append(Int(try await post(server, long, from: "192.0.2.3").status.code))
    }
    #expect(statuses == [Int](repeating: 507, count: 10) + [429])
    // Among equals the oldest goes.
    #expect(try await post(server, file, from: "192.0.2.2").status == .created)
    let rest = try await names()
    #expect(rest.count == 1024 && !rest.contains("0"))
    // Those that are over take no room, though they are deleted later.
    fixture.time.withLock { $0 += 10 + 1024 }
    #expect(try await post(server, long, from: "192.0.2.2").status == .created)
    #expect(try await names().count == 1025)
  }

  @Test func itsURLIsInNoLog() async throws {
    let path = "\(fixture.folder)/log"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(descriptor) }
    let log = Log(level: .debug, descriptor: descriptor)
    let server = try await server("open", log: log)
    let name = try self.path(
      try answer(try await post(server, Array(tokenScript(for: alice).utf8))))
    for method in [HTTPProtocol.Method.get, .head, .post, .options] {
      _ = try await server.get(name, method: method)
    }
    log.flush()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.isEmpty && !text.contains(name.dropFirst("/preview/".count)))
  }
}
