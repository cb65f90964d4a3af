internal import Foundation
internal import TestSupport
internal import Testing

/// The web app and `awd wallet chat`, which were written apart, with one account.
extension WebAppBrowserTests {
  @Test func anAccountIsSharedWithTheCommand() throws {
    let site = try Self.site()
    let folder = TemporaryFolder()
    func chat(_ name: String, _ arguments: [String]) throws -> ChildProcess {
      try .awd(
        ["wallet", "chat", "--folder", "\(folder.path)/\(name)"] + arguments, home: folder.path,
        input: nil)
    }
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("one")
    try anna.waitUntilSent()

    // From the app to the command.
    try anna.press("Settings")
    try anna.press("Link a device")
    let command = try chat("anna", ["--link", anna.link()])
    let asked = try command.line(with: "* type these digits at your other device: ", on: .output)
    try anna.wait(
      "document.querySelector('#link [role=status]').textContent.includes('awd wallet chat')")
    try anna.fill("link", ["digits": String(asked.suffix(6))])
    try command.line(with: "* connected", on: .output)
    // What was sent before is there, and what is sent at either is at both.
    try command.line(with: "anna to bert (", on: .output)
    #expect(command.output.contains("> one\n"))
    command.type("/me")
    try command.line(with: "* \(anna.key)", on: .output)
    command.type("/to bert")
    try command.line(with: "* you talk to bert", on: .output)
    command.type("two")
    try anna.open(bert, in: "Chats")
    try anna.sees(["one", "two"])
    try bert.open(anna, in: "Requests")
    try bert.press("Allow")
    try bert.sees(["one", "two"])
    try bert.say("three")
    try command.line(with: "bert> three", on: .output)
    try anna.sees(["one", "two", "three"])
    try bert.menu(2, "Delete for everyone")
    try command.line(with: "bert> (has taken a message back)", on: .output)
    try anna.sees(["one", "two"])

    // All see the same number, and both devices know who is verified.
    try anna.press("Details")
    try anna.wait("document.querySelector('#details').open")
    let number = try anna.browser.evaluate(
      "document.querySelector('[data-safety-number]').textContent")
    command.type("/verify yes")
    try command.line(with: "* \(number)", on: .output)
    try command.line(with: "* verified", on: .output)
    try anna.wait("document.querySelector('#with').hasAttribute('data-verified')")
    try anna.press("Close")

    // Whom one allows, the other knows; and both are among the devices.
    let carl = try WebAppPerson("carl", at: site)
    try carl.find("anna")
    try carl.say("may I?")
    try anna.wait("document.querySelector('#requests-list li') !== null")
    try command.line(with: "a request)> may I?", on: .output)
    command.type("/allow carl")
    try command.line(with: "* carl is allowed", on: .output)
    try anna.wait("document.querySelector('#requests-list li') === null")
    try anna.press("Settings")
    try anna.wait("document.querySelector('#devices').textContent.includes('awd wallet chat')")
    try anna.wait("document.querySelector('#devices').textContent.includes('This device')")
    try anna.press("Close")

    // Each knows whom the other blocks.
    command.type("/block bert")
    try command.line(with: "* bert is blocked", on: .output)
    try anna.press("Settings")
    try anna.wait("document.querySelector('#blocked li[data-key=\"\(bert.key)\"]') !== null")
    try anna.press("Unblock")
    try blockUntil {
      !String(decoding: try folder.read("anna/people"), as: UTF8.self).contains("blocked")
    }

    // From the command to the app.
    command.type("/link")
    let other = try command.line(with: "/app/#link=", on: .output)
    let third = try Browser()
    try third.open(String(other.dropFirst(2)))
    let digits = try third.digits()
    try command.line(with: "wants to be linked", on: .output)
    command.type("/link \(digits)")
    try command.line(with: "* linked", on: .output)
    try third.becomeDevice(of: "anna")
    try blockUntil { try third.evaluate("document.documentElement.dataset.connection") == "open" }
    #expect(try third.evaluate("document.documentElement.dataset.user") == anna.key)
    let linked = WebAppPerson(name: "anna", browser: third, key: anna.key)
    try linked.open(bert, in: "Chats")
    try linked.wait("document.querySelector('#with').hasAttribute('data-verified')")
    try linked.say("four")
    try command.line(with: "anna to bert> four", on: .output)

    // Wrong digits end a link, a folder with an account opens none, and the account is there at the next start.
    let before = command.output.utf8.count
    command.type("/link")
    let last = try command.line(with: "/app/#link=", on: .output, after: before)
    let stranger = try chat("stranger", ["--link", String(last.dropFirst(2))])
    let shown = try stranger.line(with: "* type these digits", on: .output).suffix(6)
    try command.line(with: "wants to be linked", on: .output, after: before)
    command.type("/link \(shown == "000000" ? "000001" : "000000")")
    try command.line(with: "the digits are wrong", on: .output)
    command.type("/link \(shown)")
    try command.line(with: "* nothing is to be linked", on: .output)
    #expect(try chat("anna", ["--link", String(last.dropFirst(2))]).ended() == .exited(1))
    #expect(try chat("other", ["--link", "https://example.org/"]).ended() == .exited(2))
    command.type("/quit")
    #expect(try command.ended() == .exited(0))
    let url = site.address.replacing("http:", with: "ws:") + "/siren"
    let again = try chat("anna", ["--server", url])
    try again.line(with: "* connected", on: .output)
    again.type("/me")
    try again.line(with: "* \(anna.key)", on: .output)
  }

