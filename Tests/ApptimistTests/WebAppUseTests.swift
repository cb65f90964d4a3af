internal import Foundation
internal import TestSupport
internal import Testing

/// The page as it is used: with much that is stored, and without a mouse.
extension WebAppBrowserTests {
  /// An account with 2,000 messages, exported and imported, is there within a second, and its chat in half of one. The best
  /// of some tries counts, as other tests take the processor, too.
  @Test func aLongChatIsThereAtOnce() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("one")
    try anna.waitUntilSent()
    try anna.run(
      """
      URL.createObjectURL = (blob) => { globalThis.saved = blob; return ""; };
      HTMLAnchorElement.prototype.click = () => {};
      """)
    try anna.press("Settings")
    try anna.press("Export")
    try anna.fill("export", ["passphrase": "correct horse battery"])
    try anna.wait("Boolean(globalThis.saved)")
    let worker = try ChildProcess.run("curl", ["-s", "\(site.address)/siren/app/worker.js"]).output
    let module = try #require(worker.firstMatch(of: /export\.[0-9a-f]{16}\.js/)?.0)
    let file = try #require(
      try anna.browser.run(
        """
        const passphrase = "correct horse battery", me = "\(anna.key)", other = "\(bert.key)";
        return import("/siren/app/\(module)").then(async ({ open, seal }) => {
          const file = new Uint8Array(await globalThis.saved.arrayBuffer());
          const plain = JSON.parse(await open(passphrase, file));
          plain.messages = Array.from({ length: 2000 }, (_, n) => ({
            time: Date.now() - 1000 * (2000 - n), from: n % 2 ? me : other, to: n % 2 ? other : me,
            messageID: n.toString(16).padStart(128, "0"), content: JSON.stringify({ text: `message ${n}` }),
          }));
          const sealed = await seal(passphrase, JSON.stringify(plain));
          return btoa(Array.from(sealed, (byte) => String.fromCharCode(byte)).join(""));
        });
        """) as? String)

    let second = try Browser()
    let linked = WebAppPerson(name: "anna", browser: second, key: anna.key)
    try second.open("\(site.address)/siren/app/")
    try linked.wait("document.documentElement.dataset.view === 'welcome'")
    try linked.press("Import")
    try linked.run(
      """
      const bytes = Uint8Array.from(atob("\(file)"), (sign) => sign.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "apptimist.export"));
      document.querySelector("#import [name=file]").files = transfer.files;
      """)
    try linked.fill("import", ["passphrase": "another horse battery"])
    try linked.wait("document.querySelector('#import .error').textContent !== ''")
    try linked.fill("import", ["passphrase": "correct horse battery"])
    try linked.wait("document.documentElement.dataset.connection === 'open'")
    #expect(try second.evaluate("document.documentElement.dataset.user") == anna.key)

    var (ready, opened): ([Double], [Double]) = ([], [])
    for number in 1...20 {
      try second.open("\(site.address)/siren/app/?\(number)")
      try linked.wait("document.documentElement.dataset.connection === 'open'")
      let mark = try second.evaluate("performance.getEntriesByName('ready')[0].startTime")
      ready.append(try #require(Double(mark)))
      let time = try second.evaluate(
        """
        new Promise((resolve) => {
          const start = performance.now();
          document.querySelector('#people li[data-key="\(bert.key)"] button').click();
          const look = () => document.querySelectorAll("#messages li[data-id]").length < 100
            ? setTimeout(look, 1) : resolve(performance.now() - start);
          look();
        })
        """)
      opened.append(try #require(Double(time)))
      if ready.min() ?? 0 <= 1000, opened.min() ?? 0 <= 500 { break }
    }
    #expect(ready.min() ?? 0 <= 1000, "\(ready)")
    #expect(opened.min() ?? 0 <= 500, "\(opened)")
    try linked.wait("document.querySelector('#messages').textContent.includes('message 1999')")
    try linked.press("Earlier messages")
    try linked.wait("document.querySelectorAll('#messages li[data-id]').length > 100")
  }

  /// Keys as a person presses them.
  private struct Keyboard {
    let person: WebAppPerson

    func press(_ key: String, _ code: Int) throws {
      for type in ["keyDown", "keyUp"] {
        var event: [String: Any] = [
          "type": type, "key": key, "code": key, "windowsVirtualKeyCode": code,
        ]
        if type == "keyDown" { event["text"] = ["Enter": "\r", " ": " "][key] }
        try person.browser.command("Input.dispatchKeyEvent", event)
      }
    }

    func type(_ text: String) throws {
      try person.browser.command("Input.insertText", ["text": text])
    }

    /// Presses a key until an element has the focus.
    func go(
      to selector: String, saying text: String? = nil, by key: String = "Tab", _ code: Int = 9
    ) throws {
      let isThere = """
        ((focused, text) => focused.matches(\(selector.inJavaScript))
          && (!text || focused.textContent === text))(document.activeElement, "\(text ?? "")")
        """
      for _ in 0..<40 {
        if try person.browser.evaluate(isThere) == "true" { return }
        try press(key, code)
      }
      Issue.record("\(key) leads nowhere to \(selector)")
    }

    /// Goes to a button that is shown, and presses it.
    func push(_ selector: String) throws {
      let isShown = "document.querySelector(\(selector.inJavaScript))?.checkVisibility()"
      try person.wait("Boolean(\(isShown))")
      try go(to: selector)
      try press("Enter", 13)
    }
  }

  @Test func theKeyboardIsEnough() throws {
    let site = try Self.site()
    let bert = try WebAppPerson("bert", at: site)
    let browser = try Browser()
    try browser.open("\(site.address)/siren/app/")
    let anna = WebAppPerson(name: "anna", browser: browser, key: "")
    let keys = Keyboard(person: anna)
    try anna.wait("document.documentElement.dataset.view === 'welcome'")
    try keys.go(to: "#make [name=name]")
    try keys.type("anna")
    try keys.press("Enter", 13)
    try anna.wait("document.documentElement.dataset.connection === 'open'")

    try keys.push("#new-chat")
    try anna.wait("document.querySelector('#finding').open")
    try keys.go(to: "#find")
    try keys.type("bert")
    try keys.push("#finding li button")
    try anna.wait("document.documentElement.dataset.chat === '\(bert.key)'")
    try keys.go(to: "#text")
    for text in ["one", "two"] {
      try keys.type(text)
      try keys.press("Enter", 13)
    }
    try anna.wait("document.querySelectorAll('#messages li[data-state=sent]').length === 2")
    try keys.push("#messages li:last-child .more")
    try anna.wait("document.activeElement.role === 'menuitem'")
    try keys.go(to: "[role=menuitem]", saying: "Delete", by: "ArrowDown", 40)
    try keys.press("Enter", 13)
    try keys.push("#sure-yes")
    try anna.sees(["one"])
    try keys.push("#details-open")
    try anna.wait("document.querySelector('#details').open")
    try keys.press("Escape", 27)
    try anna.wait("!document.querySelector('#details').open")
    #expect(try browser.evaluate("document.activeElement.id") == "details-open")
    // Back closes it as well, and stays in the chat.
    try keys.push("#details-open")
    try anna.wait("document.querySelector('#details').open")
    try anna.run("history.back()")
    try anna.wait("!document.querySelector('#details').open")
    try anna.wait("document.documentElement.dataset.chat === '\(bert.key)'")

    // The other one answers a request.
    let others = Keyboard(person: bert)
    try others.push("#requests-list li button")
    try others.push("#allow")
    try bert.wait("!document.querySelector('#compose').hidden")
    try others.go(to: "#text")
    try others.type("three")
    try others.press("Enter", 13)
    try anna.wait("document.querySelector('#messages').textContent.includes('three')")
  }

  /// A forum, the settings, a second device and the account's end.
  @Test func theKeyboardRulesForumsAndTheAccount() throws {
    let site = try Self.site()
    let bert = try WebAppPerson("bert", at: site)
    let anna = try WebAppPerson("anna", at: site)
    let keys = Keyboard(person: anna)
    let root = "document.documentElement.dataset"

    try keys.push("#new-forum")
    try anna.wait("document.activeElement.matches('#forum-making [name=name]')")
    try keys.type("club")
    try keys.go(to: "#forum-making [name=moderated]")
    try keys.press(" ", 32)
    try keys.push("#forum-making form button")
    try anna.wait("!document.querySelector('#forum-making').open && Boolean(\(root).chat)")
    try keys.push("#details-open")
    try anna.wait("document.querySelector('#forum').open")
    #expect(
      try anna.browser.evaluate("document.querySelector('#forum-about').textContent")
        .contains("It is moderated."))
    try keys.go(to: "#inviting input")
    try keys.type("bert")
    try keys.push("#inviting li button")
    try anna.wait("document.querySelector('#readers li[data-key=\"\(bert.key)\"]') !== null")
    try keys.push("#readers li[data-key=\"\(bert.key)\"] button")
    try anna.wait("document.querySelector('#moderators li[data-key=\"\(bert.key)\"]') !== null")
    try keys.press("Escape", 27)
    #expect(try anna.browser.evaluate("document.activeElement.id") == "details-open")

    try keys.push("#settings-open")
    try keys.push("#lock-open")
    try keys.type("eight signs")
    try keys.press("Enter", 13)
    try anna.wait("!document.querySelector('#lock').open")
    try anna.browser.open("\(site.address)/siren/app/?locked")
    try anna.wait("\(root).view === 'locked'")
    try keys.go(to: "#locked [name=passphrase]")
    try keys.type("eight signs")
    try keys.press("Enter", 13)
    try anna.wait("\(root).connection === 'open'")

    try keys.push("#settings-open")
    try keys.push("#link-open")
    let second = WebAppPerson(name: "anna", browser: try Browser(), key: anna.key)
    try second.browser.open(anna.link())
    let digits = try second.browser.digits()
    // Where the digits go is where the focus is.
    try anna.wait("document.activeElement.matches('#link [name=digits]')")
    try keys.type(digits)
    try keys.press("Enter", 13)
    try second.browser.becomeDevice(of: "anna")
    try second.wait("\(root).connection === 'open'")
    #expect(try second.browser.evaluate("\(root).user") == anna.key)

    try keys.push("#settings-open")
    try keys.push("#leave-open")
    try keys.type("anna")
    try keys.press("Enter", 13)
    try keys.push("#sure-yes")
    try anna.wait("\(root).view === 'welcome'")
  }

  /// What is begun to somebody new is in the list, and is gone with its chat.
  /// What can't be copied is shown to be copied by hand.
  @Test func aLinkThatIsNotCopiedIsShownSelected() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    try anna.run(
      "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    try anna.press("Share my link")
    try anna.press("Copy")
    try anna.wait("document.querySelector('#by-hand').open")
    #expect(
      try anna.browser.evaluate("getSelection().toString()")
        == "\(site.address)/siren/app/#chat=\(anna.key)")
    try anna.press("Close")
    try anna.wait("document.querySelector('#by-hand textarea').value === ''")
    #expect(try anna.browser.evaluate("document.querySelector('#my-link').open") == "true")
  }

  /// The browser's Back leads on from the list, not to what was left. What was deleted is found no more.
  @Test func theListIsBehindAChat() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("one")
    try anna.waitUntilSent()
    try anna.run("document.querySelector('#back').click()")
    try anna.wait("document.querySelector('#talk').hidden && location.hash === ''")
    let index = "navigation.currentEntry.index"
    let before = try anna.browser.evaluate(index)
    try anna.open(bert, in: "Chats")
    try anna.run("document.querySelector('#back').click()")
    try anna.wait("document.querySelector('#talk').hidden && location.hash === ''")
    #expect(try anna.browser.evaluate(index) == before)
    try anna.open(bert, in: "Chats")
    try anna.run(
      """
      document.querySelector('#search-field').value = 'one';
      document.querySelector('#search-field').dispatchEvent(new Event('input'));
      """)
    try anna.wait("document.querySelector('#hits').textContent.includes('one')")
    try anna.menu(0, "Delete")
    try anna.wait(
      "document.querySelector('#hits').textContent === 'Nothing found.' || document.querySelector('#search').hidden"
    )
  }

  @Test func whatIsBegunIsListedUntilItsChatIsDeleted() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let field = "document.querySelector('#text').value"
    try anna.find("bert")
    try anna.begin("half a letter")
    try anna.run("location.hash = ''")
    try anna.open(bert, in: "Chats")
    #expect(try anna.browser.evaluate(field) == "half a letter")
    try anna.press("Details")
    try anna.press("Delete chat")
    try anna.agree()
    try anna.wait("document.querySelector('#people li') === null")
    try anna.find("bert")
    #expect(try anna.browser.evaluate(field) == "")
  }

  /// Keys, pastes and drops as input methods, file managers and other windows send them.
  @Test func whatComesFromOutsideMeansWhatItSays() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "hello")
    try anna.waitUntilSent()
    try anna.menu(0, "Reply", isAsked: false)
    // Escape of a composition takes back what is being composed, and nothing else.
    for (code, isReplying) in [(229, true), (27, false)] {
      try anna.run(
        """
        document.querySelector("#text").dispatchEvent(
          new KeyboardEvent("keydown", { key: "Escape", keyCode: \(code), bubbles: true }));
        """)
      #expect(try anna.isShown("#chip") == isReplying)
    }
    // A field takes texts, and nothing but it; files go to the chat.
    for (place, isTaken) in [("#text", true), ("#messages", false)] {
      let isLeft = try anna.browser.evaluate(
        """
        (() => {
          const transfer = new DataTransfer();
          transfer.setData("text/plain", "words");
          return document.querySelector("\(place)").dispatchEvent(
            new DragEvent("dragover", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        })()
        """)
      #expect(isLeft == String(isTaken), "\(place)")
    }
    // A file manager copies a file with its name; the focus is in the messages.
    try anna.run(
      """
      const transfer = new DataTransfer();
      transfer.items.add(new File(["a note"], "note.txt"));
      transfer.setData("text/plain", "note.txt");
      document.querySelector("#messages").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
      """)
    try bert.wait("document.querySelector('#messages').textContent.includes('note.txt')")
    // A text with its picture is a text.
    try anna.run(
      """
      const transfer = new DataTransfer();
      transfer.items.add(new File(["a picture"], "image.png", { type: "image/png" }));
      transfer.setData("text/plain", "a cell");
      document.querySelector("#messages").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
      """)
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "a cell")
  }
}
