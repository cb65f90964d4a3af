internal import Foundation
internal import HTTP2StandIn
internal import TestSupport
internal import Testing
internal import Platform

/// The web app of Msgr, with people in browsers.
@Suite(.ownThreads, .serialized, .enabled(if: Browser.isThere)) struct WebAppBrowserTests {
  private static let markup = "<img src=x onerror=\"document.title='broken'\">"
  private static let hostile = markup + " \u{202e}turned"

  /// A push service that takes everything.
  private final class PushService: Sendable {
    private final class Record: Sendable {
      let requests = Lock<[StandInRequest]>([])
    }

    private let record: Record
    private let server: HTTP2StandIn
    let configuration: String
    let endpoint: String

    init() throws {
      let certificates = try TestCertificates.shared.get()
      let record = Record()
      self.record = record
      server = try HTTP2StandIn(
        certificate: certificates.server.certificate, key: certificates.server.key
      ) { request in
        record.requests.withLock { $0.append(request) }
        return .respond(201)
      }
      let authority = "127.0.0.1:\(server.port)"
      endpoint = "https://\(authority)/push/1"
      configuration = """
        [msgr.web_push]
        contact = "mailto:operator@example.org"
        allow = ["\(authority)"]
        ca = "\(certificates.authority.certificate)"
        """
    }

    var received: [StandInRequest] { record.requests.withLock { $0 } }
  }

  @Test(.enabled(if: PushReceiver.isThere)) func twoPeopleTalk() throws {
    let service = try PushService()
    let receiver = try PushReceiver()
    let site = try WebAppSite(service.configuration)
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    try bert.open("anna")
    var all = ["anna wants to add you", "hello", "hello, anna"]
    try anna.say(all[1])
    try bert.sees(Array(all.prefix(2)))
    try bert.say(all[2])
    try anna.sees(Array(all.dropFirst()))

    // Bert closes the page, and is notified by what awd has sent to the push service.
    try bert.beNotified(at: service.endpoint, receiver)
    try bert.closePage()
    all.append("are you there?")
    try anna.say(all[3])
    try blockUntil { service.received.count == 1 }
    let push = service.received[0]
    let content = try receiver.open(push.body, authorization: push["authorization"])
    try bert.browser.command("ServiceWorker.enable")
    try bert.browser.command(
      "ServiceWorker.deliverPushMessage",
      // The first registration of a profile has this number.
      [
        "origin": site.address, "registrationId": "0",
        "data": String(decoding: content, as: UTF8.self),
      ])
    try bert.browser.open("\(site.address)/version")
    try blockUntil { try bert.notifications() == "anna: are you there?" }

    // The server is killed, and what Anna writes meanwhile waits. Bert comes back and misses nothing.
    try site.kill()
    try anna.say("one")
    try anna.say("two")
    try anna.wait(for: "waiting", in: "#messages")
    try site.restart()
    all += ["one", "two"]
    try bert.browser.open("\(site.address)/msgr/#anna")
    try bert.sees(all)
    try bert.say("back again")
    try anna.sees(Array(all.dropFirst()) + ["back again"])
    try anna.wait("!document.querySelector('#messages').textContent.includes('waiting')")
    // After another start of the pages nothing is there twice.
    for person in [anna, bert] { try person.browser.open("\(site.address)/msgr/api") }
    try anna.browser.open("\(site.address)/msgr/#bert")
    try bert.browser.open("\(site.address)/msgr/#anna")
    try anna.sees(Array(all.dropFirst()) + ["back again"])
    try bert.sees(all + ["back again"])

    // An answer shows what it answers, and what somebody deletes stays away.
    try anna.choose("Reply", ofMessage: -1)
    try anna.say("gladly")
    try bert.sees(all + ["back again", "gladly"])
    try bert.wait(
      "document.querySelector('#messages li:last-child .quote')?.textContent === 'back again'")
    try bert.choose("Delete", ofMessage: -2)
    try bert.agree()
    try bert.sees(all + ["gladly"])
    try bert.browser.open("\(site.address)/msgr/api")
    try bert.browser.open("\(site.address)/msgr/#anna")
    try bert.sees(all + ["gladly"])
  }

  @Test func aNewBrowserCountsWhatComesLater() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try bert.open("anna")
    for text in ["one", "two"] { try bert.say(text) }
    try anna.wait("document.querySelector('#people .count')?.textContent.startsWith('2')")
    try anna.open("bert")
    // The server knows it when it has answered.
    try anna.wait(
      "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/msgr/read'))")
    // What comes later is not read there.
    try anna.run("location.hash = ''")
    try anna.wait("document.querySelector('#talk').hidden")

    let desk = try WebAppPerson("anna", at: site, isNew: false)
    try desk.wait(for: "two", in: "#people")
    #expect(
      try desk.browser.evaluate("document.querySelector('#people .count') === null") == "true")
    #expect(try desk.browser.evaluate("document.title") == "Msgr")
    try bert.say("three")
    try desk.wait("document.querySelector('#people .count')?.textContent.startsWith('1')")
    // So it is on the page that is loaded next, and the mark stands before what is new.
    try desk.browser.open("\(site.address)/msgr/?again")
    try desk.wait("document.querySelector('#people .count')?.textContent.startsWith('1')")
    try desk.open("bert")
    try desk.sees(["one", "two", "three"])
    #expect(
      try desk.browser.evaluate(
        "document.querySelector('#messages .mark').nextElementSibling.querySelector('p').textContent"
      )
        == "three")
  }

  @Test func aRequestIsAnsweredInItsConversation() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let question = "You asked bert to be a friend."
    let befriend = "document.querySelector('#befriend')"
    func ask() throws {
      try anna.run(
        """
        document.querySelector('#add').elements.AddUser.value = 'bert';
        document.querySelector('#add').requestSubmit();
        """)
      try anna.wait(for: "asked to be a friend", in: "#people")
      try bert.wait(for: "anna", in: "#requests")
    }
    func answer(_ choice: String) throws {
      try bert.run(
        """
        [...document.querySelectorAll('#messages button')]
          .find(({ textContent }) => textContent === \(choice.inJavaScript)).click();
        """)
      // Nothing is left to answer, here and among the requests.
      try bert.wait(
        "document.querySelector('#asking').hidden && !document.querySelector('#messages .row')")
    }

    try ask()
    try anna.open("bert")
    try anna.wait(for: question, in: "#messages")
    #expect(try anna.browser.evaluate("\(befriend).hidden") == "true")
    try bert.open("anna")
    try answer("Decline")
    // Anna sees it by and by, and may ask again.
    try anna.wait("!\(befriend).hidden")
    try anna.wait(for: "No messages yet.", in: "#messages")

    try ask()
    // Only the request that waits can be answered.
    try bert.sees(["anna wants to add you", "anna wants to add you"])
    try bert.wait("document.querySelector('#messages li:last-child .row') !== null")
    #expect(try bert.browser.evaluate("document.querySelectorAll('#messages .row').length") == "1")
    try answer("Accept")
    try bert.wait(for: "anna", in: "#people")
    #expect(try bert.browser.evaluate("document.querySelector('#unfriend').hidden") == "false")
    try anna.wait("!document.querySelector('#unfriend').hidden")
    #expect(
      try anna.browser.evaluate("document.querySelector('#home').textContent.includes('asked')")
        == "false")
  }

  @Test func whatWaitsIsSentInTheOrderOfWriting() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    try anna.run(
      """
      const { fetch } = window;
      window.fetch = (url, options) =>
        String(url).endsWith('/message') ? Promise.reject(new TypeError()) : fetch(url, options);
      """)
    let all = (1...6).map { "message \($0)" }
    for text in all { try anna.say(text) }
    try anna.wait(for: "message 6", in: "#messages")
    // The page that is loaded next sends them.
    try anna.browser.open("\(site.address)/msgr/?again#bert")
    try bert.open("anna")
    try blockUntil { try bert.messages().suffix(all.count) == all[...] }
  }

  /// A network can swallow a request without a word. What it carried is sent when the network is back, and once.
  @Test func aMessageThatWasSwallowedIsSentAgain() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    try bert.open("anna")
    try anna.run(
      """
      const { fetch } = window;
      window.fetch = (url, options) => {
        if (!String(url).endsWith('/message')) return fetch(url, options);
        window.swallowed = (window.swallowed ?? 0) + 1;
        return new Promise((resolve, reject) => {
          options.signal.addEventListener('abort', () => reject(new TypeError()));
        });
      };
      window.heal = () => { window.fetch = fetch; };
      """)
    try anna.say("hello")
    try anna.wait("window.swallowed === 1")
    // The page takes nothing for stuck that was begun just now.
    let begun = "window.begun ??= Date.now(), Date.now() - window.begun > 2500"
    try anna.wait("(\(begun))")
    try anna.run("window.heal(); dispatchEvent(new Event('online'))")
    try bert.sees(["anna wants to add you", "hello"])
    try anna.wait("!document.querySelector('#messages').textContent.includes('waiting')")
  }

  @Test func strangersStandBelowTheFriends() throws {
    let site = try WebAppSite("registrations_per_minute = 100\nregistrations_per_day = 1000")
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try bert.open("anna")
    try bert.say("hello")
    try anna.wait(for: "hello", in: "#people")
    let outcome = try anna.browser.evaluate(
      """
      (async () => {
        const post = (path, fields, token) => fetch(`/msgr/${path}`, {
          method: 'POST', body: JSON.stringify(fields),
          headers: { 'Content-Type': 'application/json', ...token ? { Authorization: `Bearer ${token}` } : {} },
        }).then((response) => response.json());
        for (let i = 10; i < 20; i++) {
          const { Token } = await post('register', {
            Username: `stranger${i}`, Password: 'a password', DeviceID: `stream:stranger-${i}` });
          await post('message', { UserTo: 'anna', Message: `claim ${i}`, ClientId: `claim-${i}` }, Token);
        }
        return 'done';
      })()
      """)
    #expect(outcome == "done")
    try anna.wait(for: "Requests 10", in: "#requests-toggle")
    #expect(
      try anna.browser.evaluate("document.querySelectorAll('#people li').length") == "1")
    #expect(try anna.browser.evaluate("document.title") == "(1) Msgr")
    #expect(try anna.browser.evaluate("document.querySelector('#strangers').hidden") == "true")
    try anna.run("document.querySelector('#requests-toggle').click()")
    try anna.wait("document.querySelectorAll('#strangers li').length === 10")
    // Who is answered is no stranger any more.
    try anna.open("stranger10")
    try anna.say("who are you?")
    try anna.wait(for: "stranger10", in: "#people")
    try anna.wait(for: "Requests 9", in: "#requests-toggle")
    try anna.run("document.querySelector('#requests-delete').click()")
    try anna.agree()
    try anna.wait("document.querySelector('#asking').hidden")
    let left = try anna.stored("messages")
    #expect(left.contains("hello") && left.contains("claim 10") && !left.contains("claim 11"))
  }

  /// What could not be stored doesn't seem to be done, and says so.
  @Test func nothingSeemsDoneWhereNothingIsStored() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try bert.open("anna")
    try bert.say("hello")
    try anna.open("bert")
    try anna.sees(["hello"])
    try anna.run(
      """
      globalThis.failures = [];
      addEventListener("unhandledrejection", ({ reason }) => failures.push(String(reason)));
      IDBDatabase.prototype.transaction = () => { throw new DOMException("closed", "InvalidStateError"); };
      """)
    try anna.choose("Delete", ofMessage: -1)
    try anna.agree()
    try anna.wait(for: "This browser can’t store it.", in: "#status-words")
    try anna.sees(["hello"])
    // The lists change all the same.
    try anna.run("document.querySelector('#unfriend').click()")
    try anna.wait("document.querySelector('#unfriend').hidden")
    #expect(try anna.browser.evaluate("failures.join()") == "")
  }

  @Test func namesMayHaveBlanksAroundThem() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let desk = try WebAppPerson("anna ", at: site, isNew: false)
    _ = try WebAppPerson("bert", at: site)
    try desk.run(
      """
      document.querySelector('#add').elements.AddUser.value = ' bert ';
      document.querySelector('#add').requestSubmit();
      """)
    try desk.wait(for: "asked to be a friend", in: "#people")
    #expect(try anna.post("friends", "{}").contains("bert"))
  }

  @Test func theModulesDoAsTheyShould() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    for name in ["rich", "msgr"] {
      let script = try String(
        contentsOf: tests.appending(path: "JavaScript/\(name).js"), encoding: .utf8)
      let different = try anna.browser.run(
        """
        \(script)
        return fetch('/msgr/worker.js').then((response) => response.text()).then(async (text) => {
          const file = /\(name)\\.[0-9a-f]{16}\\.js/.exec(text)[0];
          const { count, different } = await compare(await import('/msgr/' + file));
          return count > 20 ? different.join() : 'nothing was compared';
        });
        """)
      #expect(different as? String == "")
    }
  }

  @Test func whoSignsOutOfflineLeavesNothing() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try bert.befriend(anna)
    try anna.open("bert")
    try bert.open("anna")
    try bert.say("a whisper")
    try anna.sees(["bert wants to add you", "a whisper"])
    let token = try #require(try anna.stored("values").firstMatch(of: /[0-9a-f]{64}/)?.0)
    #expect(try anna.stored("messages").contains("a whisper"))
    // A subscription that stands for one of a browser that reaches a push service.
    try anna.run(
      """
      PushManager.prototype.getSubscription = async () => ({
        unsubscribe: async () => { localStorage.unsubscribed = 'yes'; } });
      """)
    try site.kill()
    try anna.run("document.querySelector('#sign-out').click()")
    try anna.agree()
    try anna.wait("!document.querySelector('#welcome').hidden")
    try anna.wait("localStorage.unsubscribed === 'yes'")
    let page = try anna.browser.evaluate(
      "document.body.textContent + location.hash + document.title")
    for text in ["anna", "bert", "whisper"] { #expect(!page.contains(text), "\(text)") }
    let left = try ["messages", "waiting", "values"].map { try anna.stored($0) }.joined()
    for text in [String(token), "anna", "bert", "whisper"] {
      #expect(!left.contains(text), "\(text)")
    }

    // The token ends when the server can be reached, though the page was closed meanwhile.
    try anna.closePage()
    try site.restart()
    let ask = """
      fetch('/msgr/contacts', { method: 'POST', body: '{}', headers: { Authorization: 'Bearer \(token)' } })
        .then(({ status }) => status)
      """
    #expect(try bert.browser.evaluate(ask) == "200")
    try anna.browser.open("\(site.address)/msgr/")
    try blockUntil { try bert.browser.evaluate(ask) == "403" }
    try blockUntil { try anna.stored("values").firstMatch(of: /[0-9a-f]{64}/) == nil }
  }

  @Test func whatOthersWriteIsText() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let evil = try WebAppPerson(Self.markup, at: site)
    try evil.befriend(anna)
    try evil.open("anna")
    try anna.open(evil.name)
    let marks = "a" + String(repeating: "\u{301}", count: 1800)
    for text in [Self.hostile, marks] { try evil.say(text) }
    try anna.sees(["\(evil.name) wants to add you", Self.hostile, marks])
    // More than fits stays in the field, with the reason.
    try evil.say("a" + String(repeating: "\u{301}", count: 4000))
    try evil.wait(for: "The message is too long.", in: "#trouble")
    #expect(try evil.browser.evaluate("document.querySelector('#text').value.length") == "4001")
    let made = try evil.post("tokens", "{ Name: '<i>', To: ['anna'] }")
    let token = try #require(made.firstMatch(of: /tk_[a-z0-9]{29}/)?.0)
    try evil.run(
      """
      fetch('/msgr/publish', { method: 'POST', headers: {
        Authorization: 'Bearer \(token)', 'Content-Type': 'application/json' },
        body: JSON.stringify({ message: 'm', title: \(Self.hostile.inJavaScript) }) });
      """)
    try anna.wait(for: "<i>", in: "#people")
    #expect(try anna.browser.evaluate("document.querySelector('#compose').hidden") == "false")
    try anna.open("\(evil.name)/<i>")
    // Programs get no answer.
    #expect(try anna.browser.evaluate("document.querySelector('#compose').hidden") == "true")
    try anna.sees([Self.hostile, "m"])
    #expect(
      try anna.browser.evaluate("document.querySelectorAll('main img, main i').length") == "0")
    #expect(try anna.browser.evaluate("document.title.includes('broken')") == "false")
    // Nothing is wider than the window, be it that of a small phone.
    for width in [320, 1200] {
      try anna.browser.resize(width: width, height: 640)
      let root = "document.documentElement"
      #expect(try anna.browser.evaluate("\(root).scrollWidth <= \(root).clientWidth") == "true")
    }
  }

  @Test func thePagePollsWhereNoStreamComesThrough() throws {
    let site = try WebAppSite()
    let noStreams = """
      window.WebSocket = class {
        static OPEN = 1;
        readyState = 3;
        constructor() { setTimeout(() => this.onclose({ code: 1006 })); }
        close() {}
      };
      """
    let anna = try WebAppPerson("anna", at: site, after: noStreams)
    try anna.wait(for: "fetched every five seconds", in: "#status")
    let bert = try WebAppPerson("bert", at: site)
    try bert.befriend(anna)
    try bert.open("anna")
    try bert.say("hello")
    try anna.wait(for: "hello", in: "#people")
  }

  @Test func thePageKnowsWhoMaySignUp() throws {
    var sites: [WebAppSite] = []
    func visit(_ mode: String) throws -> Browser {
      let site = try WebAppSite("signup = \"\(mode)\"")
      sites.append(site)
      let browser = try Browser()
      try browser.open("\(site.address)/msgr/")
      try blockUntil {
        try browser.evaluate("!document.querySelector('#welcome').hidden") == "true"
      }
      return browser
    }
    let details = "document.querySelector('#invitation')"
    let button = "document.querySelector('#sign [value=register]')"
    let open = try visit("open")
    #expect(try open.evaluate("\(details).open || \(button).hidden") == "false")
    let closed = try visit("closed")
    #expect(try closed.evaluate("\(details).hidden && \(button).hidden") == "true")
    // As on a page that was kept from before, and with a server that words its errors otherwise.
    let otherWords = """
      const { fetch } = window;
      window.fetch = async (...given) => {
        const response = await fetch(...given);
        const { status, headers } = response;
        const body = await response.json();
        return new Response(JSON.stringify({ ...body, error: 'in other words' }), { status, headers });
      };
      """
    try closed.run(otherWords)
    try closed.run(
      """
      const { elements } = document.querySelector('#sign');
      elements.Username.value = 'anna';
      elements.Password.value = 'a password';
      \(button).hidden = false;
      \(button).click();
      """)
    try blockUntil {
      try closed.evaluate("document.querySelector('#sign .error').textContent")
        == "Only the operator makes accounts on this server."
    }
    let invite = try visit("invite")
    #expect(try invite.evaluate("\(details).open && !\(button).hidden") == "true")
    // As on a page that was kept from before the server needed one.
    try invite.run("\(details).open = false")
    try invite.run(otherWords)
    for (invitation, sentence) in [
      ("", "This server needs an invitation. Enter the one that you were given."),
      ("guess", "The invitation is unknown, used up or over. Ask for another one."),
    ] {
      try invite.run(
        """
        const { elements } = document.querySelector('#sign');
        elements.Username.value = 'anna';
        elements.Password.value = 'a password';
        elements.Invitation.value = '\(invitation)';
        \(button).click();
        """)
      try blockUntil {
        try invite.evaluate("document.querySelector('#sign .error').textContent") == sentence
      }
      #expect(try invite.evaluate("\(details).open && document.activeElement.name") == "Invitation")
    }
  }

  @Test func aShortPasswordIsSaidSoBeforeAndAfterwards() throws {
    let site = try WebAppSite("minimum_password = 9")
    let browser = try Browser()
    try browser.open("\(site.address)/msgr/")
    let hint = "document.querySelector('#sign-hint').textContent"
    try blockUntil {
      try browser.evaluate("!document.querySelector('#welcome').hidden") == "true"
    }
    #expect(try browser.evaluate(hint).contains("at least 9 characters."))
    let error = "document.querySelector('#sign .error').textContent"
    func signUp(_ password: String) throws {
      try browser.run(
        """
        const { elements } = document.querySelector('#sign');
        elements.Username.value = 'anna';
        elements.Password.value = '\(password)';
        document.querySelector('#sign [value=register]').click();
        """)
    }
    try signUp("eight by")
    try blockUntil {
      try browser.evaluate(error) == "The password needs at least 9 characters."
    }
    // The server counts bytes.
    try signUp("öööö1")
    try blockUntil {
      try browser.evaluate("document.querySelector('#home').hidden") == "false"
    }
  }

  @Test func sizesAreRoundedToTheNearest() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let sizes = [1, 512, 1023, 1072, 1536, 10_752, 1 << 20, 27 << 19, 100 << 20]
    let shown = try anna.browser.evaluate(
      """
      fetch('/msgr/worker.js').then((response) => response.text())
        .then((text) => import('/msgr/' + /view\\.[0-9a-f]+\\.js/.exec(text)[0]))
        .then(({ fileSize }) => \(sizes).map(fileSize).join(', '))
      """)
    #expect(
      shown == "1 byte, 512 bytes, 1023 bytes, 1.0 KiB, 1.5 KiB, 11 KiB, 1.0 MiB, 14 MiB, 100 MiB")
  }

  @Test func aTokenReadsTopicsIfItMay() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    _ = try anna.post("topics/subscribe", "{ Topic: 'alerts', Push: false }")
    try anna.run("document.querySelector('#settings-open').click()")
    for (mayRead, status) in [(false, "403"), (true, "200")] {
      try anna.run(
        """
        document.querySelector('#token-text').value = '';
        const { elements } = document.querySelector('#token');
        elements.Name.value = 'reader \(mayRead)';
        elements.Read.checked = \(mayRead);
        document.querySelector('#token').requestSubmit();
        """)
      try anna.wait("document.querySelector('#token-text').value.startsWith('tk_')")
      let outcome = try anna.browser.evaluate(
        """
        fetch('/alerts/json?poll=1', { headers: {
          Authorization: `Bearer ${document.querySelector('#token-text').value}` } }).then(({ status }) => status)
        """)
      #expect(outcome == status)
    }
  }

  /// What can't be copied is shown to be copied by hand.
  @Test func aTextIsCopiedOrShownSelected() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    try anna.say("hello")
    try anna.wait(for: "sent", in: "#messages")
    func showsSelected(_ text: String) throws {
      try anna.wait("document.querySelector('#by-hand').open")
      let selected = try anna.browser.evaluate("getSelection().toString()")
      #expect(selected == text)
      try anna.run("document.querySelector('#by-hand [data-close]').click()")
      try anna.wait("document.querySelector('#by-hand textarea').value === ''")
    }
    // As without HTTPS, and as where it isn't allowed.
    try anna.run(
      "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    try anna.choose("Copy", ofMessage: -1)
    try showsSelected("hello")
    try anna.run(
      """
      Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(new Error('denied')) }, configurable: true });
      document.querySelector('#settings-open').click();
      document.querySelector('#token').elements.Name.value = 'program';
      document.querySelector('#token').requestSubmit();
      """)
    let token = "document.querySelector('#token-text').value"
    try anna.wait("\(token).startsWith('tk_')")
    try anna.run("document.querySelector('#token-copy').click()")
    try showsSelected(try anna.browser.evaluate(token))
    // Where it is allowed the button says so, and then its name again, however often it is pressed.
    try anna.run(
      """
      window.copied = [];
      window.said = new Set();
      Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied.push(text); } }, configurable: true });
      const button = document.querySelector('#token-copy');
      new MutationObserver(() => { window.said.add(button.textContent); }).observe(button, { subtree: true, childList: true, characterData: true });
      button.click();
      """)
    try anna.wait("document.querySelector('#token-copy').textContent === 'Copied'")
    try anna.run("document.querySelector('#token-copy').click()")
    try anna.wait("window.copied.length === 2 && window.copied.every((text) => text === \(token))")
    try anna.wait("window.said.has('Copy')")
    #expect(
      try anna.browser.evaluate("document.querySelector('#token-copy').textContent") == "Copy")
  }

  @Test func aLabelStandsBesideItsBox() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    try anna.browser.resize(width: 390, height: 844)
    try anna.run("document.querySelector('#settings-open').click()")
    let misplaced = try anna.browser.evaluate(
      """
      [...document.querySelectorAll('#settings label:has([type=checkbox])')].filter((label) => {
        const words = document.createRange();
        words.selectNodeContents(label.lastChild);
        const box = label.querySelector('input').getBoundingClientRect(), { left, top } = words.getBoundingClientRect();
        return left < box.right || top > box.bottom;
      }).map(({ textContent }) => textContent).join()
      """)
    #expect(misplaced == "")
  }

  @Test func aLongNameHasLines() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson(String(repeating: "A", count: 64), at: site)
    let bert = try WebAppPerson(String(repeating: "B", count: 64), at: site)
    try anna.browser.resize(width: 320, height: 640)
    try anna.run(
      """
      document.querySelector('#add').elements.AddUser.value = '\(bert.name)';
      document.querySelector('#add').requestSubmit();
      """)
    try anna.wait(for: bert.name, in: "#people")
    try anna.open(bert.name)
    try anna.wait(for: bert.name, in: "#messages")
    try anna.run("document.querySelector('#settings-open').click()")
    let wide = try anna.browser.evaluate(
      "['#messages', '#settings'].filter((id) => document.querySelector(id).scrollWidth > document.querySelector(id).clientWidth).join()"
    )
    #expect(wide == "")
  }

  @Test func whyABoxCannotBeCheckedIsSaid() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let isSaid = "!document.querySelector('#notify-help').hidden"
    try anna.run("document.querySelector('#settings-open').click()")
    #expect(try anna.browser.evaluate(isSaid) == "false")
    try anna.run(
      """
      document.querySelector('#settings-close').click();
      delete window.PushManager;
      document.querySelector('#settings-open').click();
      """)
    #expect(
      try anna.browser.evaluate("document.querySelector('#notify').disabled && \(isSaid)") == "true"
    )
  }

  /// Nothing says what another device has changed in the lists of friends and requests; other pages of this browser know it.
  @Test func anotherDeviceLearnsOfTheAnswerToARequest() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let second = try WebAppPerson("anna", at: site, isNew: false)
    try second.browser.command(
      "Page.addScriptToEvaluateOnNewDocument",
      [
        "source": """
        const whole = setInterval;
        window.setInterval = (act, time) => whole(act, time === 60_000 ? 200 : time);
        """
      ])
    try second.browser.open("\(site.address)/msgr/?again")
    let beside = try Browser(beside: anna.browser)
    try beside.open("\(site.address)/msgr/")
    _ = try bert.post("add", "{ AddUser: 'anna' }")
    let asks = "document.querySelector('#requests').textContent.includes('bert')"
    let isFriend = "document.querySelector('#people [data-key=bert]') !== null"
    for browser in [anna.browser, second.browser, beside] { try browser.wait(asks) }
    try anna.run("document.querySelector('#requests button').click()")
    for browser in [anna.browser, second.browser, beside] {
      try browser.wait("\(isFriend) && !\(asks)")
    }
    _ = try anna.post("unfriend", "{ User: 'bert' }")
    try second.wait("!\(isFriend)")
  }

  /// The browser's Back leads on from the list, not to what was left; and whoever has a keyboard writes at once.
  @Test func theListIsBehindAConversation() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    let index = "navigation.currentEntry.index"
    let before = try anna.browser.evaluate(index)
    try anna.open("bert")
    try anna.wait("document.activeElement === document.querySelector('#text')")
    // A dialog leaves an entry of its own.
    try anna.run("document.querySelector('#settings-open').click()")
    try anna.wait("history.state?.isSecond === true")
    try anna.run("document.querySelector('#settings-close').click()")
    try anna.run("document.querySelector('#back').click()")
    try anna.wait("document.querySelector('#talk').hidden && location.hash === ''")
    #expect(try anna.browser.evaluate(index) == before)
    // A conversation that was opened first has no list behind it.
    try anna.browser.open("about:blank")
    try anna.browser.open("\(site.address)/msgr/#bert")
    try anna.wait("document.querySelector('#with').textContent === 'bert'")
    try anna.run("document.querySelector('#back').click()")
    try anna.wait("document.querySelector('#talk').hidden && location.pathname === '/msgr/'")
  }

  @Test func whatIsNotSentYetIsNotLostUnasked() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    func isAsked(_ words: String) throws {
      try anna.run(
        """
        document.querySelector('#settings-open').click();
        document.querySelector('#sign-out').click();
        """)
      try anna.wait("document.querySelector('#sure').open")
      try anna.wait(for: words, in: "#sure-question")
    }
    try isAsked("The server keeps only the latest ones.")
    try anna.run("document.querySelector('#sure [data-close]').click()")
    try anna.run("document.querySelector('#settings-close').click()")
    try site.kill()
    try anna.say("unsent")
    try anna.wait(for: "waiting", in: "#messages")
    try isAsked("not sent yet")
    try anna.run("document.querySelector('#sure [data-close]').click()")
    try anna.wait("!document.querySelector('#sure').open")
    try site.restart()
    try bert.wait(for: "unsent", in: "#people")
  }

  /// What one tab stores is the account's that signed in last: the other begins anew with it.
  @Test func tabsHaveTheSameAccount() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let beside = try Browser(beside: anna.browser)
    try beside.open("\(site.address)/msgr/")
    try beside.wait("!document.querySelector('#home').hidden")
    try anna.run("document.querySelector('#sign-out').click()")
    try anna.agree()
    for browser in [anna.browser, beside] {
      try browser.wait("!document.querySelector('#welcome').hidden")
    }
    try beside.run(
      """
      const { elements } = document.querySelector('#sign');
      elements.Username.value = 'cleo';
      elements.Password.value = 'a password';
      document.querySelector('#sign [value=register]').click();
      """)
    for browser in [anna.browser, beside] {
      try browser.wait("document.querySelector('#home')?.hidden === false")
      try browser.run("document.querySelector('#settings-open').click()")
      #expect(try browser.evaluate("document.querySelector('#me').textContent") == "cleo")
    }
  }

  /// What comes draws nothing anew that is as before: a press that has begun counts, and the focus stays.
  @Test func listsKeepWhatIsAsBefore() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let cleo = try WebAppPerson("cleo", at: site)
    try anna.befriend(bert)
    _ = try cleo.post("add", "{ AddUser: 'anna' }")
    try anna.wait(for: "cleo", in: "#requests")
    try anna.run(
      """
      window.request = document.querySelector('#requests li');
      document.querySelectorAll('#requests button')[1].focus();
      """)
    _ = try bert.post("message", "{ UserTo: 'anna', Message: 'one' }")
    try anna.wait(for: "one", in: "#people")
    #expect(
      try anna.browser.evaluate(
        "window.request.isConnected && document.activeElement.textContent") == "Decline")
    // A row that has changed is another one, at which the focus goes on.
    try anna.run("document.querySelector('#people button').focus()")
    _ = try bert.post("message", "{ UserTo: 'anna', Message: 'two' }")
    try anna.wait(for: "two", in: "#people")
    #expect(
      try anna.browser.evaluate("document.activeElement.closest('li')?.dataset.key") == "bert")
    // What is deleted is found no more.
    try anna.run(
      """
      document.querySelector('#search-field').value = 'two';
      document.querySelector('#search-field').dispatchEvent(new Event('input'));
      """)
    try anna.wait(for: "two", in: "#hits")
    try anna.open("bert")
    try anna.choose("Delete", ofMessage: -1)
    try anna.agree()
    try anna.wait(for: "Nothing found.", in: "#hits")
  }

  @Test func whatIsReadFromTheRightBeginsThere() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.open("bert")
    try anna.say("hello שלום")
    try anna.say("שלום hello")
    try anna.sees(["hello שלום", "שלום hello"])
    let sides = try anna.browser.evaluate(
      "[...document.querySelectorAll('#messages li.own')].map((item) => getComputedStyle(item).textAlign).join()"
    )
    #expect(sides == "start,right")
  }

  @Test func anOddNameIsRefusedInWords() throws {
    let site = try WebAppSite()
    let browser = try Browser()
    try browser.open("\(site.address)/msgr/")
    try browser.wait("!document.querySelector('#welcome').hidden")
    for name in ["an/na", String(repeating: "ü", count: 40)] {
      try browser.run(
        """
        document.querySelector('#sign .error').textContent = '';
        document.querySelector('#sign').elements.Username.value = \(name.inJavaScript);
        document.querySelector('#sign').elements.Password.value = 'a password';
        document.querySelector('#sign [value=register]').click();
        """)
      try browser.wait(
        "document.querySelector('#sign .error').textContent.startsWith('This name can’t be used.')")
    }
  }

  @Test func anAddressOfATopicOffersIt() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let field = "document.querySelector('#subscribe').elements.Topic"
    // As the page is loaded, and in the page that is there.
    try anna.browser.open("\(site.address)/alerts")
    try anna.wait("\(field)?.value === 'alerts' && document.activeElement === \(field)")
    #expect(try anna.browser.evaluate("document.querySelector('#subscribing').open") == "true")
    #expect(try anna.browser.evaluate("document.querySelector('#talk').hidden") == "true")
    #expect(try anna.browser.evaluate("location.href") == "\(site.address)/msgr/")
    try anna.run("location.hash = encodeURIComponent('#news')")
    try anna.wait("\(field).value === 'news'")
    try anna.run("document.querySelector('#subscribe').requestSubmit()")
    try anna.wait("document.querySelector('#with').textContent === '#news'")
    // Then it is opened.
    try anna.browser.open("\(site.address)/news")
    try anna.wait("document.querySelector('#with')?.textContent === '#news'")
    try anna.wait("!document.querySelector('#topic-open').hidden")
    #expect(try anna.browser.evaluate("document.querySelector('#subscribing').open") == "false")
  }

  /// A response may be cut behind its head, as when the page is left while it comes.
  @Test func aResponseThatIsCutSaysNothing() throws {
    let site = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    try anna.befriend(bert)
    try anna.run(
      """
      const whole = window.fetch;
      window.cut = [];
      window.fetch = (address, ...rest) => {
        const path = new URL(address).pathname;
        if (!['/msgr/friends', '/msgr/message'].includes(path) || window.cut.includes(path)) return whole(address, ...rest);
        window.cut.push(path);
        return Promise.resolve(new Response('{"Fr'));
      };
      """)
    // What was sent is sent again, and the lists stay.
    try anna.open("bert")
    try anna.say("hello")
    try bert.wait(for: "hello", in: "#people")
    try anna.run("location.hash = encodeURIComponent('#news')")
    try anna.wait("window.cut.length === 2")
    try anna.wait(for: "bert", in: "#people")
    // What an earlier version has kept of such a response keeps no page from its start.
    try anna.run(
      """
      return new Promise((resolve) => {
        const opening = indexedDB.open('msgr');
        opening.onsuccess = () => {
          const transaction = opening.result.transaction('values', 'readwrite');
          transaction.objectStore('values').put({ name: 'lists', value: {} });
          transaction.oncomplete = resolve;
        };
      });
      """)
    try anna.browser.open("\(site.address)/version")
    try anna.browser.open("\(site.address)/msgr/")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try anna.wait(for: "bert", in: "#people")
  }

  @Test func anotherSitesPageGetsNothing() throws {
    let site = try WebAppSite()
    let other = try WebAppSite()
    let anna = try WebAppPerson("anna", at: site)
    let bert = try WebAppPerson("bert", at: site)
    let token = try #require(
      try anna.post("tokens", "{ Name: 'ci', To: ['bert'] }").firstMatch(
        of: /tk_[a-z0-9]{29}/)?.0)
    // Another origin's page can neither read nor send, even if it knows a name and a password or a token; nor can it open
    // the stream.
    try anna.browser.open("\(other.address)/version")
    let address = "\(site.address)/msgr"
    let password = "{ UserFrom: 'anna', Password: 'a password', UserTo: 'bert', Message: 'x' }"
    let outcome = try anna.browser.evaluate(
      """
      (async () => {
        const ask = (path, body) => fetch(`\(address)/${path}`, { method: 'POST', body })
          .then(() => 'read', () => 'refused');
        const asked = [
          await ask('message', JSON.stringify(\(password))), await ask('publish?token=\(token)', 'x'),
          await ask('contacts', JSON.stringify({ Username: 'anna', Password: 'a password' })) ];
        const opened = await new Promise((resolve) => {
          const socket = new WebSocket('\(address)/stream'.replace('http', 'ws'), ['msgr.1', 'bearer.\(token)']);
          socket.onopen = () => resolve('open');
          socket.onerror = () => resolve('refused');
        });
        return [...asked, opened].join(' ');
      })()
      """)
    #expect(outcome == "refused refused refused refused")
    // Nothing was done, though its result could not be read.
    #expect(try bert.post("inbox", "{}") == "[]")
  }

  @Test func theDescriptionIsAPage() throws {
    let site = try WebAppSite()
    let browser = try Browser()
    try browser.open("\(site.address)/msgr/api")
    try blockUntil {
      try browser.evaluate("document.querySelectorAll('section').length > 20") == "true"
    }
    #expect(
      try browser.evaluate("document.body.textContent.includes('POST /publish')") == "true")
  }
}
