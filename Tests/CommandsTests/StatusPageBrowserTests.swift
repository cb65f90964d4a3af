internal import Foundation
internal import TestSupport
internal import Testing

/// The status page in a browser.
@Suite(.ownThreads, .enabled(if: Browser.isThere)) struct StatusPageBrowserTests {
  @Test func isALinkAwayFromTheFirstPage() throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\n"])
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try process.line(with: "listening at=")
    let address = try #require(line.firstMatch(of: /listening at=(\S+)/)?.1)
    let browser = try Browser()
    try browser.open("\(address)/")
    try browser.click("Status, for the operator on this machine")
    #expect(try browser.evaluate("document.title") == "awd status")
    // Its plots begin with the second measurement.
    try blockUntil {
      try browser.open("\(address)/status")
      return try browser.evaluate("document.querySelectorAll('svg polyline').length > 10") == "true"
    }
    let headings = try browser.evaluate(
      "[...document.querySelectorAll('h2')].map(heading => heading.textContent)")
    #expect(
      headings.hasPrefix(
        "Process,Disk, backup and certificate,Connections,Store,Pushes,tokenscript"))
    #expect(try browser.evaluate("document.querySelector('.state').textContent") == "ready")
    // The plots have the colours of the page's own style, so the policy allows it.
    let stroke = "getComputedStyle(document.querySelector('polyline')).stroke"
    #expect(try browser.evaluate(stroke) == "rgb(10, 85, 196)")
    // The page is not wider than the window.
    let root = "document.documentElement"
    #expect(try browser.evaluate("\(root).scrollWidth <= \(root).clientWidth") == "true")
    for (link, text) in [
      ("Metrics", "awd_store_commit_seconds_bucket"), ("Readiness", "ready"),
      ("Version", "\"name\":\"awd\""),
    ] {
      try browser.open("\(address)/status")
      try browser.click(link)
      #expect(try browser.evaluate("document.body.textContent").contains(text))
    }
  }
}
