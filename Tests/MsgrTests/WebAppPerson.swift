internal import Foundation
internal import TestSupport
internal import Testing

extension WebAppSite {
  /// A server of Msgr.
  ///
  /// - Parameter configuration: what stands below the section `[msgr]`.
  convenience init(_ configuration: String = "") throws {
    try self.init(
      service: "msgr",
      configuration: """
        password_memory = "8KiB"
        password_passes = 1
        \(configuration)
        """)
  }
}

/// A person at the page, in a browser with a profile of its own.
struct WebAppPerson {
  let name: String
  let browser: Browser
  private let address: String

  /// Opens the page and signs up, or signs in.
  ///
  /// - Parameters:
  ///   - isNew: whether there is no such account yet.
  ///   - script: what runs in the page before.
  init(_ name: String, at site: WebAppSite, isNew: Bool = true, after script: String = "") throws {
    self.name = name
    address = site.address
    browser = try Browser()
    try browser.open("\(address)/msgr/")
    try wait("!document.querySelector('#welcome').hidden")
    try run(script)
    try run(
      """
      const { elements } = document.querySelector('#sign');
      elements.Username.value = \(name.inJavaScript);
      elements.Password.value = 'a password';
      document.querySelector('#sign [value=\(isNew ? "register" : "login")]').click();
      """)
    try wait("!document.querySelector('#home').hidden")
  }

  func run(_ script: String) throws { try browser.run(script) }

  func wait(_ condition: String, file: String = #fileID, line: Int = #line) throws {
    try browser.wait(condition, file: file, line: line)
  }

  func wait(
    for text: String, in selector: String, file: String = #fileID, line: Int = #line
  ) throws {
    try wait(
      "document.querySelector('\(selector)').textContent.includes(\(text.inJavaScript))",
      file: file, line: line)
  }

  /// Makes a request with the page's token.
  func post(_ path: String, _ fields: String) throws -> String {
    try browser.evaluate(
      """
      new Promise((resolve) => {
        const opening = indexedDB.open('msgr');
        opening.onsuccess = () => {
          const got = opening.result.transaction('values').objectStore('values').get('token');
          got.onsuccess = () => resolve(got.result.value);
        };
      }).then((token) => fetch('/msgr/\(path)', {
        method: 'POST', body: JSON.stringify(\(fields)), headers: { Authorization: `Bearer ${token}` },
      })).then((response) => response.text())
      """)
  }

  /// The page's data of one kind in the browser.
  func stored(_ kind: String) throws -> String {
    try browser.evaluate(
      """
      new Promise((resolve) => {
        const opening = indexedDB.open('msgr');
        opening.onsuccess = () => {
          const got = opening.result.transaction('\(kind)').objectStore('\(kind)').getAll();
          got.onsuccess = () => resolve(JSON.stringify(got.result));
        };
      })
      """)
  }

  func befriend(_ other: WebAppPerson) throws {
    try run(
      """
      document.querySelector('#add').elements.AddUser.value = \(other.name.inJavaScript);
      document.querySelector('#add').requestSubmit();
      """)
    try wait(for: other.name, in: "#people")
    try other.wait(for: name, in: "#requests")
    try other.run("document.querySelector('#requests button').click()")
    try other.wait(for: name, in: "#people")
  }

  func open(_ other: String) throws {
    try run("location.hash = encodeURIComponent(\(other.inJavaScript))")
    try wait("document.querySelector('#with').textContent === \(other.inJavaScript)")
  }

  /// Has pushes sent to an address, with keys that stand for those of a browser that reaches a push service.
  func beNotified(at endpoint: String, _ receiver: PushReceiver) throws {
    try allowNotifications()
    let keys = String(decoding: try JSONEncoder().encode(receiver.subscription), as: UTF8.self)
    try run(
      """
      PushManager.prototype.subscribe = async () => ({
        toJSON: () => ({ endpoint: \(endpoint.inJavaScript), keys: \(keys) }) });
      document.querySelector('#settings-open').click();
      """)
    try wait(
      "document.querySelector('#sessions li') && !document.querySelector('#notify').disabled")
    try run("document.querySelector('#notify').click()")
    try blockUntil { try post("sessions", "{}").contains("webpush") }
    try run("document.querySelector('#settings-close').click()")
  }

  /// Closes the page, and shows an empty one.
  func closePage() throws {
    // A page that is being closed may still receive what is sent then; one that was left doesn't.
    try browser.open("about:blank")
    try browser.closePage()
    // What was allowed ended with the page that was there.
    try allowNotifications()
  }

  private func allowNotifications() throws {
    try browser.command(
      "Browser.grantPermissions", ["origin": address, "permissions": ["notifications"]])
  }

  /// The notifications that are shown; asked for on a page that isn't the web app's.
  func notifications() throws -> String {
    try browser.evaluate(
      """
      navigator.serviceWorker.getRegistration('/msgr/')
        .then((registration) => registration.getNotifications())
        .then((shown) => shown.map(({ title, body }) => `${title}: ${body}`).join())
      """)
  }

  func say(_ text: String) throws {
    try run(
      """
      document.querySelector('#text').value = \(text.inJavaScript);
      document.querySelector('#compose').requestSubmit();
      """)
  }

  /// Chooses from the menu of a message of the open conversation.
  ///
  /// - Parameter index: the message's place among those that are shown; -1 is the last.
  func choose(_ item: String, ofMessage index: Int) throws {
    try run("[...document.querySelectorAll('#messages .more')].at(\(index)).click()")
    try run(
      """
      [...document.querySelectorAll('#menu [role=menuitem]')]
        .find(({ textContent }) => textContent === \(item.inJavaScript)).click();
      """)
  }

  /// Says yes to what is asked.
  func agree() throws {
    try wait("document.querySelector('#sure').open")
    try run("document.querySelector('#sure-yes').click()")
  }

  /// The messages of the open conversation, as they are shown.
  func messages() throws -> [String] {
    let json = try browser.evaluate(
      "JSON.stringify([...document.querySelectorAll('#messages li p')].map(p => p.textContent))")
    return try JSONDecoder().decode([String].self, from: Data(json.utf8))
  }

  func sees(_ texts: [String], file: String = #fileID, line: Int = #line) throws {
    try blockUntil(file: file, line: line) { try messages() == texts }
  }
}