  @Test func eitherImportsWhatTheOtherExports() throws {
    let site = try Self.site()
    let folder = TemporaryFolder()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let carl = try WebAppPerson("carl", at: site)
    try anna.befriend(bert, saying: "one")
    try bert.say("two")
    try anna.sees(["one", "two"])
    try anna.press("Details")
    try anna.press("Mark as verified")
    try anna.press("Close")
    try carl.find("anna")
    try carl.say("spam")
    try anna.open(carl, in: "Requests")
    try anna.press("Block")
    try anna.agree()

    // From the app to the command.
    try anna.run(
      """
      URL.createObjectURL = (blob) => {
        const reader = new FileReader();
        reader.onload = () => { window.saved = reader.result; };
        reader.readAsDataURL(blob);
        return "blob:nothing";
      };
      HTMLAnchorElement.prototype.click = () => {};
      """)
    try anna.press("Settings")
    try anna.press("Export")
    let field = "document.querySelector('#export [name=passphrase]').value"
    try anna.wait("\(field).length === 35")
    let passphrase = try anna.browser.evaluate(field)
    try anna.press("Save")
    try anna.wait("typeof window.saved === 'string'")
    let saved = try anna.browser.evaluate("window.saved").split(separator: ",").last ?? ""
    let content = try #require(Data(base64Encoded: String(saved)))
    try folder.write("app.export", Array(content))
    func chat(_ name: String, _ arguments: [String]) throws -> ChildProcess {
      try .awd(
        ["wallet", "chat", "--folder", "\(folder.path)/\(name)"] + arguments, home: folder.path,
        input: nil)
    }
    let wrong = try chat("anna", ["--import", "\(folder.path)/app.export"])
    wrong.type("\(passphrase)0")
    #expect(try wrong.ended() == .exited(1))
    let command = try chat("anna", ["--import", "\(folder.path)/app.export", "--with", "bert"])
    command.type(passphrase.replacing(" ", with: ""))
    try command.line(with: "* you talk to bert, \(bert.key)", on: .output)
    command.type("/me")
    try command.line(with: "* \(anna.key)", on: .output)
    command.type("/verify")
    try command.line(with: "* verified", on: .output)
    command.type("three")
    try bert.sees(["one", "two", "three"])
    try bert.say("four")
    try command.line(with: "bert> four", on: .output)
    try carl.say("unseen")
    try anna.open(bert, in: "Chats")
    try anna.sees(["one", "two", "three", "four"])
    #expect(!command.output.contains("spam") && !command.output.contains("unseen"))

    // From the command to the app.
    command.type("/export \(folder.path)/chat.export")
    let words = try command.line(with: "it opens with ", on: .output).suffix(35)
    let export = Data(try folder.read("chat.export")).base64EncodedString()
    let third = try Browser()
    try third.open("\(site.address)/siren/app/")
    try blockUntil { try third.evaluate("document.documentElement.dataset.view") == "welcome" }
    let linked = WebAppPerson(name: "anna", browser: third, key: anna.key)
    try linked.press("Import")
    try linked.run(
      """
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob('\(export)'), (sign) => sign.charCodeAt(0));
      transfer.items.add(new File([bytes], 'chat.export'));
      document.querySelector('#import [name=file]').files = transfer.files;
      """)
    try linked.fill("import", ["passphrase": "\(words)1"])
    try linked.wait("document.querySelector('#import .error').textContent.includes('passphrase')")
    try linked.fill("import", ["passphrase": String(words)])
    try linked.wait("document.documentElement.dataset.connection === 'open'")
    #expect(try third.evaluate("document.documentElement.dataset.user") == anna.key)
    try linked.open(bert, in: "Chats")
    try linked.wait("document.querySelector('#with').hasAttribute('data-verified')")
    try linked.sees(["one", "two", "three", "four"])
    try linked.press("Settings")
    try linked.wait("document.querySelector('#blocked li[data-key=\"\(carl.key)\"]') !== null")
    try linked.press("Close")
    try linked.say("five")
    try command.line(with: "anna to bert> five", on: .output)
    try bert.sees(["one", "two", "three", "four", "five"])
  }
}
