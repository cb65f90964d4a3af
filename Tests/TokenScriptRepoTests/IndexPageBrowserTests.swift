internal import Foundation
internal import WebApps
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of the page at `/` in a browser.
@Suite(.ownThreads, .enabled(if: Browser.isThere))
struct IndexPageBrowserTests {
  @Test func theServedPageShowsTheRowsThatAreSearchedFor() throws {
    let fixture = try CommandsFixture()
    for path in ["first.tsml", "second.tsml"] { try fixture.write("repository/\(path)", "broken") }
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(fixture.folder)/awd.toml"], home: fixture.folder,
      environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
    let line = try process.line(with: "listening at=http://")
    let host = try #require(line.firstMatch(of: /127\.0\.0\.1:[1-9][0-9]+/)?.0)
    let browser = try Browser()
    try browser.open("http://\(host)/tokenscripts")
    let all = try browser.document()
    #expect(all.contains(">first.tsml<") && all.contains(">second.tsml<"))
    try browser.open("http://\(host)/tokenscripts?q=FIRST")
    let found = try browser.document()
    #expect(found.contains(">first.tsml<") && !found.contains(">second.tsml<"))
  }

  /// Puts the document into a frame as wide as a phone, with a script around it that measures.
  @Test(arguments: [320, 400, 1_200])
  func nothingSticksOutOfTheWindow(_ width: Int) throws {
    let fixture = try CommandsFixture()
    let long = String(repeating: "long", count: 50)
    var row = IndexRow(path: RepositoryPath("\(long)/\(long).tsml"), state: .served)
    row.name = long
    row.signer = TokenScriptFile.Signer(
      commonName: long, key: long, kind: "P-256", time: Timestamp(seconds: 0))
    row.time = Timestamp(seconds: 0)
    row.warnings = [long]
    var refused = row
    refused.state = .refused(FileRefusal(reason: long, detail: ""))
    var shadowed = row
    shadowed.state = .shadowed(by: row.path)
    let index = ContractIndex(
      generation: 1, documents: .none, editions: [:], files: [], rows: [row, refused, shadowed])
    let page = IndexPage(index, query: "long").html
    let url = try fixture.write(
      "frame.html",
      """
      <!doctype html>
      <script>
      function measure(frame) {
        const inner = frame.contentDocument
        const root = inner.documentElement
        const outside = [...inner.body.querySelectorAll(":not(th)")]
          .filter(part => part.getBoundingClientRect().right > root.clientWidth)
          .map(part => part.localName + "." + part.className)
        if (root.scrollWidth > root.clientWidth) outside.push("page")
        const isCard = getComputedStyle(inner.querySelector("tbody")).display == "block"
        document.title = `outside: [${outside}], cards: ${isCard}`
      }
      </script>
      <iframe width="\(width)" height="900" onload="measure(this)" srcdoc="\(page.htmlEscaped)"></iframe>
      """)
    let browser = try Browser()
    try browser.open("file://\(url)")
    try blockUntil { try !browser.evaluate("document.title").isEmpty }
    #expect(try browser.evaluate("document.title") == "outside: [], cards: \(width < 1_000)")
  }
}
