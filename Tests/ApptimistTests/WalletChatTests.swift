internal import Foundation
internal import TestSupport
internal import Testing

/// Two built programs that talk through a third.
@Suite(.ownThreads) struct WalletChatTests {
  @Test func twoOfThemTalk() async throws {
    let folder = TemporaryFolder([
      "awd.toml": """
      [server]
      listen = ["127.0.0.1:0"]
      services = ["apptimist"]
      data = "data"
      """
    ])
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try await server.line(with: "listening at=http://127.0.0.1:")
    let port = line.split(separator: "listening at=http://127.0.0.1:").last ?? ""
    let url = "ws://127.0.0.1:\(port.prefix { $0.isNumber })/siren"
    func chat(_ who: String, _ further: [String]) throws -> ChildProcess {
      try .awd(
        ["wallet", "chat", "--server", url, "--folder", "\(folder.path)/\(who)"] + further,
        home: folder.path, input: nil)
    }

    // Bob waits for Ann, who has no account yet.
    let bob = try chat("bob", ["--name", "Bob", "--with", "ann"])
    try await bob.line(with: "nobody has this name or key yet; waiting for ann", on: .output)
    let ann = try chat("ann", ["--name", "Ann"])
    try await ann.line(with: "* connected", on: .output)
    #expect(ann.output.contains("the service's key is believed from now on"))
    try await bob.line(with: "* you talk to Ann", on: .output)
    #expect(bob.output.split(separator: "waiting for ann").count == 2)
    bob.type("hello Ann")
    try await ann.line(with: "> hello Ann", on: .output)
    ann.type("nobody to say it to")
    try await ann.line(with: "* to whom?", on: .output)
    ann.type("/to Bob")
    try await ann.line(with: "* you talk to Bob", on: .output)
    ann.type("hello\u{1b}[2J Bob")
    ann.type("//slash")
    try await bob.line(with: "Ann> /slash", on: .output)
    #expect(bob.output.contains("Ann> hello\u{FFFD}[2J Bob\n"))
    ann.type("/vouch Bob")
    try await ann.line(with: "* you vouch for Bob", on: .output)
    bob.type("/who Bob")
    try await bob.line(with: "vouchers: 1", on: .output)
    bob.type("/search a*")
    try await bob.line(with: " Ann\n", on: .output)
    bob.type("/to Carol")
    try await bob.line(with: "* nobody has this name", on: .output)

    // A message to somebody who is away is read later, once.
    ann.type("/quit")
    #expect(try await ann.ended() == .exited(0))
    bob.type("are you there?")
    bob.closeInput()
    #expect(try await bob.ended() == .exited(0))
    let again = try chat("ann", [])
    try await again.line(with: "> are you there?", on: .output)
    #expect(!again.output.contains("hello Ann") && !again.output.contains("believed"))
    again.type("/quit")
    #expect(try await again.ended() == .exited(0))

    let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/ann/keys")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    // Keys that other users can read are refused.
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: "\(folder.path)/ann/keys")
    let exposed = try chat("ann", [])
    #expect(try await exposed.ended() == .exited(1))
    try await exposed.line(with: "others may read it")
    // The service has another key than the expected one.
    let wrong = try chat(
      "carol", ["--name", "Carol", "--identity", String(repeating: "0", count: 64)])
    #expect(try await wrong.ended() == .exited(1))
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/carol/keys"))
  }

  @Test func usage() async throws {
    let folder = TemporaryFolder()
    for words in [["--server", "http://x"], ["--folder", folder.path], ["--nonsense"]] {
      let chat = try ChildProcess.awd(["wallet", "chat"] + words, home: folder.path)
      #expect(try await chat.ended() == .exited(2))
    }
  }
}
