internal import Foundation
internal import TestSupport
internal import Testing

/// A person at the page, in a browser with a profile of its own.
struct WebAppPerson {
  let name: String
  let browser: Browser
  let key: String

  init(name: String, browser: Browser, key: String) {
    (self.name, self.browser, self.key) = (name, browser, key)
  }

  /// Opens the page and makes an account.
  init(_ name: String, at site: WebAppSite) throws {
    self.name = name
    browser = try Browser()
    try browser.open("\(site.address)/siren/app/")
    let root = "document.documentElement.dataset"
    try blockUntil { [browser] in try browser.evaluate("\(root).view") == "welcome" }
    try browser.run(
      """
      document.querySelector('#make').elements.name.value = \(name.inJavaScript);
      document.querySelector('#make').requestSubmit();
      """)
    try blockUntil { [browser] in try browser.evaluate("\(root).connection") == "open" }
    key = try browser.evaluate("\(root).user")
  }

  func run(_ script: String) throws { try browser.run(script) }

  func wait(_ condition: String, file: String = #fileID, line: Int = #line) throws {
    try browser.wait(condition, file: file, line: line)
  }

  /// Waits until a message that is shown was sent.
  func waitUntilSent(file: String = #fileID, line: Int = #line) throws {
    try wait(
      "document.querySelector('#messages li[data-state=sent]') !== null", file: file, line: line)
  }

  /// Returns the link for another device that the open dialog shows, as soon as it does.
  func link(file: String = #fileID, line: Int = #line) throws -> String {
    let field = "document.querySelector('#link [name=link]').value"
    // The dialog of an earlier link isn't open any more.
    try wait(
      "document.querySelector('#link').open && \(field) !== ''", file: file, line: line)
    return try browser.evaluate(field)
  }

  func isShown(_ selector: String) throws -> Bool {
    try browser.evaluate("!document.querySelector('\(selector)').hidden") == "true"
  }

  /// Presses the button that is shown with a text, in the dialog on top if there is one.
  func press(_ text: String, file: String = #fileID, line: Int = #line) throws {
    try blockUntil(file: file, line: line) {
      try browser.evaluate(
        """
        (() => {
          const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
          const found = [...place.querySelectorAll('button')].find((button) => button.checkVisibility()
            && !button.disabled && button.textContent === \(text.inJavaScript));
          found?.click();
          return Boolean(found);
        })()
        """) == "true"
    }
  }

  /// Says yes to what is asked.
  func agree() throws {
    try wait("document.querySelector('#sure').open")
    try run("document.querySelector('#sure-yes').click()")
  }

  /// Chooses from the menu of a message, and says yes to what is asked, if anything is.
  func menu(_ index: Int, _ item: String, isAsked: Bool = true) throws {
    let buttons = "document.querySelectorAll('#messages .more')"
    try wait("\(buttons).length > \(index)")
    try run("\(buttons)[\(index)].click()")
    try wait(
      """
      (() => {
        const found = [...document.querySelectorAll('#menu [role=menuitem]')]
          .find((item) => item.textContent === \(item.inJavaScript));
        found?.click();
        return Boolean(found);
      })()
      """)
    if isAsked { try agree() }
  }

  /// Makes a forum, whose chat is then open.
  ///
  /// - Returns: its key.
  @discardableResult
  func makeForum(_ name: String, isModerated: Bool, gate: String = "") throws -> String {
    let before = try browser.evaluate("document.documentElement.dataset.chat")
    try press("New forum")
    try wait("document.querySelector('#forum-making').open")
    try run(
      """
      const form = document.querySelector('#forum-making form');
      form.elements.name.value = \(name.inJavaScript);
      form.elements.moderated.checked = \(isModerated);
      form.elements.gate.value = \(gate.inJavaScript);
      form.requestSubmit();
      """)
    try wait("!document.querySelector('#forum-making').open")
    try wait("(document.documentElement.dataset.chat ?? '\(before)') !== '\(before)'")
    return try browser.evaluate("document.documentElement.dataset.chat")
  }

