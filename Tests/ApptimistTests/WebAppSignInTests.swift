internal import Foundation
internal import TestSupport
internal import Testing

/// Accounts by an OpenID Connect issuer.
extension WebAppBrowserTests {
  /// A token of the issuer's, by the name of its case, makes an account for the keys that it names; what is wrong in it is
  /// said, and leaves no account behind.
  @Test(.enabled(if: StandInIssuer.isThere, "needs python3-jwt and python3-cryptography"))
  func whoAnIssuerKnowsSignsIn() async throws {
    let issuer = try await StandInIssuer()
    let site = try WebAppSite(
      service: "apptimist",
      configuration: """
        web = true
        identity = "oidc"
        [apptimist.oidc]
        issuer = "\(issuer.url)"
        audience = "wallet"
        """)
    let browser = try Browser()
    let (root, page) = ("document.documentElement.dataset", "\(site.address)/siren/app/")
    // By somebody's link.
    let friend = String(repeating: "ab", count: 32)
    try browser.open("\(page)#chat=\(friend)")
    for (name, state, isGood) in [
      ("nonce", nil, false), ("audience", nil, false), ("ES256", "0123", false),
      ("ES256", nil, true),
    ] as [(String, String?, Bool)] {
      try blockUntil { try browser.evaluate("\(root).view") == "welcome" }
      let host = issuer.url.dropFirst("http://".count)
      try blockUntil {
        try browser.evaluate("document.querySelector('#make-button').textContent")
          == "Sign in with \(host)"
      }
      try browser.run(
        """
        document.querySelector('#make').elements.name.value = 'ann';
        document.querySelector('#make').requestSubmit();
        """)
      try blockUntil { try browser.evaluate("location.href").hasPrefix("\(issuer.url)/authorize?") }
      let asked = try #require(URLComponents(string: try browser.evaluate("location.href")))
      let fields = Dictionary(
        uniqueKeysWithValues: (asked.queryItems ?? []).map { ($0.name, $0.value ?? "") })
      #expect(fields["client_id"] == "wallet" && fields["scope"] == "openid")
      #expect(fields["response_type"] == "id_token" && fields["response_mode"] == "fragment")
      #expect(fields["redirect_uri"] == page)
      let nonce = try #require(fields["nonce"])
      let token = try await issuer.control(
        "token", ["case": name, "at": "\(Int(Date.now.timeIntervalSince1970))", "nonce": nonce])
      try browser.open("\(page)#id_token=\(token)&state=\(try state ?? #require(fields["state"]))")
      if isGood {
        try blockUntil { try browser.evaluate("\(root).connection") == "open" }
        #expect(try browser.evaluate("\(root).user").count == 64)
        // The token isn't left in the address.
        #expect(try browser.evaluate("location.href.includes('id_token')") == "false")
        #expect(try browser.evaluate("\(root).chat") == friend)
      } else {
        let error = "document.querySelector('#make .error').textContent.startsWith('The identity')"
        try blockUntil { try browser.evaluate(error) == "true" }
        #expect(try browser.evaluate("String(\(root).user)") == "undefined")
      }
    }
  }
}
