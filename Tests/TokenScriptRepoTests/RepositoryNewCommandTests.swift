internal import ServiceKit
internal import Cryptography
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `awd repo new`.
@Suite(.ownThreads) struct RepositoryNewCommandTests {
  private static let usual = ["--contract", alice]

  @Test func theFileIsServedOnceItIsSigned() async throws {
    let fixture = try CommandsFixture()
    let path = "\(fixture.root)/Coin.tsml"
    let output = try await fixture.run(
      RepositoryNewCommand.self,
      Self.usual + ["--chain", "137", "--name", "Coin", "--interface", "erc721", path])
    #expect(output.contains("0x6B175474E89094C44Da98b954EedeAC495271d0F on Polygon (137)"))
    let key = try fixture.write("key.pem", Signer.issuer.key.keyPEM)
    _ = try await fixture.run(RepositorySignCommand.self, ["--key", key, path])
    let report = try await fixture.run(RepositoryVerifyCommand.self, [path])
    #expect(report.contains("would be served"))
    #expect(report.contains("Coin 0x6B175474E89094C44Da98b954EedeAC495271d0F on chain 137"))
    #expect(!report.contains("warning") && !report.contains("mend"))
    // It is no place for another file.
    await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryNewCommand.self, Self.usual + [path])
    }
  }

  @Test(arguments: [
    ["x.tsml"], ["--contract", "0x12", "x.tsml"],
    ["--contract", "0x6b175474e89094c44da98b954eedeac495271D0F", "x.tsml"],
    usual + ["--chain", "0", "x.tsml"], usual + ["--name", "<", "x.tsml"],
    usual + ["--name", "", "x.tsml"], usual + ["--interface", "x", "x.tsml"],
    usual + ["--namespace", "2023/01", "x.tsml"], usual + ["x.txt"], usual + ["x.tsml.gone"],
  ])
  func whatMakesNoFileIsRefused(_ words: [String]) async throws {
    let fixture = try CommandsFixture()
    let error = await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryNewCommand.self, words)
    }
    guard case .usage? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func verifyingTellsWhatToMend() async throws {
    let fixture = try CommandsFixture()
    let text = tokenScript(for: alice).replacing(" network=\"1\"", with: "")
    let unsigned = try fixture.write("a.tsml", text)
    let listing = try await output(fixture, unsigned)
    for advice in [
      "add network=\"…\" to every address", "sign it: awd repo sign --key KEY",
    ] { #expect(listing.contains("mend"), "\(advice)"); #expect(listing.contains(advice)) }
    let bare = try fixture.write(
      "b.tsml", tokenScript(contracts: [("Coin", [("1", alice)])], origins: []))
    #expect(try await output(fixture, bare).contains("name the contract in origins"))
    let wrong = tokenScript(for: alice).replacing(" network=\"1\"", with: " network=\"0x1\"")
    let chainless = try await output(fixture, try fixture.write("c.tsml", wrong))
    #expect(chainless.contains("write the number of the chain"))
    #expect(!chainless.contains("name the contract in origins"))
    let nowhere = try await output(
      fixture, try fixture.write("d.tsml", tokenScript(for: "0x0")))
    #expect(nowhere.contains("write the contract's address as 0x and 40 hexadecimal digits"))
    #expect(!nowhere.contains("name the contract in origins"))
    let unbuilt = tokenScript(contracts: [("Coin", [("1", alice)])], origins: ["$tst{ORIGIN}"])
    let source = try await output(fixture, try fixture.write("e.tsml", unbuilt))
    #expect(source.contains("build it: tokenscript build"))
    #expect(!source.contains("name the contract in origins"))
  }

  /// The output of a verification that refuses.
  private func output(_ fixture: CommandsFixture, _ path: String) async throws -> String {
    let outcome = try fixture.spawn(
      CommandsFixture.program(), ["repo", "verify", "--config", "\(fixture.folder)/awd.toml", path])
    #expect(outcome.code == 1)
    return outcome.output
  }
}
