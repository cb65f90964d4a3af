internal import Glibc
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

@Suite(.ownThreads) struct RepositoryWatchTests {
  @Test func aChangeWaitsForQuietButNotForEver() {
    var period = QuietPeriod()
    let start = ContinuousClock.now
    #expect(period.deadline == nil)
    func isOver(_ milliseconds: Int) -> Bool {
      period.isOver(at: start + .milliseconds(milliseconds))
    }
    #expect(!isOver(0))
    period.change(at: start)
    #expect(!isOver(199))
    period.change(at: start + .milliseconds(199))
    #expect(!isOver(398))
    #expect(isOver(399))
    #expect(!isOver(5_000))
    // Changes follow each other.
    for step in 0..<19 { period.change(at: start + .milliseconds(100 * step)) }
    #expect(!isOver(1_999))
    period.change(at: start + .milliseconds(1_999))
    #expect(isOver(2_000))
  }

  @Test func changesAreSeenByThemselves() async throws {
    let fixture = try RepositoryFixture()
    try fixture.write("a.tsml", tokenScript(for: alice))
    let server = try await fixture.server("signature = \"off\"")
    let task = Task { try await server.service.run() }
    func becomes(_ path: String, _ status: Status, _ text: String = "") async throws {
      try await waitUntil {
        let response = try await server.get(path)
        return response.status == status && response.text.contains(text)
      }
    }
    try fixture.write("new/er/b.tsml", tokenScript(for: bob))
    try await becomes("/\(bob)", .ok)
    try fixture.write("new/er/b.tsml", tokenScript(for: bob, note: "changed"))
    try await becomes("/\(bob)", .ok, "changed")
    try fixture.move("a.tsml", to: "a.tsml.gone")
    try await becomes("/\(alice)", .gone)
    try fixture.remove("new")
    try await becomes("/\(bob)", .notFound)
    // Another folder takes the root's place.
    try fixture.write("../other/c.tsml", tokenScript(for: bob, note: "other"))
    #expect(rename(fixture.root, fixture.folder + "/away") == 0)
    #expect(rename(fixture.folder + "/other", fixture.root) == 0)
    try await becomes("/\(bob)", .ok, "other")
    try fixture.write("c.tsml", tokenScript(for: bob, note: "again"))
    try await becomes("/\(bob)", .ok, "again")
    task.cancel()
    try await task.value
  }

  @Test func aChangeSinceTheFirstScanIsSeenByOneFurtherScan() async throws {
    let fixture = try RepositoryFixture()
    try fixture.write("a.tsml", tokenScript(for: alice))
    try fixture.write("b.waiting", tokenScript(for: bob))
    let server = try await fixture.server("signature = \"off\"")
    // The service does not run yet, but its watches are set.
    try fixture.move("b.waiting", to: "b.tsml")
    let task = Task { try await server.service.run() }
    try await waitUntil { try await server.get("/\(bob)").status == .ok }
    task.cancel()
    try await task.value
    #expect(server.service.indexer.current.generation == 2)
  }
}
