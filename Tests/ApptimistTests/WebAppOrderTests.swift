internal import Foundation
internal import TestSupport
internal import Testing

/// What people expect of an app that is offline at times, and of strangers.
extension WebAppBrowserTests {
  @Test func whatIsWrittenOfflineArrivesInOrder() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.find("bert")
    try anna.say("zero")
    try anna.waitUntilSent()
    try bert.open(anna, in: "Requests")
    try bert.press("Allow")
    try bert.browser.closePage()
    try anna.wait("navigator.serviceWorker.controller !== null || location.reload() === undefined")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try site.kill()
    try anna.wait("document.documentElement.dataset.connection === 'closed'")
    // The status says so, and offers to try.
    try anna.wait("document.querySelector('#status').textContent.includes('connection')")
    #expect(try anna.isShown("#try-now"))
    try anna.open(bert, in: "Chats")
    for text in ["one", "two"] { try anna.say(text) }
    try anna.wait("document.querySelectorAll('#messages li[data-state=waiting]').length === 2")
    // The page comes from the worker.
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.open(bert, in: "Chats")
    for text in ["three", "four"] { try anna.say(text) }
    let all = ["zero", "one", "two", "three", "four"]
    try anna.sees(all)
    try site.restart()
    try anna.run("dispatchEvent(new Event('online'))")
    try anna.wait("document.querySelectorAll('#messages li[data-state=sent]').length === 5")
    try anna.sees(all)
    try bert.browser.open("\(site.address)/siren/app/")
    try bert.wait("document.querySelector('li[data-unread=\"4\"]') !== null")
    #expect(try bert.browser.evaluate("document.title") == "(4) Apptimist")
    try bert.open(anna, in: "Chats")
    try bert.sees(all)
    try bert.wait("document.title === 'Apptimist'")
  }

  @Test func draftsStayWithTheirChats() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let cleo = try WebAppPerson("cleo", at: site)
    for other in [cleo, bert] {
      try anna.find(other.name)
      try anna.say("hello")
      try anna.waitUntilSent()
    }
    // One after the other, without a pause between them.
    try anna.begin("half a letter")
    try anna.open(cleo, in: "Chats")
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "")
    try anna.begin("half a card")
    try anna.menu(0, "Edit", isAsked: false)
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "hello")
    try anna.begin("hello, everybody")
    try anna.open(bert, in: "Chats")
    try anna.wait("document.querySelector('#people').textContent.includes('half a card')")
    try anna.wait("document.documentElement.dataset.drafts === 'kept'")
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.open(bert, in: "Chats")
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "half a letter")
    // What was being edited goes on so, and the draft beside it is there afterwards.
    try anna.open(cleo, in: "Chats")
    #expect(
      try anna.browser.evaluate("document.querySelector('#text').value") == "hello, everybody")
    try anna.run("document.querySelector('#compose').requestSubmit()")
    try anna.sees(["hello, everybody"])
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "half a card")
    let stored = try anna.stored()
    for text in ["half a letter", "half a card"] { #expect(!stored.contains(text)) }
  }

  /// A page that is loaded anew may still hold the account when the next one begins.
  @Test func aPageWaitsForTheOneBeforeIt() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let second = WebAppPerson(
      name: "anna", browser: try Browser(beside: anna.browser), key: anna.key)
    try second.browser.open("\(site.address)/siren/service.json")
    try anna.browser.open("about:blank")
    try second.run(
      """
      navigator.locks.request("apptimist /siren", () => new Promise((leave) => setTimeout(leave, 1500)));
      """)
    try anna.browser.open("\(site.address)/siren/app/")
    // Meanwhile it says what it waits for.
    #expect(
      try anna.browser.evaluate("document.querySelector('#starting').innerText")
        .contains("another tab"))
    try anna.wait("document.documentElement.dataset.connection === 'open'")
  }

  /// The page that loses the account begins anew, and leaves nothing behind when it has it again.
  @Test func onePageHasTheAccount() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    _ = try WebAppPerson("cleo", at: site)
    try anna.befriend(bert, saying: "one")
    let second = WebAppPerson(
      name: "anna", browser: try Browser(beside: anna.browser), key: anna.key)
    try second.browser.open("\(site.address)/siren/app/")
    try second.wait("document.documentElement.dataset.view === 'elsewhere'")
    for (one, other) in [(second, anna), (anna, second)] {
      try one.press("Use it here")
      try one.wait("document.documentElement.dataset.connection === 'open'")
      try other.wait(
        "document.documentElement.dataset.view === 'elsewhere' && document.querySelector('#try-now').hidden"
      )
    }
    try anna.open(bert, in: "Chats")
    try anna.run(
      """
      const transfer = new DataTransfer();
      transfer.items.add(new File(["a note"], "note.txt"));
      document.querySelector("#text").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
      """)
    try anna.say("that is it")
    try bert.wait("document.querySelector('#messages').textContent.includes('that is it')")
    #expect(
      try bert.browser.evaluate("document.querySelectorAll('#messages li[data-id]').length") == "3")
    try anna.find("cleo")
    try anna.begin("half a letter")
    try anna.wait("document.documentElement.dataset.drafts === 'kept'")
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.open(bert, in: "Chats")
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == "")
  }

  /// A stranger whose clock is a day ahead moves no measure by which friends' times are doubtful.
  @Test func aStrangersClockCastsNoDoubtOnFriends() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let cleo = try WebAppPerson("cleo", at: site)
    try anna.befriend(bert, saying: "hello")
    try cleo.find("anna")
    try cleo.run("Date.now = ((now) => () => now() + 86_400_000)(Date.now)")
    try cleo.say("from tomorrow")
    try cleo.waitUntilSent()
    try anna.open(cleo, in: "Requests")
    try anna.sees(["from tomorrow"])
    try anna.wait("document.querySelector('#messages small').textContent.includes('ahead')")
    try bert.say("from today")
    try anna.open(bert, in: "Chats")
    try anna.sees(["hello", "from today"])
    #expect(
      try anna.browser.evaluate(
        "[...document.querySelectorAll('#messages small')].map((one) => one.textContent)"
          + ".some((text) => /ahead|written/.test(text))") == "false")
  }

  /// The days of a chat don't go back: what was written on an earlier one, and comes late, says so itself.
  @Test func whatComesLateSaysItsDay() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "hello")
    // Nearly a day: a longer time would be doubtful.
    try bert.run("Date.now = ((now) => () => now() - 86_390_000)(Date.now)")
    try bert.say("from yesterday")
    try anna.sees(["hello", "from yesterday"])
    #expect(
      try anna.browser.evaluate(
        "[...document.querySelectorAll('#messages .day')].map((one) => one.textContent).join()")
        == "Today")
    try anna.wait(
      "[...document.querySelectorAll('#messages small')].at(-1).textContent.startsWith('written')")
    // Today becomes yesterday while the page is open.
    try anna.run(
      """
      Date.now = ((now) => () => now() + 86_400_000)(Date.now);
      dispatchEvent(new Event('hashchange'));
      """)
    try anna.wait("document.querySelector('#messages .day').textContent === 'Yesterday'")
  }

  /// A browser without room for the page says so, loses nothing of what was written or sent meanwhile, and goes on by itself.
  @Test func aFullDiskIsSaidAndOvercome() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "hello")
    try anna.run(
      """
      globalThis.put = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = () => { throw new DOMException("full", "QuotaExceededError"); };
      """)
    let letter = String(repeating: "a long letter ", count: 2_000)
    try anna.say(letter)
    try anna.wait("document.querySelector('#alarm').textContent.includes('no space')")
    #expect(try anna.browser.evaluate("document.querySelector('#text').value") == letter)
    try anna.sees(["hello"])
    let answer = String(repeating: "a long answer ", count: 2_000)
    try bert.say(answer)
    try bert.waitUntilSent()
    try anna.run("IDBObjectStore.prototype.put = globalThis.put")
    try anna.press("Try again")
    try anna.wait("document.querySelector('#alarm').textContent === ''")
    try anna.sees(["hello", answer])
    try anna.run("document.querySelector('#compose').requestSubmit()")
    try anna.sees(["hello", answer, letter])
    try bert.sees(["hello", answer, letter])
  }

  /// What could not be stored doesn't seem to be done, and says so.
  @Test func nothingSeemsDoneWhereNothingIsStored() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "hello")
    try anna.run(
      """
      globalThis.failures = [];
      addEventListener("unhandledrejection", ({ reason }) => failures.push(String(reason)));
      IDBDatabase.prototype.transaction = () => { throw new DOMException("closed", "InvalidStateError"); };
      """)
    func waitUntilSaid() throws {
      try anna.wait(
        "document.querySelector('#trouble').textContent === 'This browser can’t store it.'")
      try anna.run("document.querySelector('#trouble').textContent = ''")
    }
    try anna.menu(0, "React", isAsked: false)
    try anna.run("document.querySelector('#menu [role=menuitem]').click()")
    try waitUntilSaid()
    for item in ["Delete", "Delete for everyone"] {
      try anna.menu(0, item)
      try waitUntilSaid()
    }
    try anna.sees(["hello"])
    #expect(
      try anna.browser.evaluate("document.querySelectorAll('.reactions').length") == "0")
    #expect(try anna.browser.evaluate("failures.join()") == "")
  }

  @Test func repliesReactionsAndEditsAreShown() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "the frist one")
    try bert.menu(0, "Reply", isAsked: false)
    try bert.say("an answer")
    try anna.sees(["the frist one", "an answer"])
    try anna.wait("document.querySelector('.quote')?.textContent === 'You: the frist one'")
    try bert.menu(0, "React", isAsked: false)
    try bert.run("document.querySelector('#menu [role=menuitem]').click()")
    try anna.wait("document.querySelectorAll('.reactions button').length === 1")
    try anna.menu(0, "Reply", isAsked: false)
    #expect(
      try anna.browser.evaluate("document.querySelector('#chip span').textContent")
        == "Reply to your message: the frist one")
    try anna.press("Cancel")
    try anna.menu(0, "Edit", isAsked: false)
    try anna.say("the first one")
    for person in [anna, bert] { try person.sees(["the first one", "an answer"]) }
    try bert.wait("document.querySelector('#messages').textContent.includes('edited')")
    // Nobody edits what another has written.
    try bert.run("document.querySelectorAll('#messages .more')[0].click()")
    #expect(
      try bert.browser.evaluate(
        "[...document.querySelectorAll('#menu [role=menuitem]')].some((item) => item.textContent === 'Edit')"
      ) == "false")
  }

  @Test func aPictureIsShownAndALongFileArrives() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert, saying: "look")
    // Pasted, and chosen: more than one piece.
    try anna.run(
      """
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 40;
      canvas.toBlob((blob) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([blob], "shot.png", { type: "image/png" }));
        document.querySelector("#text").dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
      });
      """)
    for person in [anna, bert] {
      try person.wait("document.querySelector('#messages img[alt=\"shot.png\"]')?.naturalWidth > 0")
    }
    try anna.run(
      """
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from({ length: 2500000 }, (_, i) => i * 7 + (i >> 8));
      transfer.items.add(new File([bytes], "long.bin"));
      const field = document.querySelector("#file");
      field.files = transfer.files;
      field.dispatchEvent(new Event("change"));
      """)
    // What is written while it is made ready stays behind it.
    try anna.say("there it is")
    try bert.wait("document.querySelector('#messages').textContent.includes('there it is')")
    #expect(
      try bert.browser.evaluate(
        "[...document.querySelectorAll('#messages li[data-id]')].at(-2).textContent"
      ).contains("long.bin"))
    try bert.run(
      """
      URL.createObjectURL = (blob) => { globalThis.saved = blob; return ""; };
      HTMLAnchorElement.prototype.click = () => {};
      """)
    try bert.press("Save long.bin")
    try bert.wait("Boolean(globalThis.saved)")
    #expect(
      try bert.browser.evaluate(
        """
        globalThis.saved.arrayBuffer().then((buffer) => {
          const bytes = new Uint8Array(buffer);
          return bytes.length === 2500000 && bytes.every((byte, i) => byte === ((i * 7 + (i >> 8)) & 255));
        })
        """) == "true")
  }

  @Test func manyStrangersAreOneRow() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    try anna.makeForum("Club", isModerated: false)
    for number in 1...9 {
      let stranger = try WebAppPerson("stranger \(number)", at: site)
      try stranger.find("anna")
      try stranger.say("Claim it now")
      try stranger.waitUntilSent()
      try stranger.browser.closePage()
    }
    try anna.wait("document.querySelector('#requests-toggle').textContent === 'Requests 9'")
    // Folded, nothing of what strangers wrote is in the page, nor do they count.
    try anna.wait("document.querySelectorAll('#requests-list li').length === 0")
    #expect(try anna.browser.evaluate("document.title") == "Apptimist")
    try anna.press("Requests 9")
    try anna.wait("document.querySelectorAll('#requests-list li').length === 9")
    try anna.press("Delete all")
    try anna.agree()
    try anna.wait("document.querySelector('#asking').hidden")
  }
}
