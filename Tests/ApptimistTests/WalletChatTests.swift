internal import Cryptography
internal import Foundation
internal import TestSupport
internal import Testing

/// Two built programs that talk through a third.
@Suite(.ownThreads) struct WalletChatTests {
  @Test func twoOfThemTalk() async throws {
    let service = try await ChatService()
    let folder = service.folder
    func chat(_ who: String, _ further: [String]) throws -> ChildProcess {
      try service.chat(who, further)
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

  @Test func twoDevicesShareAnAccount() async throws {
    let service = try await ChatService()
    let ann = try service.chat("ann", ["--name", "Ann"])
    try await ann.line(with: "* connected", on: .output)
    let bob = try service.chat("bob", ["--name", "Bob", "--with", "Ann"])
    try await bob.line(with: "* you talk to Ann", on: .output)
    bob.type("hello")
    // Writing first allows.
    try await bob.line(with: "* Ann is allowed", on: .output)
    try await ann.line(with: "…, a request)> hello", on: .output)
    ann.type("/allow Bob")
    try await ann.line(with: "* Bob is allowed", on: .output)

    // Another device with the same keys reads the same private file.
    for name in ["keys", "service.json"] {
      _ = try service.folder.write("second/\(name)", service.folder.read("ann/\(name)"))
    }
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: "\(service.folder.path)/second/keys")
    let second = try service.chat("second", ["--name", "Ann"])
    try await second.line(with: "…)> hello", on: .output)
    #expect(!second.output.contains("request"))
    ann.type("/to Bob")
    ann.type("good evening")
    try await bob.line(with: "Ann> good evening", on: .output)
    try await second.line(with: "Ann to Bob (", on: .output)
    #expect(second.output.contains("…)> good evening"))

    // What is blocked at one of them is shown at neither, and allowed again later.
    second.type("/block Bob")
    try await second.line(with: "* Bob is blocked", on: .output)
    try await waitUntil { try service.people(of: "ann").contains("blocked") }
    bob.type("unseen")
    bob.type("/who")
    try await bob.line(with: "vouchers: 0", on: .output)
    second.type("/who Bob")
    try await second.line(with: "vouchers: 0", on: .output)
    second.type("/allow Bob")
    try await second.line(with: "* Bob is allowed", on: .output)
    try await waitUntil { try !service.people(of: "ann").contains("blocked") }
    bob.type("seen")
    for device in [ann, second] {
      try await device.line(with: "> seen", on: .output)
      #expect(!device.output.contains("unseen"))
    }

    // Both have the same number; what one device has verified, the other knows.
    var numbers: [Substring] = []
    for device in [ann, bob] {
      device.type("/verify")
      try await device.line(with: "* not verified", on: .output)
      numbers += device.output.matches(of: /[0-9]{5}( [0-9]{5}){11}/).map(\.0)
    }
    #expect(numbers.count == 2 && numbers.first == numbers.last)
    ann.type("/verify yes")
    try await ann.line(with: "* verified", on: .output)
    try await waitUntil { try service.people(of: "second").contains("verified") }
    second.type("/to Bob")
    second.type("/verify")
    try await second.line(with: "* verified", on: .output)
  }

  /// Another key of signatures than the one that was seen first.
  @Test func aChangedKeyIsWarnedOf() async throws {
    let service = try await ChatService()
    let bob = try service.chat("bob", ["--name", "Bob"])
    try await bob.line(with: "* connected", on: .output)
    let ann = try service.chat("ann", ["--name", "Ann", "--with", "Bob"])
    let user = try await ann.line(with: "* you talk to Bob", on: .output).suffix(64)
    ann.type("/verify yes")
    try await ann.line(with: "* verified", on: .output)
    ann.type("/quit")
    #expect(try await ann.ended() == .exited(0))

    // As if it had been another one before.
    let known = String(decoding: try service.folder.read("ann/known"), as: UTF8.self)
    let line = try #require(known.split(separator: "\n").first { $0.hasPrefix(user) })
    let key = try #require(line.split(separator: " ").dropFirst().first)
    let other = AuthenticationKeyPair.generate().publicKey.hex
    _ = try service.folder.write("ann/known", known.replacing(key, with: other))
    let people = try service.people(of: "ann").replacing(key, with: other)
    _ = try service.folder.write("ann/people", people)
    let again = try service.chat("ann", ["--with", "Bob"])
    try await again.line(with: "* the key of Bob has changed", on: .output)
    again.type("unseen")
    try await again.line(with: "* not sent: the key of Bob has changed", on: .output)
    bob.type("/to Ann")
    bob.type("hello")
    try await again.line(with: "> hello", on: .output)
    again.type("/verify yes")
    try await again.line(with: "* verified", on: .output)
    again.type("seen")
    try await bob.line(with: "> seen", on: .output)
    #expect(!bob.output.contains("unseen"))
  }

  /// Somebody who fills slots, or knows the code only, gets nothing.
  @Test func linksAreForTheirTwoDevices() async throws {
    let service = try await ChatService()
    let ann = try service.chat("ann", ["--name", "Ann"])
    try await ann.line(with: "* connected", on: .output)
    func code() async throws -> String {
      let count = ann.output.utf8.count
      ann.type("/link")
      return String(try await ann.line(with: "/app/#link=", on: .output, after: count).dropFirst(2))
    }
    /// Fills the slot of a code.
    func put(_ code: String, _ part: Int) async throws {
      let base64 = code.suffix(43).replacing("-", with: "+").replacing("_", with: "/")
      let secret = Array(try #require(Data(base64Encoded: base64 + "=")))
      let slot = SHA512.hash(Array("apptimist.2 link slot\0".utf8) + secret).bytes.prefix(16)
      let site = code.prefix { $0 != "#" }.dropLast("app/".count)
      let answer = try await ChildProcess.run(
        "curl",
        [
          "-sS", "-X", "PUT", "--data-binary", String(repeating: "x", count: 80), "-w",
          "%{http_code}", "\(site)link/\(Hex.encode(slot))/\(part)",
        ])
      #expect(answer.output.hasSuffix("201"), "\(answer)")
    }

    // A part that isn't for the code.
    try await put(code(), 1)
    try await ann.line(with: "* a link is over", on: .output)
    ann.type("/link 000000")
    try await ann.line(with: "* nothing is to be linked", on: .output)

    // A code that was given up for another, and one that was used.
    let first = try await code()
    let second = try await code()
    try await waitUntil { ann.output.split(separator: "* a link is over").count == 3 }
    let late = try service.chat("late", ["--link", first])
    try await late.line(with: "* type these digits", on: .output)
    let new = try service.chat("new", ["--link", second])
    let digits = try await new.line(with: "* type these digits", on: .output).suffix(6)
    try await ann.line(with: "* “awd wallet chat” wants to be linked", on: .output)
    let thief = try service.chat("thief", ["--link", second])
    #expect(try await thief.ended() == .exited(1))
    try await thief.line(with: "the service refused the link (status 409)")
    ann.type("/link \(digits)")
    try await new.line(with: "* connected", on: .output)
    let count = ann.output.utf8.count
    ann.type("/link \(digits)")
    try await ann.line(with: "* nothing is to be linked", on: .output, after: count)
    #expect(try service.folder.read("new/keys") == service.folder.read("ann/keys"))
    // Both are among the user's devices.
    try await waitUntil {
      try service.people(of: "ann").split(separator: "awd wallet chat").count == 3
    }

    // An answer that isn't for the device leaves nothing behind.
    let third = try await code()
    let fooled = try service.chat("fooled", ["--link", third])
    try await fooled.line(with: "* type these digits", on: .output)
    try await put(third, 2)
    #expect(try await fooled.ended() == .exited(1))
    try await fooled.line(with: "there was no answer for this device")
    for name in ["thief", "fooled", "late"] {
      #expect(!FileManager.default.fileExists(atPath: "\(service.folder.path)/\(name)/keys"))
    }
    for name in ["keys", "people", "place"] {
      let attributes = try FileManager.default.attributesOfItem(
        atPath: "\(service.folder.path)/new/\(name)")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func anAccountIsExported() async throws {
    let service = try await ChatService()
    let path = "\(service.folder.path)/ann.export"
    let bob = try service.chat("bob", ["--name", "Bob"])
    try await bob.line(with: "* connected", on: .output)
    let ann = try service.chat("ann", ["--name", "Ann", "--with", "Bob"])
    try await ann.line(with: "* you talk to Bob", on: .output)
    ann.type("/verify yes")
    try await ann.line(with: "* verified", on: .output)
    ann.type("/export \(path)")
    let line = try await ann.line(with: "it opens with ", on: .output)
    let passphrase = String(line.suffix(35))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    ann.type("/export \(path)")
    try await ann.line(with: "is there already", on: .output)
    ann.type("/export \(service.folder.path)/nowhere/ann.export")
    try await ann.line(with: "* No such file", on: .output)

    // What the folder of the new device is asked for, and what it says of bad files.
    for (file, typed, problem) in [
      (path, "\(passphrase)1", "has another passphrase"), (path, "", "has another passphrase"),
      ("\(service.folder.path)/awd.toml", passphrase, "is no export"),
      ("\(service.folder.path)/missing", passphrase, "missing"),
    ] {
      let wrong = try service.chat("wrong", ["--import", file])
      wrong.type(typed)
      #expect(try await wrong.ended() == .exited(1))
      try await wrong.line(with: problem)
      #expect(!FileManager.default.fileExists(atPath: "\(service.folder.path)/wrong"))
    }
    let taken = try service.chat("ann", ["--import", path])
    #expect(try await taken.ended() == .exited(1))
    try await taken.line(with: "has an account already")
    let new = try service.chat("new", ["--import", path, "--with", "Bob"])
    new.type(passphrase)
    try await new.line(with: "* you talk to Bob", on: .output)
    #expect(try service.people(of: "new").contains("verified"))
    new.type("/verify")
    try await new.line(with: "* verified", on: .output)
    new.type("hello")
    try await bob.line(with: "> hello", on: .output)
    let digits = passphrase.replacing(" ", with: "")
    #expect(!new.output.contains(passphrase) && !new.output.contains(digits))
  }

  /// A command beside the running server ends what a user does there.
  @Test func aDisabledUserIsSentAway() async throws {
    let service = try await ChatService()
    let ann = try service.chat("ann", ["--name", "Ann"])
    try await ann.line(with: "* connected", on: .output)
    let bob = try service.chat("bob", ["--name", "Bob", "--with", "Ann"])
    let key = try await bob.line(with: "* you talk to Ann", on: .output).suffix(64)
    bob.type("hello")
    try await ann.line(with: "> hello", on: .output)
    #expect(try await service.run("apptimist", "user", "disable", String(key)) == 0)
    #expect(try await ann.ended() == .exited(1))
    try await ann.line(with: "* connection lost", on: .output)
    bob.type("are you there?")
    try await bob.line(with: "* not sent: no user and no forum has this key", on: .output)
    #expect(try await service.run("apptimist", "user", "enable", String(key)) == 0)
    let again = try service.chat("ann", [])
    try await again.line(with: "* connected", on: .output)
    bob.type("hello again")
    try await again.line(with: "> hello again", on: .output)
    #expect(!again.output.contains("are you there?"))
    #expect(try await service.run("apptimist", "user", "remove", String(key)) == 0)
    #expect(try await again.ended() == .exited(1))
  }

  @Test func repliesReactionsAndEdits() async throws {
    let service = try await ChatService()
    let ann = try service.chat("ann", ["--name", "Ann"])
    try await ann.line(with: "* connected", on: .output)
    let bob = try service.chat("bob", ["--name", "Bob", "--with", "Ann"])
    try await bob.line(with: "* you talk to Ann", on: .output)
    bob.type("/reply nothing")
    try await bob.line(with: "* there is no such message", on: .output)
    ann.type("/to Bob")
    ann.type("hello")
    try await bob.line(with: "Ann> hello", on: .output)
    bob.type("/reply hello Ann")
    try await ann.line(with: "Bob> (in reply to “hello”) hello Ann", on: .output)
    bob.type("/react 👍")
    try await ann.line(with: "Bob> (reacts with 👍 to “hello”)", on: .output)
    bob.type("/react")
    try await ann.line(with: "Bob> (takes the reaction to “hello” back)", on: .output)
    bob.type("/react two words")
    try await bob.line(with: "* a reaction is one emoji", on: .output)
    ann.type("/edit #1 good morning")
    try await ann.line(with: "* edited “hello”", on: .output)
    try await bob.line(with: "Ann> (edits “hello”) good morning", on: .output)
    bob.type("/edit #1 mine")
    try await bob.line(with: "* #1 isn't yours", on: .output)
    bob.type("/messages")
    try await bob.line(with: "* #1 Ann: “good morning” (edited)", on: .output)
    try await bob.line(with: "* #2 you: “(in reply to “hello”) hello Ann”", on: .output)
    ann.type("/delete #1")
    try await bob.line(with: "Ann> (has taken a message back)", on: .output)
    bob.type("/messages")
    try await bob.line(with: "* #2 you", on: .output)
    bob.type("/reply #1 too late")
    try await bob.line(
      with: "* there is no such message", on: .output, after: bob.output.utf8.count / 2)
    ann.type("/search b")
    try await ann.line(with: "* /search takes at least two characters", on: .output)
  }

  /// Whole inputs that come at once, against each other.
  @Test func pipesAreReadToTheirEnds() async throws {
    let service = try await ChatService()
    let count = 150
    func lines(_ who: String) -> String {
      (1...count).map { "\(who) says \($0).\n" }.joined()
    }
    let long = String(repeating: "long ", count: 12_000)
    let ann = try service.chat("ann", ["--name", "Ann", "--with", "Bob"], input: lines("ann"))
    let bob = try service.chat(
      "bob", ["--name", "Bob", "--with", "Ann"], input: lines("bob") + "\(long)\n")
    #expect(try await ann.ended() == .exited(0))
    #expect(try await bob.ended() == .exited(0))
    // What one of them didn't see before its input ended waits for the next time.
    let again = try service.chat("ann", [])
    if ann.output.contains("> \(long)") {
      try await again.line(with: "* connected", on: .output)
    } else {
      try await again.line(with: "> \(long)", on: .output)
    }
    let shown = (ann.output + again.output).split(separator: "\n").filter {
      $0.contains("> bob says ")
    }
    #expect(shown.map { $0.split(separator: " ").last } == (1...count).map { "\($0)." })
    #expect(!ann.output.contains("not sent") && !bob.output.contains("not sent"))
  }

  /// The system's own editing would cut the line after 4,095 bytes.
  @Test func longLinesAreTypedAtATerminal() async throws {
    let service = try await ChatService()
    let bob = try service.chat("bob", ["--name", "Bob"])
    try await bob.line(with: "* connected", on: .output)
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "Python/terminal.py").path
    async let outcome = ChildProcess.run(
      "/usr/bin/python3",
      [
        script, ChildProcess.built("awd"), service.url, "\(service.folder.path)/typist", "Bob",
        "20000",
      ], within: .seconds(120))
    let line = try await bob.line(with: "longlong", on: .output)
    #expect(line.hasSuffix("> \(String(repeating: "long", count: 5_000))"))
    try await bob.line(with: "> right", on: .output)
    bob.type("/to Typist")
    bob.type("in between")
    try await bob.line(with: "> half a line", on: .output)
    let result = try await outcome
    #expect(result.code == 0, "\(result)")
    let expected = ["code": 0, "isRestored": 1, "interrupted": 1, "isGivenBack": 1, "isEchoed": 1]
    let found = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Int]
    #expect(found == expected)
    #expect(!bob.output.contains("never sent") && !bob.output.contains("wrong"))
  }

  @Test func usage() async throws {
    let folder = TemporaryFolder()
    for words in [
      ["--server", "http://x"], ["--folder", folder.path], ["--nonsense"], ["--link", ""],
      ["--link", "https://example.org/app/#link=x"], ["--import"], ["--link"],
    ] {
      let chat = try ChildProcess.awd(["wallet", "chat"] + words, home: folder.path)
      #expect(try await chat.ended() == .exited(2))
    }
  }
}

/// A service, and chats in folders of their own.
private struct ChatService {
  let folder: TemporaryFolder
  let url: String
  private let server: ChildProcess

  init() async throws {
    folder = TemporaryFolder([
      "awd.toml": """
      [server]
      listen = ["127.0.0.1:0"]
      services = ["apptimist"]
      data = "data"
      [apptimist]
      refusal_min = "0s"
      refusal_max = "0s"
      """
    ])
    server = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try await server.line(with: "listening at=http://127.0.0.1:")
    let port = line.split(separator: "listening at=http://127.0.0.1:").last ?? ""
    url = "ws://127.0.0.1:\(port.prefix { $0.isNumber })/siren"
  }

  /// Runs a command beside the server, and returns its exit code.
  func run(_ words: String...) async throws -> Int32 {
    let command = try ChildProcess.awd(
      words + ["--config", "\(folder.path)/awd.toml"], home: folder.path)
    guard case .exited(let code) = try await command.ended() else { return -1 }
    return code
  }

  /// What a chat has stored of whom its user allows and blocks.
  func people(of who: String) throws -> String {
    String(decoding: try folder.read("\(who)/people"), as: UTF8.self)
  }

  func chat(
    _ who: String, _ further: [String], input: String? = nil
  ) throws -> ChildProcess {
    try .awd(
      ["wallet", "chat", "--server", url, "--folder", "\(folder.path)/\(who)"] + further,
      home: folder.path, input: input)
  }
}