  /// Invites somebody from the open details of a forum.
  func invite(_ other: WebAppPerson) throws {
    try run(
      """
      const field = document.querySelector('#forum input[type=search]');
      field.value = \(other.name.inJavaScript);
      field.dispatchEvent(new Event('input'));
      """)
    let found = "#forum ul[aria-label=Found] li[data-key=\"\(other.key)\"] button"
    try wait("document.querySelector('\(found)') !== null")
    try run("document.querySelector('\(found)').click()")
    try wait("document.querySelector('#readers li[data-key=\"\(other.key)\"]') !== null")
  }

  /// Fills in the fields of an open dialog, and submits it.
  func fill(_ dialog: String, _ values: [String: String]) throws {
    try wait("document.querySelector('#\(dialog)').open")
    for (name, value) in values {
      try run(
        "document.querySelector('#\(dialog) [name=\(name)]').value = \(value.inJavaScript)")
    }
    try run("document.querySelector('#\(dialog) form').requestSubmit()")
  }

  /// Finds somebody by name, and opens the chat.
  func find(_ other: String) throws {
    try press("New chat")
    try run(
      """
      const field = document.querySelector('#find');
      field.value = \(other.inJavaScript);
      field.dispatchEvent(new Event('input'));
      """)
    try wait("document.querySelector('#finding li button') !== null")
    try run("document.querySelector('#finding li button').click()")
    try wait("document.querySelector('#with').textContent.startsWith(\(other.inJavaScript))")
  }

  func open(_ other: WebAppPerson, in list: String) throws { try open(other.key, in: list) }

  /// Writes to somebody who allows it.
  func befriend(_ other: WebAppPerson, saying text: String) throws {
    try find(other.name)
    try say(text)
    try other.open(self, in: "Requests")
    try other.press("Allow")
  }

  func open(_ key: String, in list: String) throws {
    let item = "ul[aria-label=\(list)] li[data-key=\"\(key)\"] button"
    try wait("document.querySelector('\(item)') !== null")
    try run("document.querySelector('\(item)').click()")
    try wait("document.documentElement.dataset.chat === '\(key)'")
  }

  func say(_ text: String) throws {
    try run(
      """
      document.querySelector('#text').value = \(text.inJavaScript);
      document.querySelector('#compose').requestSubmit();
      """)
  }

  /// Begins a text, as if it were typed.
  func begin(_ text: String) throws {
    try run(
      """
      const field = document.querySelector('#text');
      field.value = \(text.inJavaScript);
      field.dispatchEvent(new Event('input'));
      """)
  }

  /// Waits until the open chat shows these messages.
  func sees(_ texts: [String], file: String = #fileID, line: Int = #line) throws {
    try blockUntil(file: file, line: line) {
      let json = try browser.evaluate(
        "JSON.stringify([...document.querySelectorAll('#messages [data-text]')].map(p => p.textContent))"
      )
      return try JSONDecoder().decode([String].self, from: Data(json.utf8)) == texts
    }
  }

  /// Everything that is stored in the browser, as text.
  func stored() throws -> String {
    try browser.evaluate(
      """
      indexedDB.databases().then((all) => new Promise((resolve) => {
        const opening = indexedDB.open(all[0].name);
        opening.onsuccess = () => {
          const store = opening.result.transaction('records').objectStore('records');
          const [values, names] = [store.getAll(), store.getAllKeys()];
          names.onsuccess = () => {
            const text = (bytes) => new TextDecoder('latin1').decode(bytes);
            const hex = (bytes) => Array.from(new Uint8Array(bytes), (one) => one.toString(16).padStart(2, '0')).join('');
            resolve(values.result.map(({ data }) => text(data) + hex(data)).join() + names.result.map(hex).join());
          };
        };
      }))
      """)
  }
}

extension Browser {
  /// Agrees that this browser becomes a device of the account that has come; nothing of it is stored before.
  func becomeDevice(of name: String, file: String = #fileID, line: Int = #line) throws {
    let words = "document.querySelector('#linking-words').textContent"
    try blockUntil(file: file, line: line) {
      try evaluate(words) == "This browser becomes a device of \(name)"
    }
    _ = try run("document.querySelector('#linking-yes').click()")
  }

  /// Returns the six digits that the page of a new device shows, as soon as it does.
  func digits(file: String = #fileID, line: Int = #line) throws -> String {
    let digits = "document.querySelector('[data-digits]').textContent"
    try blockUntil(file: file, line: line) { try evaluate(digits).count == 6 }
    return try evaluate(digits)
  }
}
