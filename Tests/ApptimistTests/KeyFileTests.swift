internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist
@testable import Commands

@Suite("Keys, invitations and their commands") struct KeyFileTests {
  @Test func makesKeysOnce() throws {
    let folder = TemporaryFolder()
    let file = KeyFile(path: "\(folder.path)/keys")
    #expect(throws: KeyFile.Failure.self) { try file.existing() }
    let (made, isNew) = try file.open()
    #expect(isNew)
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let before = try Data(contentsOf: URL(filePath: file.path))
    #expect(try !file.make())
    #expect(try !file.open().isNew)
    #expect(try Data(contentsOf: URL(filePath: file.path)) == before)
    let read = try file.existing()
    #expect(read.identity == made.identity)
    #expect(read.storage.open(made.storage.seal([1, 2])) == [1, 2])
    let key = TestUser().key
    #expect(read.hash(ofEphemeral: key) == made.hash(ofEphemeral: key))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["keys"])
  }

  @Test func theCheckTellsOfKeysAndIdentity() async throws {
    let folder = TemporaryFolder()
    func grades(_ toml: String = "", isExposed: Bool = false) async throws -> [String] {
      let document = try ConfigurationDocument(
        parsing: Array("[apptimist]\n\(toml)".utf8), file: "/test.toml")
      var configuration = ApptimistConfiguration(ConfigurationReader(document).section("apptimist"))
      configuration.keys = "\(folder.path)/keys"
      return await configuration.findings(isExposed: isExposed).map(\.grade.rawValue)
    }
    // Without a file there will be one.
    #expect(try await grades() == ["good", "good"])
    let file = KeyFile(path: "\(folder.path)/keys")
    _ = try file.open()
    #expect(try await grades() == ["good", "good"])
    #expect(try await grades(isExposed: true) == ["good", "doubtful"])
    #expect(try await grades("identity = \"invite\"", isExposed: true) == ["good", "good"])
    let facebook = """
      identity = "facebook"
      facebook = { app_id = "1", app_secret = "s", graph_url = "http://127.0.0.1:1" }
      """
    #expect(try await grades(facebook, isExposed: true) == ["good", "good", "doubtful"])
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    #expect(try await grades() == ["wrong", "good"])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    try Data("none\n".utf8).write(to: URL(filePath: file.path))
    #expect(try await grades() == ["wrong", "good"])
  }

  @Test func refusesKeysThatOthersMayRead() throws {
    let folder = TemporaryFolder()
    let file = KeyFile(path: "\(folder.path)/keys")
    _ = try file.open()
    for mode in [0o640, 0o604, 0o644] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
      #expect(throws: KeyFile.Failure.self) { try file.open() }
    }
  }

  @Test(arguments: ["", "encryption = 00\n", "x"])
  func refusesWhatAreNoKeys(text: String) throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/keys"
    let isMade = FileManager.default.createFile(
      atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    #expect(isMade)
    #expect(throws: KeyFile.Failure.self) { try KeyFile(path: path).open() }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(text.utf8))
  }

  // MARK: Commands

  /// Runs a command against a folder.
  private func run(
    _ command: any Command.Type, _ words: [String], in folder: TemporaryFolder, store: Store
  ) async throws -> String {
    let lines = Lock<[String]>([])
    let context = CommandContext(
      arguments: try CommandArguments(words, for: command.parameters),
      services: [ApptimistService.self], environment: [:],
      print: { line in lines.withLock { $0.append(line) } },
      readConfiguration: { _, _ in
        try TestServer.context("[apptimist]", folder, store).1
      },
      openService: { _, _, _ in try TestServer.context("[apptimist]", folder, store).0 })
    try await command.run(context)
    return lines.withLock { $0.joined(separator: "\n") }
  }

  @Test func showsAndMakesKeys() async throws {
    let folder = TemporaryFolder()
    let store = try await Store.open(.memory, migrations: ApptimistService.migrations)
    await #expect(throws: CommandError.self) {
      try await run(KeysShowCommand.self, [], in: folder, store: store)
    }
    _ = try await run(KeysNewCommand.self, [], in: folder, store: store)
    let keys = try KeyFile(path: "\(folder.path)/apptimist.keys").existing()
    await #expect(throws: CommandError.self) {
      try await run(KeysNewCommand.self, [], in: folder, store: store)
    }
    let shown = try await run(KeysShowCommand.self, [], in: folder, store: store)
    #expect(shown.contains(keys.identity.encryptionKey.hex))
    let secret = keys.encryption.withSecret { Hex.encode($0) }
    #expect(!shown.contains(secret))
    let json = try await run(KeysShowCommand.self, ["--json"], in: folder, store: store)
    let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    #expect(object?["service"] as? String == "siren")
    #expect(object?["signature"] as? String == keys.identity.signature.hex)
    await store.close()
  }

  @Test func makesInvitations() async throws {
    try await withServer("identity = \"invite\"") { server in
      let arguments = ["--uid", "42", "--uses", "2", "--expires", "1h"]
      let token = try await run(
        InviteNewCommand.self, arguments, in: server.folder, store: server.store
      ).split(separator: "\n")[0]
      for (uid, given, isIn) in [
        ("42", "", false), ("42", "\(token)x", false), ("41", "\(token)", false),
        ("42", "\(token)", true), ("42", "\(token)", true), ("42", "\(token)", false),
      ] {
        let user = TestUser()
        let device = try TestDevice(user, to: server)
        try device.send(try user.new(uid: uid, token: given))
        if isIn {
          try device.send(user.login())
          try await device.settle()
        } else {
          #expect(try await device.next() == .closed(1008), "\(uid) \(given)")
        }
      }
      for words in [["--uses", "0"], ["--expires", "soon"], ["--expires", "0s"]] {
        await #expect(throws: CommandError.self, "\(words)") {
          try await run(InviteNewCommand.self, words, in: server.folder, store: server.store)
        }
      }
    }
  }
}
