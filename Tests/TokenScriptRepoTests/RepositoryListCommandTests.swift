internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `awd repo list`.
@Suite(.ownThreads) struct RepositoryListCommandTests {
  private func fixture() throws -> CommandsFixture {
    try CommandsFixture([
      "a/2019/05/Coin.tsml": Signer.shop.sign(tokenScript(for: alice), at: 1_570_665_600),
      "b/2019/05/Coin.tsml": Signer.shop.sign(
        tokenScript(for: alice, note: "old"), at: 1_500_000_001),
      "unsigned.xml": Array(tokenScript(for: bob).utf8), "broken.xml": Array("<".utf8),
    ])
  }

  @Test func theSpecificationsTable() async throws {
    let lines = try await fixture().run(RepositoryListCommand.self, []).split(separator: "\n")
      .map(String.init)
    let columns = [
      "contract", "contract name", "schema version", "signature date", "signer", "path", "state",
    ]
    func place(of text: String, in line: String) throws -> Int {
      line.distance(
        from: line.startIndex, to: try #require(line.range(of: text)).lowerBound)
    }
    let starts = try columns.map { try place(of: $0, in: lines[0]) }
    #expect(starts == starts.sorted())
    let served = try #require(
      lines.first { $0.contains("a/2019/05/Coin.tsml") && $0.hasSuffix("served") })
    for cell in [
      "0x6B175474E89094C44Da98b954EedeAC495271d0F", "Coin", "2019/05", "2019-10-10", "shop.example",
    ] { #expect(served.contains(cell)) }
    // A column starts at the same place in each row.
    #expect(try place(of: "2019-10-10", in: served) == starts[3])
    #expect(lines.contains { $0.hasSuffix("shadowed by a/2019/05/Coin.tsml") })
    #expect(
      lines.contains { $0.contains("unsigned.xml") && $0.hasSuffix("refused because not signed") })
    #expect(lines.contains { $0.contains("broken.xml") && $0.hasSuffix("not well-formed XML") })
    #expect(lines.last?.hasPrefix("4 files (1 served, 1 shadowed, 2 refused)") == true)
  }

  @Test func narrowTerminalsGetALineForEachCell() async throws {
    let output = try await fixture().run(
      RepositoryListCommand.self, [], environment: ["COLUMNS": "80"])
    #expect(output.contains("\nsigner          shop.example\n"))
    #expect(output.contains("\n\ncontract        0x6B175474E89094C44Da98b954EedeAC495271d0F\n"))
  }

  @Test func json() async throws {
    let output = try await fixture().run(RepositoryListCommand.self, ["--json"])
    let object = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
    let rows = try #require(object?["contracts"] as? [[String: Any]])
    #expect(rows.count == 4)
    let row = try #require(rows.first { $0["state"] as? String == "served" })
    #expect(row["path"] as? String == "a/2019/05/Coin.tsml")
    #expect(row["time"] as? String == "2019-10-10T00:00:00.000Z")
  }

  @Test func whatANameWouldDoToATerminalDoesNotHappen() async throws {
    let fixture = try CommandsFixture([
      "\u{1b}[2J.xml": Array("<".utf8), "\u{202e}x.xml": Array("<".utf8),
    ])
    let output = try await fixture.run(RepositoryListCommand.self, [])
    #expect(!output.contains("\u{1b}") && !output.contains("\u{202e}"))
    #expect(output.contains("\u{fffd}[2J.xml"))
  }

  @Test func nothingIsMadeByLooking() throws {
    let fixture = try fixture()
    let before = try fixture.paths()
    let result = try fixture.spawn(
      CommandsFixture.program(), ["repo", "list", "--config", "awd.toml"])
    #expect(result.code == 0 && result.output.contains("4 files"))
    #expect(try fixture.paths() == before)
  }

  @Test func longWorkTellsHowFarItHasCome() async throws {
    let signed = try Signer.shop.sign(tokenScript(for: alice), at: 1_600_000_000)
    let names = (0..<50).map { ("\($0).xml", signed) }
    let fixture = try CommandsFixture(Dictionary(uniqueKeysWithValues: names))
    let folder = try RepositoryFolder(fixture.root)
    let entries = try folder.list().entries
    var reader = TokenScriptReader()
    reader.verifier = SignatureVerifier()
    let scan = RepositoryScan(
      folder: folder, reader: reader, rules: RepositoryRules(),
      now: Timestamp(seconds: 1_700_000_000),
      memory: ContractStore.Memory(), known: [:])
    let told = Lock<[(done: Int, total: Int)]>([])
    // One report is enough, and may take several scans on a busy machine.
    for _ in 0..<1000 where told.withLock({ $0.isEmpty }) {
      let files = try await scan.files(
        entries, on: ThreadPool(named: "test"), every: .milliseconds(1)
      ) { done, total in
        told.withLock { $0.append((done, total)) }
      }
      #expect(files.map(\.path) == entries.map(\.path))
    }
    let all = told.withLock(\.self)
    #expect(!all.isEmpty && all.allSatisfy { $0.total == 50 && (0...50).contains($0.done) })
  }
}
