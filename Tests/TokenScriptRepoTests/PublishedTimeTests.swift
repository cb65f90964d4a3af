internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of `modified = "published"`: the time is not before the URL began to give the file.
@Suite(.ownThreads) struct PublishedTimeTests {
  private let fixture: RepositoryFixture
  private let store: Store

  init() async throws {
    fixture = try RepositoryFixture()
    store = try await fixture.store()
  }

  private func server(_ toml: String = "") async throws -> RepositoryServer {
    try await fixture.server("modified = \"published\"\n" + toml, store: store)
  }

  private func set(_ time: Int64) { fixture.time.withLock { $0 = time } }

  private func write(
    _ path: String, _ schema: String = "2019/05", _ note: String = "",
    by signer: Signer = Signer.shop, at time: Int64
  ) throws {
    try fixture.write(
      path, bytes: try signer.sign(tokenScript(schema, for: alice, note: note), at: time))
  }

  private func time(
    _ server: RepositoryServer, _ path: String = "/2019/05/\(alice)"
  ) async throws -> String? {
    try await server.get(path)[.lastModified]
  }

  @Test func aFileSignedLongBeforeItIsPublishedCountsFromThen() async throws {
    set(1_600_000_100)
    try write("a.tsml", at: 1_550_000_000)
    let first = try await server()
    #expect(try await time(first) == HTTPDate(1_600_000_100).text)
    // A wallet downloads it, and later a file with an earlier signing time takes its place.
    set(1_600_000_500)
    try write("a.tsml", "2019/05", "second", at: 1_550_000_001)
    try await first.service.reload()
    #expect(try await time(first) == HTTPDate(1_600_000_500).text)
    let stale = ["If-Modified-Since": HTTPDate(1_600_000_400).text]
    #expect(try await first.get("/2019/05/\(alice)", stale).status == .ok)
    // Neither another scan nor a restart changes the time.
    set(1_600_000_900)
    try await first.service.reload()
    #expect(try await time(first) == HTTPDate(1_600_000_500).text)
    let again = try await server()
    #expect(try await time(again) == HTTPDate(1_600_000_500).text)
    #expect(try await time(again, "/\(alice)") == HTTPDate(1_600_000_500).text)
    // The signing time counts if it is later.
    set(1_600_002_000)
    try write("a.tsml", "2019/05", "third", at: 1_600_001_999)
    set(1_600_001_000)
    try await again.service.reload()
    set(1_600_002_000)
    try await again.service.reload()
    #expect(try await time(again) == HTTPDate(1_600_001_999).text)
  }

  @Test func whatComesBackIsNew() async throws {
    set(1_600_000_100)
    try write("a.tsml", at: 1_550_000_000)
    let server = try await server()
    try fixture.move("a.tsml", to: "a.txt")
    set(1_600_000_200)
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").status == .notFound)
    try fixture.move("a.txt", to: "a.tsml")
    set(1_600_000_300)
    try await server.service.reload()
    #expect(try await time(server) == HTTPDate(1_600_000_300).text)
    // A list of choices in between is another response.
    set(1_600_000_400)
    try write("b.tsml", "2019/05", "rival", by: Signer.rival, at: 1_560_000_000)
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").status == .multipleChoices)
    // But the signer's own URL has given the file all the while.
    #expect(
      try await time(server, "/2019/05/\(alice)?signer=shop.example")
        == HTTPDate(1_600_000_300).text)
    #expect(
      try await time(server, "/2019/05/\(alice)?signer=Rival.Example")
        == HTTPDate(1_600_000_400).text)
    try fixture.remove("b.tsml")
    set(1_600_000_500)
    try await server.service.reload()
    #expect(try await time(server) == HTTPDate(1_600_000_500).text)
    #expect(try await time(server, "/\(alice)?signer=shop.example") == HTTPDate(1_600_000_300).text)
  }

  @Test func aBareAddressCountsFromTheChangeOfVersions() async throws {
    set(1_600_000_100)
    try write("a.tsml", "2019/05", at: 1_550_000_000)
    let server = try await server()
    set(1_600_000_200)
    try write("b.tsml", "2020/03", at: 1_540_000_000)
    try await server.service.reload()
    #expect(try await time(server, "/\(alice)") == HTTPDate(1_600_000_200).text)
    #expect(try await time(server, "/2019/05/\(alice)") == HTTPDate(1_600_000_100).text)
    // A change of another version does not matter to the bare address.
    set(1_600_000_300)
    try write("a.tsml", "2019/05", "second", at: 1_550_000_000)
    try await server.service.reload()
    #expect(try await time(server, "/\(alice)") == HTTPDate(1_600_000_200).text)
    #expect(try await time(server, "/2019/05/\(alice)") == HTTPDate(1_600_000_300).text)
    // The earlier response is back, and must be newer than the one that wallets got meanwhile.
    set(1_600_000_400)
    try fixture.remove("b.tsml")
    try await server.service.reload()
    #expect(try await time(server, "/\(alice)") == HTTPDate(1_600_000_400).text)
    #expect(try await time(server, "/2019/05/\(alice)") == HTTPDate(1_600_000_300).text)
    // The same holds for another default version.
    set(1_600_000_500)
    let other = try await self.server("default_namespace = \"2019/05\"")
    #expect(try await time(other, "/\(alice)") == HTTPDate(1_600_000_500).text)
    #expect(try await time(other, "/2019/05/\(alice)") == HTTPDate(1_600_000_300).text)
  }

  @Test func bySigningTimeNothingOfItCounts() async throws {
    set(1_600_000_100)
    try write("a.tsml", at: 1_550_000_000)
    _ = try await server()
    let signed = try await fixture.server(store: store)
    #expect(
      try await signed.get("/\(alice)")[.lastModified] == HTTPDate(1_550_000_000).text)
  }
}
