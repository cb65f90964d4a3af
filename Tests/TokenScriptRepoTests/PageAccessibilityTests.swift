internal import Foundation
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests that nobody is kept from using the pages, by axe in a browser.
@Suite(.ownThreads, .enabled(if: Chromium.isThere && TestTools.axe != nil))
struct PageAccessibilityTests {
  private static let pages = [
    "/", "/?q=nothing", "/contracts/1/\(alice)", "/contracts/5/\(bob)", "/2020/06/\(alice)",
    "/2020/06/0x0000000000000000000000000000000000000001",
  ]

  @Test(arguments: pages, [false, true])
  func axeFindsNothing(_ path: String, _ isDark: Bool) async throws {
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
    let page = try await fixture.server(publicURL: "https://repo.example")
      .get(path, ["Accept": "text/html"]).text
    let script = try #require(TestTools.axe)
    let commands = try CommandsFixture()
    let file = try commands.write(
      "page.html",
      page + """
        <script>\(script)</script>
        <script>
        axe.run().then(found => {
          const scheme = matchMedia("(prefers-color-scheme: dark)").matches
          const words = found.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" "))
          document.title = `dark: ${scheme}, passes: ${found.passes.length > 5}, violations: [${words}]`
        })
        </script>
        """)
    let shown = try Chromium.dump(
      "file://\(file)", in: commands,
      ["--virtual-time-budget=20000", "--blink-settings=preferredColorScheme=\(isDark ? 0 : 1)"])
    #expect(
      shown.contains("<title>dark: \(isDark), passes: true, violations: []</title>"),
      "\(String(describing: shown.firstMatch(of: /<title>[^<]*<\/title>/)?.0))")
  }
}
