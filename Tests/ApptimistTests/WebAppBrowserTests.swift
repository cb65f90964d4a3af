internal import Foundation
internal import TestSupport
internal import Testing

/// The web app of Apptimist, with people in browsers.
@Suite(.ownThreads, .serialized, .enabled(if: Browser.isThere)) struct WebAppBrowserTests {
  static let hostile = "<img src=x onerror=\"document.title='broken'\"> \u{202e}turned"

  static func site() throws -> WebAppSite {
    try WebAppSite(service: "apptimist", configuration: "web = true\n")
  }

  @Test func twoPeopleTalk() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("hello")
    try anna.waitUntilSent()

    // A stranger asks, and is allowed.
    try bert.open(anna, in: "Requests")
    #expect(try bert.isShown("#answer"))
    #expect(try !bert.isShown("#compose"))
    try bert.press("Allow")
    try bert.wait("!document.querySelector('#compose').hidden")
    try bert.say("hello, anna")
    try anna.sees(["hello", "hello, anna"])

    // The server is killed, and what Anna writes meanwhile waits, also beyond a reload.
    try bert.browser.closePage()
    try site.kill()
    try anna.wait("document.documentElement.dataset.connection === 'closed'")
    try anna.say("one")
    try anna.say("two")
    try anna.wait("document.querySelectorAll('#messages li[data-state=waiting]').length === 2")
    try site.restart()
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try anna.open(bert, in: "Chats")
    let all = ["hello", "hello, anna", "one", "two"]
    try anna.sees(all)
    try anna.wait("document.querySelectorAll('#messages li[data-state=sent]').length === 3")

    // Bert comes back, has two unread messages, and misses nothing; nor is anything there twice after another start.
    try bert.browser.open("\(site.address)/siren/app/")
    try bert.wait("document.querySelector('li[data-unread=\"2\"]') !== null")
    try bert.open(anna, in: "Chats")
    try bert.sees(all)
    try bert.wait("document.querySelector('li[data-unread=\"0\"]') !== null")
    for person in [anna, bert] {
      try person.browser.open("\(site.address)/siren/app/?once")
      try person.wait("document.documentElement.dataset.connection === 'open'")
    }
    try anna.open(bert, in: "Chats")
    try bert.open(anna, in: "Chats")
    try anna.sees(all)
    try bert.sees(all)

    // Nothing stands in the clear in the browser.
    let stored = try bert.stored()
    for text in ["hello", "anna", anna.key] { #expect(!stored.contains(text), "\(text)") }
  }

  @Test func messagesAreTakenBackAndPeopleBlocked() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    for text in ["one", "two", "three"] { try anna.say(text) }
    try bert.open(anna, in: "Requests")
    try bert.press("Allow")
    try bert.sees(["one", "two", "three"])
    try anna.menu(1, "Delete for everyone")
    try anna.sees(["one", "three"])
    try bert.sees(["one", "three"])
    // What is deleted here stays with the other.
    try anna.menu(0, "Delete")
    try anna.sees(["three"])
    try bert.sees(["one", "three"])

    try bert.press("Details")
    try bert.press("Block")
    try bert.agree()
    try bert.wait("document.querySelectorAll('#people li').length === 0")
    try anna.say("four")
    try anna.wait("document.querySelectorAll('#messages li[data-state=sent]').length === 2")
    // The block is in the private file, which the browser's page reads again.
    try bert.browser.open("\(site.address)/siren/app/?again")
    try bert.wait("document.documentElement.dataset.connection === 'open'")
    try bert.press("Settings")
    try bert.wait("document.querySelector('#blocked li[data-key=\"\(anna.key)\"]') !== null")
    #expect(try bert.browser.evaluate("document.querySelectorAll('.people li').length") == "0")
  }

  @Test func safetyNumbersAreTheSame() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("hello")
    try bert.open(anna, in: "Requests")
    var numbers: [String] = []
    for person in [anna, bert] {
      try person.press("Details")
      try person.wait("document.querySelector('#details').open")
      numbers.append(
        try person.browser.evaluate("document.querySelector('[data-safety-number]').textContent"))
    }
    #expect(numbers[0] == numbers[1])
    #expect(numbers[0].wholeMatch(of: /[0-9]{5}( [0-9]{5}){11}/) != nil)
    try anna.press("Mark as verified")
    try anna.wait("document.querySelector('#with').hasAttribute('data-verified')")
    try anna.wait("!document.querySelector('#vouch').disabled")
    try anna.press("Vouch")
    try anna.agree()
    try anna.wait("document.querySelector('#vouchers li[data-key=\"\(anna.key)\"]') !== null")
  }

  @Test func whatOthersWriteIsText() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    // A name with a hidden character is refused; what turns text around is in the file's name below.
    let evil = try WebAppPerson("<i>x</i>", at: site)
    try evil.find("anna")
    let texts = [Self.hostile, "javascript:alert(1) https://example.org/x", "{\"text\":\"json\"}"]
    for text in texts { try evil.say(text) }
    try evil.run(
      """
      const transfer = new DataTransfer();
      transfer.items.add(new File(['<script>1</script>'], 'a/../x\\u202e.html', { type: 'text/html' }));
      const field = document.querySelector('#file');
      field.files = transfer.files;
      field.dispatchEvent(new Event('change'));
      """)
    try evil.wait("document.querySelectorAll('#messages li[data-state=sent]').length === 4")
    try anna.open(evil, in: "Requests")
    try anna.wait("document.querySelectorAll('#messages .file').length === 1")
    try anna.sees(texts)
    // No link of a stranger is live.
    #expect(try anna.browser.evaluate("document.querySelectorAll('#messages a').length") == "0")
    #expect(
      try anna.browser.evaluate("document.querySelector('.file button').disabled") == "true")
    try anna.press("Allow")
    try anna.wait("document.querySelectorAll('#messages a').length === 1")
    // A file keeps neither its path nor what turns its name around, and no page but the own one shows it.
    try anna.run(
      """
      window.saved = [];
      HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); };
      """)
    try anna.press("Save x.html")
    try anna.wait("window.saved.length === 1")
    #expect(try anna.browser.evaluate("window.saved[0]") == "x.html")
    try anna.press("Details")
    #expect(
      try anna.browser.evaluate("document.querySelectorAll('main img, main i').length") == "0")
    #expect(try anna.browser.evaluate("document.title").hasSuffix("Apptimist"))
    for width in [320, 1200] {
      try anna.browser.resize(width: width, height: 640)
      let root = "document.documentElement"
      #expect(try anna.browser.evaluate("\(root).scrollWidth <= \(root).clientWidth") == "true")
    }
  }

  @Test func computesTheVectors() throws {
    let site = try Self.site()
    let browser = try Browser()
    try browser.open("\(site.address)/siren/app/")
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let worker = try ChildProcess.run("curl", ["-s", "\(site.address)/siren/app/worker.js"]).output
    let vectors = try String(
      contentsOf: tests.appending(path: "../ApptimistProtocolTests/Vectors/people.json"),
      encoding: .utf8)
    for name in [
      "account", "people", "contents", "export", "files", "link", "names", "terms", "view",
    ] {
      let file = try #require(try worker.firstMatch(of: Regex("\(name)\\.[0-9a-f]{16}\\.js"))?.0)
      let script = try String(
        contentsOf: tests.appending(path: "JavaScript/\(name).js"), encoding: .utf8)
      let different = try browser.run(
        """
        \(script)
        return import('/siren/app/\(file)').then(async (module) => {
          const { count, different } = await compare(module, \(vectors));
          return count > 20 ? different.join() : 'nothing was compared';
        });
        """)
      #expect(different as? String == "")
    }
  }

  @Test(.enabled(if: TestTools.axe != nil)) func noViewHasAViolation() throws {
    let site = try Self.site()
    func check(_ browser: Browser, _ view: String) throws {
      #expect(try browser.barriers() == [], "\(view)")
    }
    let visitor = try Browser()
    try visitor.open("\(site.address)/siren/app/")
    try blockUntil {
      try visitor.evaluate("document.documentElement.dataset.view") == "welcome"
    }
    try check(visitor, "welcome")
    let anna = try WebAppPerson("anna", at: site)
    try check(anna.browser, "nobody")
    let bert = try WebAppPerson("ברט", at: site)
    try bert.find("anna")
    for text in ["שלום", String(repeating: "a long message ", count: 200)] { try bert.say(text) }
    try anna.wait("document.querySelector('#requests-list li') !== null")
    try check(anna.browser, "a request in the list")
    try anna.open(bert, in: "Requests")
    try check(anna.browser, "a request")
    try anna.press("Allow")
    try anna.say("hello https://example.org/")
    try anna.waitUntilSent()
    try check(anna.browser, "a chat")
    try anna.press("Details")
    try anna.wait("!document.querySelector('#vouch').disabled")
    try check(anna.browser, "details")
    try anna.press("Block")
    try check(anna.browser, "a question")
    try anna.press("Cancel")
    try anna.run("document.querySelector('#details').close()")
    try anna.press("New chat")
    try anna.run(
      "const f = document.querySelector('#find'); f.value = 'ברט'; f.dispatchEvent(new Event('input'));"
    )
    try anna.wait("document.querySelector('#finding li') !== null")
    try check(anna.browser, "finding")
    try anna.run("document.querySelector('#finding').close()")
    for (button, dialog) in [
      ("Set a passphrase", "lock"), ("Delete the account", "leaving"), ("Export", "export"),
      ("Link a device", "link"),
    ] {
      try anna.press("Settings")
      try anna.wait("document.querySelector('#settings').open")
      if dialog == "lock" { try check(anna.browser, "settings") }
      try anna.press(button)
      try anna.wait("document.querySelector('#\(dialog)').open")
      try check(anna.browser, button)
      if dialog == "link" {
        try visitor.open(anna.link())
        _ = try visitor.digits()
        try check(visitor, "linking")
      }
      try anna.run("document.querySelector('#\(dialog)').close()")
    }
    try anna.press("New forum")
    try anna.wait("document.querySelector('#forum-making').open")
    try check(anna.browser, "new forum")
    try anna.run("document.querySelector('#forum-making').close()")
    try anna.makeForum("Club", isModerated: true)
    try anna.say("welcome")
    try check(anna.browser, "a forum")
    try anna.press("Details")
    try anna.wait("document.querySelector('#forum').open")
    try check(anna.browser, "a forum's details")
    try anna.run("document.querySelector('#forum').close()")
    try site.kill()
    try anna.wait("document.documentElement.dataset.connection === 'closed'")
    try check(anna.browser, "without a network")
  }
}
