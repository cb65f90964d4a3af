internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of the URLs that `awd repo withdraw` takes.
struct WithdrawalPlaceTests {
  @Test(arguments: [
    "2024/01/chain/1/0xab", "2024/01/chain/1/0xab?signer=k", "2024/01/chain/1/0xab#x",
    "2024/01/0xab?chain=1", "2024/01/chain/1/0xab.tsml", "2024/01/0xab.tsml?signer=k&chain=1#x",
    "2024/01/chain/1/0xab?chain=1&as=.tsml",
  ])
  func eachURLOfTheFileNamesItsPlace(_ path: String) {
    #expect(
      RepositoryWithdrawCommand.place(of: "https://repo.example/\(path)")
        == "https://repo.example/2024/01/chain/1/0xab")
    let bare = "https://repo.example/0xab"
    #expect(RepositoryWithdrawCommand.place(of: bare) == bare)
  }
}

/// Tests of `awd repo publish` and `awd repo withdraw`, beside a server.
@Suite(.ownThreads) struct RepositoryPublishingCommandsTests {
  @Test func aRepositoryThatTakesNothingIsNamed() async throws {
    let fixture = try CommandsFixture()
    try fixture.write("awd.toml", "[tokenscript]\nrepository = \"repository\"")
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(fixture.folder)/awd.toml"], home: fixture.folder,
      environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
    defer { extendLifetime(server) }
    let line = try await server.line(with: "listening at=http://")
    let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([1-9][0-9]+)/)?.1)
    let file = try fixture.write(
      "a.tsml", Signer.issuer.sign(tokenScript(for: alice), at: Timestamp.now().seconds - 10))
    for command in ["publish", "preview"] {
      let refused = try fixture.spawn(
        CommandsFixture.program(), ["repo", command, file, "--to", "http://localhost:\(port)"])
      #expect(refused.code == 1)
      #expect(
        refused.errors.contains("by policy in [tokenscript.\(command)]"), "\(refused.errors)")
    }
  }

  @Test func aFileComesAndGoes() async throws {
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
    let line = try await server.line(with: "listening at=http://")
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

    // The operator withdraws beside the server, which sees it by itself.
    let bobs = try fixture.write("d.tsml", Signer.rival.sign(tokenScript(for: bob), at: now))
    #expect(try fixture.spawn(program, ["repo", "publish", bobs, "--to", url]).code == 0)
    let configuration = ["--config", "\(fixture.folder)/awd.toml"]
    let listed = try fixture.spawn(program, ["repo", "list"] + configuration)
    #expect(listed.output.contains("published/") && listed.output.contains("served"), "\(listed)")
    let gone = try fixture.spawn(program, ["repo", "gone", bob] + configuration)
    #expect(gone.code == 0 && gone.output.contains("1-\(bob).tsml: withdrawn"), "\(gone)")
    try await waitUntil {
      try await ChildProcess.run(
        "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "\(url)/\(bob)"]
      ).output == "410"
    }
  }

  @Test func aPreviewIsPutUp() throws {
    let fixture = try CommandsFixture()
    try fixture.write(
      "awd.toml",
      """
      [tokenscript]
      repository = "repository"
      hosts = ["localhost"]
      [tokenscript.preview]
      policy = "signed"
      """)
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(fixture.folder)/awd.toml"], home: fixture.folder,
      environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
    let line = try server.line(with: "listening at=http://")
    let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([1-9][0-9]+)/)?.1)
    let url = "http://localhost:\(port)"
    let program = try CommandsFixture.program()
    let file = try fixture.write("a.tsml", Signer.issuer.sign(tokenScript(for: alice), at: 1))
    let shown = try fixture.spawn(program, ["repo", "preview", file, "--to", url])
    #expect(shown.code == 0 && shown.output.hasPrefix("\(url)/preview/"), "\(shown)")
    #expect(shown.output.contains("▄"))
    let unsigned = try fixture.write("b.tsml", tokenScript(for: alice))
    let refused = try fixture.spawn(program, ["repo", "preview", unsigned, "--to", url])
    #expect(refused.code == 1 && refused.errors.contains("not signed"), "\(refused)")
    let place = String(shown.output.prefix { $0 != " " })
    let got = try ChildProcess.run("curl", ["-s", place])
    #expect(got.output == String(decoding: try fixture.read("a.tsml"), as: UTF8.self))
  }
}
