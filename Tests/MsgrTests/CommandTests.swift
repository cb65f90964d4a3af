internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// The commands, beside a running service on the same file.
@Suite struct CommandTests {
  /// Collects the lines that a command prints.
  private final class Output: Sendable {
    private let lines = Lock<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
  }

  @discardableResult
  private func run(
    _ command: any Command.Type, _ words: [String], beside fixture: Fixture, push: String = "log"
  ) async throws -> String {
    let output = Output()
    let path = "\(fixture.folder.path)/awd.sqlite3"
    let store = try await TestStore.open(path, migrations: MsgrService.migrations)
    let section = try ConfigurationReader(
      ConfigurationDocument(
        parsing: Array(
          "[msgr]\npush = \"\(push)\"\nminimum_password = 3\n\(Fixture.cheap)".utf8),
        file: "\(fixture.folder.path)/awd.toml")
    ).section("msgr")
    let context = ServiceContext(
      store: store, log: Log(level: .error, descriptor: -1),
      clock: { fixture.clock.now }, dataFolder: fixture.folder.path)
    let result: Result<Void, any Error>
    do {
      try await command.run(
        CommandContext(
          arguments: try CommandArguments(words, for: command.parameters),
          services: [MsgrService.self], environment: [:], print: output.add,
          readConfiguration: { _, _ in MsgrConfiguration(section) },
          openService: { _, _, _ in context }))
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await store.close()
    try result.get()
    return output.text
  }

  private func passwordFile(_ text: String, _ fixture: Fixture) throws -> [String] {
    let path = "\(fixture.folder.path)/password"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return ["--password-file", path]
  }

  @Test func aTokenIsMadeThatPublishes() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    let token = try await run(
      TokenNewCommand.self, ["anna", "--name", "cron", "--to", "bert"], beside: fixture)
    let response = try await fixture.request(
      .post, "/publish", body: Array("done".utf8), fields: [("Authorization", "Bearer \(token)")])
    #expect(response.status == 200)
    #expect(try await fixture.inbox("bert").first?["UserFrom"] as? String == "anna/cron")
    for words in [["nobody"], ["anna", "--to", "nobody"], ["anna", "--name", "cron"]] {
      await #expect(throws: CommandError.self, "\(words)") {
        try await run(TokenNewCommand.self, words, beside: fixture)
      }
    }
  }

  @Test func accountsAreMadeAndRemoved() async throws {
    let fixture = try await Fixture()
    let password = try passwordFile("hunter2\nsecond line\n", fixture)
    try await run(UserAddCommand.self, password + ["zoe\u{308}"], beside: fixture)
    let login = try await fixture.post(
      "/login", ["Username": "zoë", "Password": "hunter2", "DeviceID": Fixture.device("z")])
    #expect(login.status == 200)
    let again = await #expect(throws: CommandError.self) {
      try await run(UserAddCommand.self, password + ["zoë"], beside: fixture)
    }
    #expect(again == .refused("the name is taken"))
    #expect(try await run(UserListCommand.self, [], beside: fixture).contains("zoë\tsince 20"))
    let json = try await run(UserListCommand.self, ["--json"], beside: fixture)
    let accounts = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
    #expect(accounts?.first?["name"] as? String == "zoë")
    #expect(accounts?.first?["devices"] as? Int == 1)
    try await run(UserRemoveCommand.self, ["zoë"], beside: fixture)
    #expect(try await run(UserListCommand.self, [], beside: fixture).isEmpty)
    for command in [UserRemoveCommand.self, PushTestCommand.self] as [any Command.Type] {
      await #expect(throws: CommandError.self) { try await run(command, ["zoë"], beside: fixture) }
    }
  }

  @Test func aChangedPasswordCountsAtOnceAndEndsTokens() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    let password = try passwordFile("new", fixture)
    try await run(UserPasswordCommand.self, password + ["anna"], beside: fixture)
    #expect(
      try await fixture.post("/contacts", ["Username": "anna", "Password": "pw"]).status == 403)
    #expect(
      try await fixture.post("/contacts", ["Username": "anna", "Password": "new"]).status == 200)
    #expect(try await fixture.post("/contacts", [:], token: token).status == 403)
  }

  @Test func aTestIsAMessage() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    #expect(try await run(PushTestCommand.self, ["anna"], beside: fixture) == "queued for 1 device")
    let message = try #require(try await fixture.inbox("anna").first)
    #expect(message["UserFrom"] as? String == "anna")
  }

  @Test func nothingIsTestedIfNothingIsPushed() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let error = await #expect(throws: CommandError.self) {
      try await run(PushTestCommand.self, ["anna"], beside: fixture, push: "off")
    }
    #expect(error == .refused("nothing is pushed, as [msgr] push is \"off\""))
    #expect(try await fixture.inbox("anna").isEmpty)
  }

  /// The database holds what no request could have made.
  @Test(arguments: [Int64.min, .max]) func anyNameAndTimeIsListed(_ time: Int64) async throws {
    let fixture = try await Fixture()
    let name = "a\u{1b}[31m\u{202e}b\u{2028}"
    try await fixture.store.write { transaction in
      try transaction.execute(
        "INSERT INTO msgr_users (username, password, created_at) VALUES (?, '', ?)", name, time)
    }
    let list = try await run(UserListCommand.self, [], beside: fixture)
    #expect(list.hasPrefix("a\u{fffd}[31m\u{fffd}b\u{fffd}\tsince "))
    #expect(list.contains("29227"))
    let json = try await run(UserListCommand.self, ["--json"], beside: fixture)
    #expect(!json.unicodeScalars.contains("\u{1b}"))
    let accounts = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
    #expect(accounts?.first?["name"] as? String == name)
  }

  @Test(arguments: ["", "\n", "a\u{1}b", "ab"]) func badPasswordsAreRefused(_ text: String)
    async throws
  {
    let fixture = try await Fixture()
    let password = try passwordFile(text, fixture)
    await #expect(throws: CommandError.self) {
      try await run(UserAddCommand.self, password + ["anna"], beside: fixture)
    }
  }
}
