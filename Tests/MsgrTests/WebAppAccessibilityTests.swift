internal import Foundation
internal import TestSupport
internal import Testing

/// The views of Msgr's web app, in light and dark, on a phone and on a desktop.
@Suite(.ownThreads, .serialized, .enabled(if: Browser.isThere && TestTools.axe != nil))
struct WebAppAccessibilityTests {
  /// Expects that axe finds nothing on the browser's page.
  private func check(_ browser: Browser, _ view: String) throws {
    #expect(try browser.barriers() == [], "\(view)")
  }

  @Test func noViewHasAViolation() throws {
    let site = try WebAppSite()
    let visitor = try Browser()
    try visitor.open("\(site.address)/msgr/")
    try blockUntil {
      try visitor.evaluate("!document.querySelector('#welcome').hidden") == "true"
    }
    try check(visitor, "sign-in")
    try visitor.run("document.querySelector('#sign [value=login]').click()")
    try check(visitor, "sign-in without a name")
    try visitor.open("\(site.address)/msgr/api")
    try blockUntil {
      try visitor.evaluate("document.querySelectorAll('section').length > 20") == "true"
    }
    try check(visitor, "description")

    let anna = try WebAppPerson("anna", at: site)
    try check(anna.browser, "nobody")
    let bert = try WebAppPerson("ברט", at: site)
    _ = try bert.post("add", "{ AddUser: 'anna' }")
    try anna.wait(for: "wants to add you", in: "#requests")
    try check(anna.browser, "a request")
    try anna.run("document.querySelector('#requests button').click()")
    try anna.wait(for: bert.name, in: "#people")
    try bert.open("anna")
    for text in ["שלום", String(repeating: "a long message ", count: 200), "x"] {
      try bert.say(text)
    }
    try anna.wait("document.querySelector('.count')?.textContent.startsWith('4')")
    try check(anna.browser, "unread")
    try anna.open(bert.name)
    try anna.say("hello")
    try anna.wait(for: "sent", in: "#messages")
    try anna.say(String(repeating: "x", count: 5000))
    try anna.wait(for: "too long", in: "#trouble")
    try check(anna.browser, "a conversation")
    _ = try anna.post("block", "{ User: \(bert.name.inJavaScript) }")
    try anna.browser.open("\(site.address)/msgr/?again")
    try anna.wait("!document.querySelector('#home').hidden")
    try anna.run("document.querySelector('#settings-open').click()")
    try anna.wait("document.querySelector('#sessions li') !== null")
    try check(anna.browser, "settings")
    try site.kill()
    try anna.browser.open("\(site.address)/msgr/")
    try anna.wait(for: "No connection", in: "#status")
    try check(anna.browser, "without a network")
  }
}
