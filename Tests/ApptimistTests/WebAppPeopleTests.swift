internal import Foundation
internal import TestSupport
internal import Testing

/// Forums, more devices, and the ends of accounts.
extension WebAppBrowserTests {
  @Test func peopleMeetInAForum() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let cleo = try WebAppPerson("cleo", at: site)
    let name = "<i>Club</i>"
    let forum = try anna.makeForum(name, isModerated: true)
    try anna.press("Details")
    try anna.wait("document.querySelector('#forum').open")
    #expect(
      try anna.browser.evaluate("document.querySelector('[data-readable-by]').dataset.readableBy")
        == "members")
    for other in [bert, cleo] { try anna.invite(other) }
    try anna.press("Close")
    for other in [bert, cleo] {
      try other.open(anna, in: "Requests")
      // Nobody joins from a request.
      #expect(
        try other.browser.evaluate("document.querySelector('#messages .file button').disabled")
          == "true")
      try other.press("Allow")
      try other.press("Join")
      try other.wait("document.documentElement.dataset.chat === '\(forum)'")
    }
    try anna.open(forum, in: "Chats")
    try anna.say("hello")
    for person in [anna, bert, cleo] { try person.sees(["hello"]) }

    // What isn't a moderator's waits for one, and is shown as its author's.
    try bert.say(Self.hostile)
    try anna.sees(["hello", Self.hostile])
    #expect(
      try cleo.browser.evaluate("document.querySelectorAll('#messages li[data-id]').length") == "1")
    try anna.menu(1, "Publish", isAsked: false)
    for person in [anna, bert, cleo] { try person.sees(["hello", Self.hostile]) }
    #expect(
      try cleo.browser.evaluate(
        "[...document.querySelectorAll('li[data-from]')].at(-1).dataset.from")
        == bert.key)
    #expect(
      try cleo.browser.evaluate("document.querySelectorAll('main i, main img').length") == "0")

    // What its author takes back goes with what was published of it.
    try bert.say("a slip")
    try anna.sees(["hello", Self.hostile, "a slip"])
    try anna.menu(2, "Publish", isAsked: false)
    for person in [bert, cleo] { try person.sees(["hello", Self.hostile, "a slip"]) }
    try anna.wait("!document.querySelector('#messages').textContent.includes('not published')")
    try bert.menu(2, "Delete for everyone")
    for person in [anna, bert, cleo] { try person.sees(["hello", Self.hostile]) }

    // Killed, started again and loaded again, all of it is there once.
    try site.restart()
    for person in [anna, bert, cleo] {
      try person.browser.open("\(site.address)/siren/app/?again")
      try person.wait("document.documentElement.dataset.connection === 'open'")
      try person.open(forum, in: "Chats")
      try person.sees(["hello", Self.hostile])
    }
    try anna.menu(0, "Delete for everyone")
    for person in [anna, bert, cleo] { try person.sees([Self.hostile]) }

    try cleo.press("Details")
    try cleo.press("Leave")
    try cleo.agree()
    try cleo.wait("document.querySelector('#people li[data-key=\"\(forum)\"]') === null")
    let isThere = "document.querySelector('#readers li[data-key=\"\(cleo.key)\"]') !== null"
    try blockUntil {
      try anna.press("Details")
      try anna.wait("document.querySelector('#forum').open")
      let isReader = try anna.browser.evaluate(isThere) == "true"
      if isReader { try anna.press("Close") }
      return !isReader
    }
    try anna.run("document.querySelector('[aria-label=\"Make bert a moderator\"]').click()")
    try anna.wait("document.querySelector('#moderators li[data-key=\"\(bert.key)\"]') !== null")
    try anna.press("Close")
    try bert.say("as a moderator")
    try anna.sees([Self.hostile, "as a moderator"])
    try anna.press("Details")
    try anna.press("Delete forum")
    try anna.agree()
    try anna.wait("document.querySelector('#people li[data-key=\"\(forum)\"]') === null")
    try bert.say("nobody is there")
    try bert.wait("document.querySelector('#messages li[data-state=failed]') !== null")
  }

  @Test func aSecondDeviceIsLinked() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let second = try Browser()
    /// Opens the code of Anna's in the second browser.
    func begin() throws -> String {
      try anna.press("Settings")
      try anna.press("Link a device")
      let link = try anna.link()
      try second.open("about:blank")
      try second.open(link)
      let digits = try second.digits()
      // The code is out of the address.
      #expect(try second.evaluate("location.hash") == "")
      try anna.wait(
        "document.querySelector('#link [role=status]').textContent.includes('wants to be linked')")
      return digits
    }
    try anna.befriend(bert, saying: "one")
    // Wrong digits end it.
    let wrong = try begin() == "000000" ? "000001" : "000000"
    try anna.fill("link", ["digits": wrong])
    try anna.wait("document.querySelector('#link .error').textContent.includes('wrong')")
    try anna.press("Close")
    let digits = try begin()
    try anna.fill("link", ["digits": digits])
    try second.becomeDevice(of: "anna")
    try blockUntil { try second.evaluate("document.documentElement.dataset.connection") == "open" }
    let linked = WebAppPerson(name: "anna", browser: second, key: anna.key)
    #expect(try second.evaluate("document.documentElement.dataset.user") == anna.key)
    // What was sent and allowed before is there, and goes on in both.
    try linked.open(bert, in: "Chats")
    try linked.sees(["one"])
    try linked.say("two")
    try bert.sees(["one", "two"])
    try anna.sees(["one", "two"])
    try bert.say("three")
    for person in [anna, linked] { try person.sees(["one", "two", "three"]) }
    try linked.menu(0, "Delete")
    for person in [anna, linked] { try person.sees(["two", "three"]) }
    // What is edited while one of them is away stands there, too.
    try second.closePage()
    try anna.menu(0, "Edit", isAsked: false)
    try anna.say("two, or more")
    try bert.sees(["one", "two, or more", "three"])
    try anna.sees(["two, or more", "three"])
    try second.open("\(site.address)/siren/app/")
    try linked.open(bert, in: "Chats")
    try linked.sees(["two, or more", "three"])
    // A forum that one of them makes is the other's too, and each knows both devices.
    let forum = try linked.makeForum("Club", isModerated: false)
    try linked.say("hello")
    try anna.open(forum, in: "Chats")
    try anna.sees(["hello"])
    for person in [anna, linked] {
      try blockUntil {
        try person.press("Settings")
        try person.wait("document.querySelector('#settings').open")
        try person.press("Close")
        return try person.browser.evaluate("document.querySelectorAll('#devices li').length") == "2"
      }
    }
    // A browser that has an account opens no code, nor is one good again.
    try bert.press("Settings")
    try bert.press("Link a device")
    let other = try bert.link()
    try second.open("about:blank")
    try second.open(other)
    try linked.wait("document.documentElement.dataset.connection === 'open'")
    #expect(try second.evaluate("document.documentElement.dataset.user") == anna.key)
    #expect(try second.evaluate("document.querySelector('#alarm').textContent") != "")
  }

  @Test func anAccountIsLockedAndDeleted() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("one")
    try anna.waitUntilSent()
    try anna.press("Settings")
    try anna.press("Set a passphrase")
    try anna.fill("lock", ["passphrase": "1234567"])
    try anna.wait("document.querySelector('#lock .error').textContent !== ''")
    try anna.fill("lock", ["passphrase": "correct horse"])
    try anna.wait("!document.querySelector('#lock').open")
    try anna.say("two")
    try anna.sees(["one", "two"])
    try anna.browser.open("\(site.address)/siren/app/?locked")
    try anna.wait("document.documentElement.dataset.view === 'locked'")
    func unlock(_ passphrase: String) throws {
      try anna.run(
        """
        document.querySelector('#locked [name=passphrase]').value = \(passphrase.inJavaScript);
        document.querySelector('#locked form').requestSubmit();
        """)
    }
    try unlock("another horse")
    try anna.wait("document.querySelector('#locked .error').textContent !== ''")
    try unlock("correct horse")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try anna.open(bert, in: "Chats")
    try anna.sees(["one", "two"])

    try anna.press("Settings")
    try anna.press("Delete the account")
    try anna.fill("leaving", ["name": "somebody"])
    try anna.wait("document.querySelector('#leaving .error').textContent !== ''")
    try anna.fill("leaving", ["name": "anna"])
    try anna.agree()
    try anna.wait("document.documentElement.dataset.view === 'welcome'")
    #expect(try anna.stored().isEmpty)
    // Others have what they got, and what they send arrives nowhere.
    try bert.open(anna, in: "Requests")
    try bert.sees(["one", "two"])
    try bert.press("Allow")
    try bert.say("where are you?")
    try bert.wait("document.querySelector('#messages li[data-state=failed]') !== null")
    try bert.press("New chat")
    try bert.run(
      """
      const field = document.querySelector('#find');
      field.value = 'anna';
      field.dispatchEvent(new Event('input'));
      """)
    try bert.wait(
      "document.querySelector('#finding [role=status]').textContent.startsWith('Nobody')")
  }

  @Test(.enabled(if: hasLibraries, "needs python3-nacl and python3-websockets"))
  func aDeviceOfAnotherLanguageTalks() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let forum = try anna.makeForum("Club", isModerated: false)
    let peer = try ChildProcess(
      "/usr/bin/python3",
      [
        "\(URL(filePath: #filePath).deletingLastPathComponent().path)/Python/web_app_peer.py",
        "\(site.address)/siren", anna.key, forum,
      ])
    // Once it has an account, it is found; the forum's invitation is for it.
    _ = try peer.line(with: "ready")
    try anna.press("Details")
    try anna.wait("document.querySelector('#forum').open")
    let found = "#forum ul[aria-label=Found] li button"
    try anna.run(
      """
      const field = document.querySelector('#forum input[type=search]');
      field.value = 'peer';
      field.dispatchEvent(new Event('input'));
      """)
    try anna.wait("document.querySelector('\(found)') !== null")
    try anna.run("document.querySelector('\(found)').click()")
    try anna.wait("document.querySelectorAll('#readers li[data-key]').length === 2")
    try anna.press("Close")
    try anna.say("hello from the browser")
    try anna.sees(["hello from the browser", "hello from Python"])
    let outcome = try peer.outcome()
    #expect(outcome.code == 0, "\(outcome)")
    // Nothing of what it has made up is believed.
    try anna.sees(["hello from the browser", "hello from Python"])
    #expect(
      try anna.browser.evaluate("document.querySelectorAll('.people li[data-key]').length") == "2")
    #expect(try anna.browser.evaluate("document.documentElement.dataset.connection") == "open")
  }

  private static let hasLibraries =
    (try? ChildProcess.run("/usr/bin/python3", ["-c", "import nacl, websockets"]).code) == 0
}
