internal import Foundation
internal import TestSupport
internal import Testing

/// The web app of Msgr, with two people in two browsers.
@Suite(.ownThreads, .serialized, .enabled(if: Browser.isThere)) struct MsgrBrowserTests {
  /// A server that can be killed and started again at the same port.
  private final class Site {
    private let folder: TemporaryFolder
    private var process: ChildProcess?
    private(set) var address = ""

    init() throws {
      folder = TemporaryFolder()
      try start(port: 0)
    }

    func restart() throws {
      process?.signal(SIGKILL)
      _ = try process?.outcome()
      let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
      try start(port: port)
    }

    private func start(port: Int) throws {
      try folder.write(
        "awd.toml",
        """
        [server]
        listen = ["127.0.0.1:\(port)"]
        services = ["msgr"]
        [msgr]
        password_memory = "8KiB"
        password_passes = 1
        """)
      let process = try ChildProcess.awd(
        ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
      let line = try process.line(with: "listening at=")
      address = String(try #require(line.firstMatch(of: /listening at=(\S+)/)?.1))
      self.process = process
    }
  }

  /// A person at the page.
  private struct Person {
    let name: String
    let browser: Browser

    init(_ name: String, at site: Site) throws {
      self.name = name
      browser = try Browser(TemporaryFolder())
      try browser.open("\(site.address)/msgr/")
      try wait("!document.querySelector('#welcome').hidden")
      try run(
        """
        (form => { form.elements.Username.value = \(quoted(name));
          form.elements.Password.value = 'a password';
          form.querySelector('[value=register]').click(); })(document.querySelector('#sign'))
        """)
      try wait("!document.querySelector('#home').hidden")
    }

    func run(_ script: String) throws { _ = try browser.evaluate("(\(script), '')") }

    func wait(_ condition: String) throws {
      try blockUntil { try browser.evaluate(condition) == "true" }
    }

    func befriend(_ other: String) throws {
      try run(
        "(form => { form.elements.AddUser.value = \(quoted(other)); form.requestSubmit(); })"
          + "(document.querySelector('#add'))")
      try wait("document.querySelector('#people').textContent.includes(\(quoted(other)))")
    }

    func open(_ other: String) throws {
      try run("location.hash = encodeURIComponent(\(quoted(other)))")
      try wait("document.querySelector('#with').textContent === \(quoted(other))")
    }

    func say(_ text: String) throws {
      try run(
        "(document.querySelector('#text').value = \(quoted(text)), "
          + "document.querySelector('#compose').requestSubmit())")
    }

    /// The messages of the open conversation, as they are shown.
    func messages() throws -> [String] {
      let json = try browser.evaluate(
        "JSON.stringify([...document.querySelectorAll('#messages li p')].map(p => p.textContent))")
      return try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    func sees(_ texts: [String]) throws {
      try blockUntil { try messages() == texts }
    }
  }

  private static let hostile = "<img src=x onerror=\"document.title='broken'\"> \u{202e}turned"

  @Test func twoPeopleTalk() throws {
    let site = try Site()
    let anna = try Person("anna", at: site)
    let bert = try Person("bért <b>", at: site)
    try anna.befriend("bért <b>")
    try bert.wait("document.querySelector('#requests').textContent.includes('anna')")
    try bert.run("document.querySelector('#requests button').click()")
    try bert.wait("document.querySelector('#people').textContent.includes('anna')")
    try anna.open("bért <b>")
    try bert.open("anna")
    let request = "anna wants to add you"
    try bert.sees([request])
    try anna.say("hello")
    try bert.sees([request, "hello"])
    try bert.say(Self.hostile)
    try anna.sees(["hello", Self.hostile])
    #expect(try anna.browser.evaluate("document.querySelectorAll('#messages img').length") == "0")
    try anna.wait("document.title === 'Msgr'")
    let marks = "a" + String(repeating: "\u{301}", count: 1800)
    try bert.say(marks)
    try anna.sees(["hello", Self.hostile, marks])
    // What is written while the server is gone is sent when it is back, once and in order.
    try site.restart()
    try anna.say("one")
    try anna.say("two")
    try bert.wait("document.querySelector('#status').textContent === ''")
    try bert.sees([request, "hello", Self.hostile, marks, "one", "two"])
    try anna.wait("!document.querySelector('#messages').textContent.includes('waiting')")
    // Nothing is wider than the window.
    let root = "document.documentElement"
    #expect(try anna.browser.evaluate("\(root).scrollWidth <= \(root).clientWidth") == "true")
  }

  @Test func anotherSitesPageGetsNothing() throws {
    let site = try Site()
    let other = try Site()
    let anna = try Person("anna", at: site)
    // From another origin the service can neither be asked nor its stream be opened.
    try anna.browser.open("\(other.address)/version")
    try anna.run(
      """
      (async () => {
        document.title = 'trying';
        const asked = await fetch('\(site.address)/msgr/contacts', { method: 'POST', body: '{}' })
          .then(() => 'read', () => 'refused');
        const opened = await new Promise((resolve) => {
          let socket;
          try { socket = new WebSocket('\(site.address)/msgr/stream'.replace('http', 'ws'), ['msgr.1']); }
          catch { return resolve('refused'); }
          socket.onopen = () => resolve('open');
          socket.onerror = () => resolve('refused');
        });
        document.title = asked + ' ' + opened;
      })()
      """)
    try anna.wait("document.title.includes(' ')")
    #expect(try anna.browser.evaluate("document.title") == "refused refused")
  }

  @Test func theDescriptionIsAPage() throws {
    let site = try Site()
    let browser = try Browser(TemporaryFolder())
    try browser.open("\(site.address)/msgr/api")
    try blockUntil {
      try browser.evaluate("document.querySelectorAll('section').length > 20") == "true"
    }
    #expect(
      try browser.evaluate("document.body.textContent.includes('POST /publish')") == "true")
  }
}

/// Returns a text as JavaScript's literal.
private func quoted(_ text: String) -> String {
  let data = try? JSONEncoder().encode(text)
  return String(decoding: data ?? Data(), as: UTF8.self)
}
