internal import Testing

@testable import WalletClient

/// Which redirects a wallet follows.
@Suite struct RedirectTests {
  private static let source = "http://repo.example/2024/01/0x?chain=1"

  @Test(arguments: [
    ("/moved/x", "http://repo.example/moved/x"),
    ("?chain=2", "http://repo.example/2024/01/0x?chain=2"),
    ("y", "http://repo.example/2024/01/y"), ("//repo.example/z", "http://repo.example/z"),
    ("http://repo.example:80/a", "http://repo.example:80/a"),
    ("http://REPO.example/a#b", "http://REPO.example/a"),
    ("https://repo.example/a", "https://repo.example/a"),
  ])
  func followed(location: String, target: String) {
    #expect(TokenScriptRedirect(from: Self.source, to: location) == .followed(target))
  }

  @Test(arguments: [
    "http://other.example/", "http://repo.example:8080/", "https://repo.example.org/",
    "http://x@repo.example/", "file:///etc/passwd", "//other.example/x", "", "http://", "gopher:x",
  ])
  func refused(location: String) {
    guard case .refused = TokenScriptRedirect(from: Self.source, to: location) else {
      Issue.record("\(location)")
      return
    }
  }

  @Test func neverBackToClearText() {
    let source = "https://repo.example/x"
    guard case .refused = TokenScriptRedirect(from: source, to: "http://repo.example/x") else {
      Issue.record("followed")
      return
    }
    #expect(
      TokenScriptRedirect(from: source, to: nil) == .refused("a redirect that names no location"))
  }
}
