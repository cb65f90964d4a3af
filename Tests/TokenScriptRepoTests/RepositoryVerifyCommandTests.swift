internal import ServiceKit
internal import Foundation
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of `awd repo verify`.
@Suite(.ownThreads) struct RepositoryVerifyCommandTests {
  @Test func whatHoldsAndWhatDoesNot() async throws {
    let fixture = try CommandsFixture()
    let good = try fixture.write(
      "good.xml", Signer.issuer.sign(tokenScript(for: alice), at: 1_600_000_000))
    let output = try await fixture.run(RepositoryVerifyCommand.self, [good])
    let key = try Signer.issuer.identifier()
    for line in [
      "\(good): would be served", "  signature  holds",
      "  trust      fails, which only warns: the signer is not trusted: a bare key, without a "
        + "certificate",
      "  origin     Coin 0x6B175474E89094C44Da98b954EedeAC495271d0F on chain 1",
      "  signer     secp256k1 key \(key)", "  signed at  2020-09-13T12:26:40.000Z",
    ] { #expect(output.split(separator: "\n").contains { $0 == line }, "\(line)\n\(output)") }

    await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryVerifyCommand.self, [good], toml: "trust = \"require\"\n")
    }
  }

  @Test(arguments: ["good.txt", "good.xml.gone", "good"])
  func aNameThatTheRepositoryIgnoresIsNoGoodOne(_ name: String) async throws {
    let fixture = try CommandsFixture()
    let signed = try Signer.issuer.sign(tokenScript(for: alice), at: 1_600_000_000)
    let elsewhere = try fixture.write(name, signed)
    let output = try await fixture.run(RepositoryVerifyCommand.self, [elsewhere])
    #expect(output.contains("\(name): would be served"))
    #expect(output.contains("end in neither .tsml nor .xml are ignored"), "\(output)")
    try fixture.write("repository/\(name)", signed)
    let error = await #expect(throws: CommandError.self) {
      try await fixture.run(RepositoryVerifyCommand.self, [elsewhere, "\(fixture.root)/\(name)"])
    }
    #expect(error == .refused("1 of 2 files would not be served"))
  }

  @Test(arguments: [
    ("changed.xml", "the document was changed after it was signed"), ("unsigned.xml", "not signed"),
    ("broken.xml", "not well-formed XML"), ("other.xml", "in no TokenScript namespace"),
    ("none.xml", "it can't be read: No such file or directory"),
    ("..", "run tokenscript build there"),
    ("nothing.xml", "it names no contract with a valid address and chain as its origin"),
  ])
  func refused(_ name: String, _ reason: String) throws {
    let signed = String(
      decoding: try Signer.shop.sign(tokenScript(for: alice), at: 1_600_000_000), as: UTF8.self)
    let fixture = try CommandsFixture()
    try fixture.write("good.xml", signed)
    try fixture.write("changed.xml", signed.replacing("Coin", with: "Gold"))
    try fixture.write("unsigned.xml", tokenScript(for: alice))
    try fixture.write(
      "nothing.xml",
      Signer.issuer.sign(
        tokenScript(contracts: [("Coin", [("1", "$tst{ADDRESS}")])], origins: ["Coin"]),
        at: 1_600_000_000))
    try fixture.write("broken.xml", "<a>")
    try fixture.write("other.xml", "<a/>")
    let result = try fixture.spawn(
      CommandsFixture.program(), ["repo", "verify", "--config", "awd.toml", "good.xml", name])
    #expect(result.code == 1)
    #expect(result.output.contains("good.xml: would be served"))
    let verdict = name == "nothing.xml" ? "would serve nothing" : "would be refused"
    #expect(result.output.contains("\(name): \(verdict): "))
    #expect(result.output.contains(reason))
    #expect(result.errors == "awd repo verify: 1 of 2 files would not be served\n")
    let json = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "verify", "--config", "awd.toml", "--json", "good.xml", name])
    let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    let files = try #require(object?["files"] as? [[String: Any]])
    #expect(files.map { $0["holds"] as? Bool } == [true, false])
    let checks = try #require(files[0]["checks"] as? [String: [String: String]])
    #expect(checks["signature"] == ["outcome": "holds", "rule": "require"])
    #expect((files[1]["reason"] as? String)?.contains(reason) == true)
    // The path that `repo list` prints works in any working directory.
    try fixture.write("repository/shop/Coin.xml", signed)
    let listed = try fixture.spawn(
      CommandsFixture.program(),
      ["repo", "verify", "--config", "\(fixture.folder)/awd.toml", "shop/Coin.xml"])
    #expect(listed.output.hasPrefix("\(fixture.root)/shop/Coin.xml: would be served\n"))
  }
}
