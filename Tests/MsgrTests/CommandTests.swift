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
    _ command: any Command.Type, _ words: [String], beside fixture: Fixture, push: String = "log",
    outputProblem: (any Error)? = nil
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
          outputProblem: { outputProblem },
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
    for (words, reason) in [
      (["nobody"], "there is no account named nobody"),
      (["anna", "--to", "bert,nobody,none"], "there is no account named nobody, none"),
      (["anna", "--name", "cron"], "anna/cron exists already: choose another --name"),
    ] {
      let error = await #expect(throws: CommandError.self, "\(words)") {
        try await run(TokenNewCommand.self, words, beside: fixture)
      }
      #expect(error == .refused(reason))
    }
  }

  @Test func aTokenThatCannotBePrintedIsTakenBack() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let error = await #expect(throws: CommandError.self) {
      try await run(
        TokenNewCommand.self, ["anna"], beside: fixture, outputProblem: SystemError(ENOSPC))
    }
    #expect(
      error
        == .refused(
          "the output can't be written, so what was made was taken back: No space left on device"))
    #expect(try await run(TokenListCommand.self, [], beside: fixture).isEmpty)
  }

  @Test func accountsAreMadeAndRemoved() async throws {
    let fixture = try await Fixture()
    let password = try passwordFile("hunter2\n", fixture)
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

  @Test func aDisabledAccountNeitherLogsInNorGetsMessages() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    try await fixture.register("bert")
    try await fixture.send("before", from: "bert", to: "anna")
    let publisher = try await run(
      TokenNewCommand.self, ["anna", "--name", "cron", "--to", "bert"], beside: fixture)
    func statuses(_ password: String) async throws -> [Int] {
      [
        try await fixture.post("/contacts", ["Username": "anna", "Password": password]).status,
        try await fixture.post(
          "/login", ["Username": "anna", "Password": password, "DeviceID": Fixture.device("a")]
        ).status,
        try await fixture.send("hello", from: "bert", to: "anna").status,
      ]
    }

    let json = try await run(UserDisableCommand.self, ["--json", "anna"], beside: fixture)
    let disabled = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    #expect(disabled?["isDisabled"] as? Bool == true)
    #expect(disabled?["hasPassword"] as? Bool == true)
    #expect(disabled?["devices"] as? Int == 0)
    #expect(try await statuses("pw") == [403, 403, 403])
    #expect(try await fixture.post("/contacts", [:], token: token).status == 403)
    let published = try await fixture.request(
      .post, "/publish", body: Array("done".utf8),
      fields: [("Authorization", "Bearer \(publisher)")]
    )
    #expect(published.status == 403)
    #expect(try await run(UserListCommand.self, [], beside: fixture).contains("disabled"))
    let password = try passwordFile("new", fixture)
    // Nobody gets the name meanwhile, and a new password doesn't enable the account.
    await #expect(throws: CommandError.self) {
      try await run(UserAddCommand.self, password + ["anna"], beside: fixture)
    }
    try await run(UserPasswordCommand.self, password + ["anna"], beside: fixture)
    #expect(try await statuses("new") == [403, 403, 403])
    let again = try await run(UserDisableCommand.self, ["anna"], beside: fixture)
    #expect(again == "anna is disabled already")
    #expect(try await run(UserEnableCommand.self, ["anna"], beside: fixture).isEmpty)
    #expect(try await statuses("new") == [200, 200, 200])
    let inbox = try await fixture.post("/inbox", ["Username": "anna", "Password": "new"]).array
    #expect(
      inbox.map { ($0 as? [String: Any])?["Message"] as? String } == ["before", "hello"])
    let enabled = try await run(UserEnableCommand.self, ["anna"], beside: fixture)
    #expect(enabled == "anna is enabled already")
    for command in [UserEnableCommand.self, UserDisableCommand.self] as [any Command.Type] {
      await #expect(throws: CommandError.self) {
        try await run(command, ["nobody"], beside: fixture)
      }
    }
  }

  @Test func theOperatorExportsWhatTheUserExports() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    try await fixture.send("a\u{1b}b", from: "bert", to: "anna")
    let text = try await run(UserExportCommand.self, ["anna"], beside: fixture)
    #expect(!text.unicodeScalars.contains("\u{1b}"))
    let export = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
    let own = try await fixture.post("/export", ["Username": "anna", "Password": "pw"]).object
    #expect(export == own as NSDictionary)
    await #expect(throws: CommandError.refused("there is no such account")) {
      try await run(UserExportCommand.self, ["nobody"], beside: fixture)
    }
  }

  @Test func aTokenTellsItsLastUse() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let token = try await run(TokenNewCommand.self, ["anna", "--name", "cron"], beside: fixture)
    #expect(
      try await run(TokenListCommand.self, [], beside: fixture).hasSuffix("\tused never"))
    #expect(
      try await run(UserShowCommand.self, ["anna"], beside: fixture).contains("cron, used never"))
    fixture.clock.advance(by: .seconds(1))
    let response = try await fixture.request(
      .post, "/publish", body: Array("done".utf8), fields: [("Authorization", "Bearer \(token)")])
    #expect(response.status == 200)
    #expect(
      try await run(TokenListCommand.self, [], beside: fixture)
        .hasSuffix("\tused \(fixture.clock.now)"))
  }

  @Test func whatIsRevokedIsPrinted() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    try await run(TokenNewCommand.self, ["anna", "--name", "cron"], beside: fixture)
    let json = try await run(TokenRevokeCommand.self, ["--json", "anna/cron"], beside: fixture)
    let token = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    #expect(token?["owner"] as? String == "anna")
    #expect(token?["name"] as? String == "cron")
    #expect(token?["used"] as? String == token?["created"] as? String)
    #expect(try await run(TokenListCommand.self, [], beside: fixture).isEmpty)
  }

  @Test func aTestIsAMessage() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    #expect(try await run(PushTestCommand.self, ["anna"], beside: fixture) == "queued for 1 device")
    let message = try #require(try await fixture.inbox("anna").first)
    #expect(message["UserFrom"] as? String == "anna")
  }

  @Test func aTestOfNoDeviceSaysWhy() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    try await fixture.register("bert", device: "stream:bert-1234")
    let off = try await run(PushTestCommand.self, ["anna"], beside: fixture, push: "off")
    #expect(off.hasPrefix("queued for 0 devices: anna has allowed notifications in no browser"))
    #expect(off.contains("[msgr] push is \"off\""))
    let none = try await run(PushTestCommand.self, ["bert"], beside: fixture)
    #expect(none.hasPrefix("queued for 0 devices: bert has allowed notifications on no device"))
    #expect(try await fixture.inbox("anna").count == 1)
  }

  /// Browsers have push services of their own, which need no key of an operator's.
  @Test func aBrowserIsTestedWithoutPushesToPhones() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna", device: "stream:anna-1234")
    let receiver = try PushReceiver()
    try await fixture.store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_devices SET endpoint = ?, p256dh = ?, auth = ?",
        "https://push.example/anna", receiver.key, receiver.secret)
    }
    #expect(
      try await run(PushTestCommand.self, ["anna"], beside: fixture, push: "off")
        == "queued for 1 device")
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
