internal import Foundation
internal import Testing

/// Two built programs that talk through a third.
@Suite struct WalletChatTests {
  @Test func twoOfThemTalk() async throws {
    let folder = try Folder([
      "awd.toml": """
      [server]
      listen = ["127.0.0.1:0"]
      services = ["apptimist"]
      data = "data"
      """
    ])
    let server = try SpawnedProgram(["serve", "--config", "\(folder.path)/awd.toml"])
    defer { server.terminate() }
    let line = try await server.wait(for: "listening at=http://127.0.0.1:")
    let port = line.split(separator: "listening at=http://127.0.0.1:").last ?? ""
    let url = "ws://127.0.0.1:\(port.prefix { $0.isNumber })/siren"
    func chat(_ who: String, _ further: [String]) throws -> SpawnedProgram {
      try SpawnedProgram(
        ["wallet", "chat", "--server", url, "--folder", "\(folder.path)/\(who)"] + further)
    }

    let ann = try chat("ann", ["--name", "Ann"])
    try await ann.wait(for: "* connected")
    #expect(ann.output.contains("the service's key is believed from now on"))
    let bob = try chat("bob", ["--name", "Bob", "--with", "ann"])
    try await bob.wait(for: "* you talk to Ann")
    bob.type("hello Ann")
    try await ann.wait(for: "> hello Ann")
    ann.type("nobody to say it to")
    try await ann.wait(for: "* to whom?")
    ann.type("/to Bob")
    try await ann.wait(for: "* you talk to Bob")
    ann.type("hello\u{1b}[2J Bob")
    ann.type("//slash")
    try await bob.wait(for: "Ann> /slash")
    #expect(bob.output.contains("Ann> hello\u{FFFD}[2J Bob\n"))
    ann.type("/vouch Bob")
    try await ann.wait(for: "* you vouch for Bob")
    bob.type("/who Bob")
    try await bob.wait(for: "vouchers: 1")
    bob.type("/search a*")
    try await bob.wait(for: " Ann\n")
    bob.type("/to Carol")
    try await bob.wait(for: "* nobody has this name")

    // A message to somebody who is away is read later, once.
    ann.type("/quit")
    #expect(try await ann.exitCode() == 0)
    bob.type("are you there?")
    bob.endInput()
    #expect(try await bob.exitCode() == 0)
    let again = try chat("ann", [])
    try await again.wait(for: "> are you there?")
    #expect(!again.output.contains("hello Ann") && !again.output.contains("believed"))
    again.type("/quit")
    #expect(try await again.exitCode() == 0)

    let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/ann/keys")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    // Keys that other users can read are refused.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: "\(folder.path)/ann/keys")
    let exposed = try chat("ann", [])
    #expect(try await exposed.exitCode() == 1)
    try await exposed.wait(for: "others may read it")
    // The service has another key than the expected one.
    let wrong = try chat(
      "carol", ["--name", "Carol", "--identity", String(repeating: "0", count: 64)])
    #expect(try await wrong.exitCode() == 1)
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/carol/keys"))
  }

  @Test func usage() async throws {
    let folder = try Folder()
    for words in [["--server", "http://x"], ["--folder", folder.path], ["--nonsense"]] {
      #expect(try await SpawnedProgram(["wallet", "chat"] + words).exitCode() == 2)
    }
  }
}
