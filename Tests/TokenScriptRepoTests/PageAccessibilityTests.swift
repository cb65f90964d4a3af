internal import Foundation
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests that nobody is kept from using the pages, by axe in a browser.
@Suite(.ownThreads, .enabled(if: Browser.isThere && TestTools.axe != nil))
struct PageAccessibilityTests {
  @Test func axeFindsNothing() async throws {
    let fixture = try RepositoryFixture()
    for (name, signer, network, contract) in [
      ("a", Signer.shop, "1", alice), ("b", .rival, "1", alice), ("c", .issuer, "5", bob),
    ] {
      let text = tokenScript(
        "2020/06", contracts: [("Coin", [(network, contract)])], origins: ["Coin"])
      try fixture.write("\(name).tsml", bytes: signer.sign(text, at: 1_600_000_000))
    }
    try fixture.write("broken.tsml", "<a>")
    try fixture.write("unsigned.tsml", tokenScript("2020/06", for: bob))
    let server = try await fixture.server(publicURL: "https://repo.example")
    let folder = TemporaryFolder()
    let browser = try Browser()
    for path in [
      "/", "/?q=nothing", "/contracts/1/\(alice)", "/contracts/5/\(bob)", "/2020/06/\(alice)",
      "/2020/06/0x0000000000000000000000000000000000000001",
    ] {
      try folder.write("page.html", try await server.get(path, ["Accept": "text/html"]).text)
      try browser.open("file://\(folder.path)/page.html")
      #expect(try browser.barriers() == [], "\(path)")
    }
  }
}
