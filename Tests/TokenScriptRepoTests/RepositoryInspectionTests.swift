internal import Foundation
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of `awd check` on the repository.
@Suite(.ownThreads) struct RepositoryInspectionTests {
  @Test func goodDoubtfulAndWrong() throws {
    let fixture = try CommandsFixture([
      "a.xml": Signer.shop.sign(tokenScript(for: alice), at: 1_600_000_000)
    ])
    let program = try CommandsFixture.program()
    let good = try fixture.spawn(
      program, ["check", "--verbose", "--config", "\(fixture.folder)/awd.toml"])
    #expect(good.code == 0)
    #expect(good.output.contains("# tokenscript: good: \(fixture.root): 1 file (1 served)"))
    // Its name says another contract; that its signer has no root is nothing to look at.
    #expect(good.output.contains("# tokenscript: doubtful: a.xml: its name says contract “a”"))
    #expect(!good.output.contains("not trusted"))

    try fixture.write("repository/b.xml", tokenScript(for: bob))
    let bad = try fixture.spawn(
      program, ["check", "--json", "--config", "\(fixture.folder)/awd.toml"])
    #expect(bad.code == 1)
    let object = try JSONSerialization.jsonObject(with: Data(bad.output.utf8)) as? [String: Any]
    #expect(object?["valid"] as? Bool == false)
    let content = try #require(object?["content"] as? [[String: String]])
    #expect(
      content.contains([
        "service": "tokenscript", "grade": "wrong",
        "message": "b.xml: refused because not signed: there is no signature",
      ]))

    try FileManager.default.removeItem(atPath: fixture.root)
    let missing = try fixture.spawn(program, ["check", "--config", "\(fixture.folder)/awd.toml"])
    #expect(missing.code == 1)
    #expect(missing.output.contains("wrong: the repository \(fixture.root) can't be read"))
    #expect(!fixture.exists("var"))
  }
}
