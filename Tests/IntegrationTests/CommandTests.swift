internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient

/// The built program on a terminal.
@Suite(.timeLimit(.minutes(5))) struct CommandTests {
  /// Returns the names of all commands that `awd --help` lists.
  private func commands(_ home: String) async throws -> [String] {
    let overview = try await runAwd(["--help"], home: home)
    #expect(overview.code == 0 && overview.errors.isEmpty)
    #expect(overview.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    return overview.output.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /\s\s([a-z]+(?: [a-z]+)*)\s\s+[^ ].*/).map { String($0.output.1) }
    }
  }

  @Test func everyCommandExplainsItself() async throws {
    let site = try Site()
    let commands = try await commands(site.folder)
    #expect(commands.count >= 18 && commands.contains("serve") && commands.contains("repo list"))
    let groups = Set(commands.filter { $0.contains(" ") }.map { String($0.prefix { $0 != " " }) })
    for command in commands + groups {
      let words = command.split(separator: " ").map(String.init)
      let help = try await runAwd(words + ["--help"], home: site.folder)
      let lines = help.output.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(help.code == 0 && help.errors.isEmpty, "\(command)")
      #expect(lines.first?.hasPrefix("usage: awd \(command) ") == true, "\(command)")
      #expect(
        lines.allSatisfy { $0.count <= 100 }, "\(command): \(lines.filter { $0.count > 100 })")
      let wrong = try await runAwd(words + ["--no-such-option"], home: site.folder)
      #expect(wrong.code == 2 && wrong.output.isEmpty && !wrong.errors.isEmpty, "\(command)")
    }
  }

  /// Without a file, the development setting applies, with its data in the user's home.
  @Test func startsWithoutConfiguration() async throws {
    let site = try Site()
    let environment = ["AWD_SERVER_LISTEN": "127.0.0.1:\(site.port)"]
    let server = try ChildProcess.awd(["serve"], home: site.folder, environment: environment)
    _ = try await server.line(with: "listening at=\(site.url)")
    #expect(server.errors.contains("\(site.folder)/.local/state/awd"))
    #expect(try await site.status(.get, "/readyz") == 200)
    #expect(try await site.fetch().hasFile)
    _ = try await site.msgr("anna")
    let identity = try await site.identity()
    try await server.stop()
    let store = "\(site.folder)/.local/state/awd/awd.sqlite3"
    #expect(FileManager.default.fileExists(atPath: store))
    // The other commands work on the same data.
    let users = try await runAwd(["user", "list", "--json"], home: site.folder)
    #expect(users.code == 0 && users.output.contains("\"anna\""))
    let keys = try await runAwd(["keys", "show", "--json"], home: site.folder)
    #expect(keys.output.contains(identity.encryptionKey.hex))
  }

  @Test func theEnvironmentOverridesTheFile() async throws {
    let site = try Site()
    let file = "\(site.folder)/services"
    try Data("msgr\n".utf8).write(to: URL(filePath: file))
    let server = try ChildProcess.awd(
      ["serve", "--config", site.configuration], home: site.folder,
      environment: [
        "AWD_SERVER_SERVICES_FILE": file, "AWD_LOG_FORMAT": "json", "AWD_SERVER_THREADS": "1",
      ])
    let line = try await server.line(with: "listening")
    _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
    // Msgr has topics at any name, but none of its routes answers GET below one like this.
    #expect(try await [404, 405].contains(site.status(.get, "/siren/service.json")))
    #expect(try await site.status(.post, "/contacts") == 400)
    let metrics = try await site.get("/metrics")
    #expect(!metrics.contains("awd_apptimist"))
    try await server.stop()

    for (variables, text) in [
      (["AWD_SERVER_THREADS_FILE": "\(site.folder)/none"], "AWD_SERVER_THREADS_FILE"),
      (["AWD_SERVER_THREADS": "many"], "AWD_SERVER_THREADS"),
      (["AWD_SERVER_NO_SUCH_KEY": "1"], "AWD_SERVER_NO_SUCH_KEY"),
    ] {
      for command in ["serve", "check"] {
        let refused = try await runAwd(
          [command, "--config", site.configuration], home: site.folder, environment: variables)
        #expect(refused.code == 1 && refused.errors.contains(text), "\(refused)")
      }
    }
  }

  /// Commands that a program might read print JSON and nothing else, beside a running server.
  @Test func printJSON() async throws {
    let site = try Site()
    try await site.serving { _ in
      _ = try await site.run("user", "add", "anna", input: "secret\n")
      let file = "\(site.data)/repository/demo.awd.example/2020/03/DAI.tsml"
      let configured: [[String]] = [
        ["check"], ["repo", "list"], ["repo", "verify", file], ["user", "list"], ["keys", "show"],
        ["invite", "new", "--uid", "somebody"], ["backup", "\(site.folder)/json.backup"],
      ]
      let repository = ["--repo", site.url, "--namespace", Site.namespace, "--network", "1"]
      let all =
        configured.map { $0 + ["--json", "--config", site.configuration] } + [
          ["version", "--json"],
          ["wallet", "fetch", Site.contract, "--json", "--cache", "\(site.folder)/c"] + repository,
        ]
      for words in all {
        let result = try await runAwd(words, home: site.folder)
        #expect(result.code == 0 && result.errors.isEmpty, "\(words): \(result)")
        let json = try? JSONSerialization.jsonObject(with: Data(result.output.utf8))
        #expect(json != nil, "\(words): \(result.output)")
        // All of them indent it.
        #expect(result.output.dropFirst().first == "\n", "\(words): \(result.output)")
      }
      let copy = try Site()
      let restored = try await copy.run("restore", "\(site.folder)/json.backup", "--json")
      #expect(restored.code == 0)
      _ = try JSONSerialization.jsonObject(with: Data(restored.output.utf8))
    }
  }

  /// Problems that keep the server from starting are wrong for `awd check`, others are doubtful.
  @Test func theCheckTellsWhatTheServerWouldDo() async throws {
    let site = try Site()
    try site.configure(rest: "hosts = [\"a.example\"]")
    #expect(try await site.run("check").code == 0)
    #expect(!FileManager.default.fileExists(atPath: site.data))
    try await site.serving { _ in }
    let checked = try await site.run("check", "--verbose")
    #expect(checked.code == 0 && checked.output.contains("# apptimist: good: keys \(site.data)/"))
    try site.configure(server: "trusted_proxies = [\"192.0.2.7\"]")
    #expect(try await site.run("check").output.contains("# apptimist: doubtful: identity: open"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: "\(site.data)/apptimist.keys")
    for command in ["check", "serve"] {
      let refused = try await site.run(command)
      #expect(refused.code == 1, "\(command)")
      #expect("\(refused.output)\(refused.errors)".contains("chmod 600"), "\(command)")
    }
  }

  private static let failures: [(words: [String], code: Int32)] = [
    (["serve", "--config", "none.toml"], 1), (["check", "--config", "none.toml"], 1),
    (["user", "remove", "nobody"], 1), (["push", "test", "nobody"], 1),
    (["keys", "show"], 1), (["restore", "none.backup"], 1), (["backup"], 2),
    (["wallet", "fetch", "0x12"], 2), (["user", "add"], 2), (["nothing"], 2), ([], 2),
  ]

  @Test(arguments: failures)
  func exits(_ words: [String], _ code: Int32) async throws {
    let site = try Site()
    let result = try await runAwd(words, home: site.folder)
    #expect(result.code == code && result.output.isEmpty && !result.errors.isEmpty, "\(result)")
  }
}
