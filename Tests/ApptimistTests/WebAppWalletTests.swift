internal import Cryptography
internal import Ethereum
internal import Foundation
internal import TestSupport
internal import Testing

/// Wallets, and forums for who holds a token.
extension WebAppBrowserTests {
  private static let hash = [UInt8](repeating: 1, count: 32)

  private static func address(of secret: [UInt8]) throws -> EthereumAddress {
    try #require(WalletSignature.signer(of: hash, WalletSignature.sign(hash, with: secret) ?? []))
  }

  /// Serves the page to people with wallets.
  private static func site(at port: UInt16, chains: String = "") throws -> WebAppSite {
    try WebAppSite(
      service: "apptimist",
      configuration: """
        web = true
        identity = "siwe"
        gate_interval = "2s"
        [apptimist.siwe]
        domain = "127.0.0.1:\(port)"
        uri = "http://127.0.0.1:\(port)/siren"
        [chains]
        \(chains)
        """, port: Int(port))
  }

  /// Opens the page, and makes an account with a wallet that announces itself.
  private func sign(
    in name: String, _ secret: [UInt8], at site: WebAppSite
  ) throws -> WebAppPerson {
    let browser = try Browser()
    try browser.open("\(site.address)/siren/app/")
    let root = "document.documentElement.dataset"
    try blockUntil { try browser.evaluate("\(root).view") == "welcome" }
    let address = try Self.address(of: secret).checksummed
    let wallet = "#wallets button:not([id])"
    // Announced until the page listens.
    try blockUntil {
      try browser.run(
        """
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: {
          info: { uuid: "1", name: "A <b>wallet</b>" },
          provider: { request: ({ method, params }) => method === "eth_requestAccounts"
            ? Promise.resolve(["\(address)"])
            : method === "personal_sign"
              ? new Promise((sign) => { globalThis.messageToSign = params[0]; globalThis.sign = sign; })
              : Promise.reject({ code: 4200 }) },
        } }));
        """)
      return try browser.evaluate("document.querySelectorAll('\(wallet)').length") == "1"
    }
    #expect(
      try browser.evaluate("document.querySelector('\(wallet)').textContent")
        == "Sign in with A <b>wallet</b>")
    try browser.run(
      """
      document.querySelector('#make').elements.name.value = \(name.inJavaScript);
      document.querySelector('\(wallet)').click();
      """)
    try blockUntil { try browser.evaluate("String(globalThis.messageToSign)") != "undefined" }
    let asked = try browser.evaluate("globalThis.messageToSign")
    let message = try #require(Hex.decode(asked.utf8.dropFirst(2)))
    let signature = try #require(WalletSignature.sign(WalletSignature.hash(message), with: secret))
    try browser.run("globalThis.sign('0x\(Hex.encode(signature))')")
    try blockUntil {
      // Whoever has an account of this wallet here starts a new one.
      try browser.run(
        "if (!document.querySelector('#known').hidden) document.querySelector('#known-new').click()"
      )
      return try browser.evaluate("\(root).connection") == "open"
    }
    return WebAppPerson(name: name, browser: browser, key: try browser.evaluate("\(root).user"))
  }

  @Test(.enabled(if: AccountChain.isThere, "needs eth-tester"))
  func whoHoldsATokenJoins() async throws {
    let secrets = (1...3).map { [UInt8](repeating: $0, count: 32) }
    let chain = try await AccountChain(owner: try Self.address(of: secrets[0]).checksummed)
    let reserved = try ReservedPort()
    let site = try Self.site(at: reserved.number, chains: "1 = \"\(chain.url)\"")
    let anna = try sign(in: "anna", secrets[0], at: site)
    let bert = try sign(in: "bert", secrets[1], at: site)
    let cleo = try sign(in: "cleo", secrets[2], at: site)
    let holder = try Self.address(of: secrets[1]).lowercase
    try await chain.set(holder, to: String(300, radix: 16))

    // What is no gate is said, and no forum left behind.
    try anna.press("New forum")
    try anna.fill("forum-making", ["name": "Holders", "gate": "eip155:2/erc20:\(chain.token) 1"])
    try anna.wait(
      "document.querySelector('#forum-making .error').textContent.includes('token')")
    try anna.press("Close")
    let forum = try anna.makeForum(
      "Holders", isModerated: false, gate: "eip155:1/erc20:\(chain.token) 300")
    try anna.say("before")

    for person in [bert, cleo] {
      try person.find("Holders")
      #expect(try !person.isShown("#compose"))
      try person.press("Details")
      try person.wait("document.querySelector('#forum').open")
      try person.press("Join")
    }
    try cleo.wait("document.querySelector('#forum > .error').textContent.includes('hold enough')")
    try bert.wait("document.querySelector('#readers li[data-key=\"\(bert.key)\"]') !== null")
    #expect(
      try bert.browser.evaluate("document.querySelector('#forum-gate code').textContent")
        == "eip155:1/erc20:\(chain.token) 300")
    try bert.press("Close")
    // Anna's app answers with the secret.
    try anna.say("hello, holder")
    try bert.sees(["hello, holder"])
    try bert.say("hello")
    try anna.sees(["before", "hello, holder", "hello"])

    // A user who no longer holds it is notified, and comes back.
    #expect(try bert.browser.evaluate("document.querySelector('#warning').textContent") == "")
    try await chain.set(holder, to: "0")
    try await Task.sleep(for: .seconds(5))
    try bert.say("still here?")
    try bert.wait("document.querySelector('#warning').textContent.includes('taken out')")
    try bert.wait("document.querySelector('#messages li[data-state=failed]') !== null")
    try bert.browser.open("\(site.address)/siren/app/?again")
    try bert.wait("document.documentElement.dataset.connection === 'open'")
    try bert.open(forum, in: "Chats")
    try bert.wait("document.querySelector('#warning').textContent.includes('taken out')")
    try await chain.set(holder, to: String(300, radix: 16))
    try bert.press("Details")
    try bert.press("Join")
    try bert.wait("document.querySelector('#readers li[data-key=\"\(bert.key)\"]') !== null")
    try bert.press("Close")
    try bert.wait("document.querySelector('#warning').textContent === ''")
    try anna.say("welcome back")
    try bert.wait("document.querySelector('#messages').textContent.includes('welcome back')")
    try await chain.stop()
  }

  /// A known person's other account is shown, and not taken for the first.
  @Test func aNewAccountOfAKnownPersonIsTold() throws {
    let secrets = (4...5).map { [UInt8](repeating: $0, count: 32) }
    let reserved = try ReservedPort()
    let site = try Self.site(at: reserved.number)
    let anna = try sign(in: "anna", secrets[0], at: site)
    let bert = try sign(in: "bert", secrets[1], at: site)
    try anna.find("bert")
    try anna.say("hello")
    try bert.open(anna, in: "Requests")
    let again = try sign(in: "bert", secrets[1], at: site)
    #expect(again.key != bert.key)
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try anna.open(bert, in: "Chats")
    let words = "has a new account: \(again.key.prefix(8))"
    try anna.wait("document.querySelector('#warning').textContent.includes('\(words)')")
    // The chat stays the first one's.
    try anna.say("is that you?")
    try bert.press("Allow")
    try bert.sees(["hello", "is that you?"])
  }
}
