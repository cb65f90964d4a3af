internal import Foundation
internal import TestSupport
internal import Testing
internal import Time
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of `awd repo publish` and `awd repo withdraw`, beside a server.
@Suite(.ownThreads) struct CommandsPublishTests {
  @Test func aFileComesAndGoes() throws {
    let fixture = try CommandsFixture()
    try fixture.write(
      "awd.toml",
      """
      [tokenscript]
      repository = "repository"
      hosts = ["localhost"]
      [tokenscript.publish]
      policy = "open"
      """)
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(fixture.folder)/awd.toml"], home: fixture.folder,
      environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
    let line = try server.line(with: "listening at=http://")
    let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([1-9][0-9]+)/)?.1)
    let url = "http://localhost:\(port)"
    let place = "\(url)/2019/05/chain/1/0x6B175474E89094C44Da98b954EedeAC495271d0F"

    let program = try CommandsFixture.program()
    let now = Timestamp.now().seconds
    let file = try fixture.write(
      "a.tsml", Signer.issuer.sign(tokenScript(for: alice), at: now - 10))
    let published = try fixture.spawn(program, ["repo", "publish", file, "--to", url])
    #expect(published.code == 0 && published.output == "\(place): served\n", "\(published.errors)")
    let foreign = try fixture.write(
      "b.tsml", Signer.rival.sign(tokenScript(for: alice), at: now))
    let refused = try fixture.spawn(program, ["repo", "publish", foreign, "--to", url])
    #expect(refused.code == 1)
    #expect(refused.errors.contains("403 Forbidden: the signer does not stand for"))
    #expect(refused.errors.contains("these do: \(try Signer.issuer.identifier())"))
    let unsigned = try fixture.write("c.tsml", tokenScript(for: alice))
    #expect(try fixture.spawn(program, ["repo", "publish", unsigned, "--to", url]).code == 1)

    let other = try fixture.write("other.pem", Signer.rival.key.keyPEM)
    let key = try fixture.write("key.pem", Signer.issuer.key.keyPEM)
    #expect(try fixture.spawn(program, ["repo", "withdraw", place, "--key", other]).code == 1)
    let withdrawn = try fixture.spawn(program, ["repo", "withdraw", place, "--key", key])
    #expect(withdrawn.code == 0, "\(withdrawn.errors)")
    let again = try fixture.spawn(program, ["repo", "publish", file, "--to", url])
    #expect(again.code == 1 && again.errors.contains("410 Gone"), "\(again.errors)")
  }
}
