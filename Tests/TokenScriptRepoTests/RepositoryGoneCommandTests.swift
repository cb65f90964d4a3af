internal import ServiceKit
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of `awd repo gone`.
@Suite(.ownThreads) struct RepositoryGoneCommandTests {
  @Test func aFileOrAllOfAContract() async throws {
    let fixture = try CommandsFixture([
      "a.xml": Array(tokenScript(for: alice).utf8),
      "b/c.tsml": Array(tokenScript("2020/03", for: alice).utf8),
      "d.xml": Array(tokenScript(for: bob).utf8),
    ])
    let output = try await fixture.run(RepositoryGoneCommand.self, ["d.xml"])
    #expect(
      output.hasSuffix("d.xml.gone: 2019/05 is gone for 0x4F9254C83EB525f9FCf346490bbb3ed28a81C667")
    )
    _ = try await fixture.run(RepositoryGoneCommand.self, [alice, "\(fixture.root)/a.xml"])
    #expect(
      try fixture.paths(below: "repository") == ["a.xml.gone", "b", "b/c.tsml.gone", "d.xml.gone"])
    let list = try await fixture.run(RepositoryListCommand.self, [])
    #expect(list.contains("3 files (3 gone)"))
  }

  @Test(arguments: [
    ("none.xml", "No such file"), ("0xzz", "it is no contract's address"),
    ("notes.txt", "only files *.tsml and *.xml are served"),
    ("broken.xml", "not well-formed XML"), ("both.xml", "both.xml.gone is there already"),
    (bob, "is served for 2 contracts"),
    ("0x00000000000000000000000000000000000000aa", "is served for it"),
  ])
  func refusesAndRenamesNothing(_ operand: String, _ reason: String) async throws {
    let two = tokenScript(
      contracts: [("Coin", [("1", alice), ("1", bob)])], origins: ["Coin"])
    let fixture = try CommandsFixture([
      "notes.txt": [], "broken.xml": Array("<".utf8),
      "both.xml": Array(tokenScript(for: alice).utf8),
      "both.xml.gone": Array(tokenScript(for: alice).utf8), "two.xml": Array(two.utf8),
    ])
    let before = try fixture.paths()
    let error = await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryGoneCommand.self, [operand])
    }
    guard case .refused(let words) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(words.contains(reason), "\(words)")
    #expect(try fixture.paths() == before)
  }
}
