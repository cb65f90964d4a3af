internal import Ethereum
internal import Foundation
internal import Testing

@testable import WalletClient

/// Tests of reading links and texts of QR codes.
@Suite struct TokenLinkTests {
  private static let repository = "https://repo.example/scripts"
  private static let coin = "0x347C8eD134444c25169872C90a6360d42b369101"
  private static let order =
    "AQAAAAAAAACjNHyO0TRETCUWmHLJCmNg1Cs2kQFxEtQiQ269SZP2r2Y6CETiCqCE3HGQa63LYjsaCOccJi0mj9bpsmnZCwFkjVcNaaJ6Ed8lVU83UiGILQZ4CcFhHA"
  private static let contract = "0x03c4738Ee98aE44591e1A4A4F3CaB6641d95DD9a"
  private static let viewer = "https://viewer.tokenscript.org/"

  private static func read(_ text: String) throws -> TokenLink {
    try TokenLink(text, repository: repository)
  }

  /// Makes a magic link of a format, whose fields are of the bytes 1, 2, ….
  private static func magic(
    _ format: UInt8?, _ head: Int, _ tokens: [UInt8] = [], signature: Int = 65
  ) -> String {
    let address = (1...20).map { UInt8($0) }
    let bytes =
      (format.map { [$0] } ?? []) + [UInt8](repeating: 0, count: head) + address + tokens
      + [UInt8](repeating: 0xff, count: signature)
    return "https://aw.app/"
      + Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
  }

  // MARK: Magic links

  @Test(arguments: [
    (order, "https://aw.app/", 1), (order + "==", "https://aw.app/", 1),
    (order + "%3D%3D", "https://app.awallet.io/", 1), (order, "https://polygon.aw.app/", 137),
    (order, "https://XDAI.aw.app/", 100), (order, "HTTPS://sepolia.aw.app/", 11_155_111),
    (order, "https://classic.aw.app/", 61), (order, "https://poa.aw.app/", 99),
    (order, "https://sokol.aw.app/", 77), (order, "https://callisto.aw.app/", 820),
    (order, "https://goerli.aw.app/", 5), (order, "https://artis_tau1.aw.app/", 246_785),
    (order, "https://artissigma1.aw.app/", 246_529), (order, "https://binance.aw.app/", 56),
    (order, "https://test-heco.aw.app/", 256), (order, "https://fantom.aw.app/", 250),
    (order, "https://avalanche.aw.app/", 43114), (order, "https://arbitrum.aw.app/", 42161),
    (order, "https://optimistic.aw.app/", 10), (order, "https://test-polygon.aw.app/", 80001),
    (order, "https://palmTestnet.aw.app/", 11_297_108_099),
  ])
  func theHostTellsTheChain(_ order: String, _ host: String, _ chain: Int64) throws {
    let link = try Self.read(host + order)
    #expect(link.kind == .magic && link.chain?.number == chain)
    #expect(link.contract.checksummed == Self.coin && link.tokenIDs.isEmpty && link.url == nil)
  }

  @Test func theFormatsOfMagicLinks() throws {
    let address = "0x0102030405060708090a0b0c0d0e0f1011121314"
    let ids = [UInt8](repeating: 0, count: 31) + [7] + [UInt8](repeating: 0xff, count: 32)
    for link in [
      Self.magic(nil, 8, [1, 2]), Self.magic(1, 8), Self.magic(1, 8, [1, 0x81, 2]),
      Self.magic(3, 8, [5]), Self.magic(4, 20), Self.magic(2, 8, ids),
      // A link that was made by a wallet, in the alphabet of links and in the common one.
      "https://aw.app/AAAAAFroO8yg2x-t8XoYKvHWEk8mRcRZuarNIgwNDg9OYA205_-QZURILYlNp6astOo-RkQMSSefIzMWHKdjcGsc3kAaHfHYi7rrLTgmUfAMaQjFB_u8G0EbB8HewJwDAA==",
      "https://app.awallet.io/AA9CQFq1tAAAe+6CvdnoZrK9EUeApH8iYcaE4wECAwQFBgcICS+YK4TGNZZ6m2MG7VeJp8GRkWQXHjfczfS1m+VHVEEFMIGLiWt9JA9WxZ698gkGLuVNp6NZCQVzlnTc/c7PPpsb",
    ] {
      let read = try Self.read(link)
      let known = [
        address, "0xa0db1fadf17a182af1d6124f2645c459b9aacd22",
        "0x007bee82bdd9e866b2bd114780a47f2261c684e3",
      ]
      #expect(known.contains(read.contract.lowercase), "\(link)")
    }
    let most =
      "115792089237316195423570985008687907853269984665640564039457584007913129639935"
    #expect(try Self.read(Self.magic(2, 8, ids)).tokenIDs == ["7", most])
  }

  @Test(arguments: [
    magic(1, 8, signature: 64), magic(nil, 7), magic(2, 8, [1]), magic(4, 20, [1]), magic(4, 19),
    magic(5, 8), magic(255, 8), magic(1, 8) + "?x=1", magic(1, 8) + "#x", magic(1, 8) + "!",
    magic(1, 8).replacing("aw.app", with: "aw.app.evil.example"),
    magic(1, 8).replacing("aw.app", with: "evil.aw.app"),
    magic(1, 8).replacing("aw.app", with: "aw.app:8443"),
    magic(1, 8).replacing("aw.app", with: "aw.app@evil.example"),
    magic(1, 8).replacing("aw.app", with: "custom.aw.app"),
    magic(1, 8).replacing("https:", with: "http:"), "https://aw.app/", "https://aw.app",
    "https://aw.app/AQ", "https://aw.app/wc?uri=wc%3Aabc%401", "https://aw.app/wc:f6@1?bridge=x",
    "https://aw.app/wallet/v1/connect?redirecturl=https%3A%2F%2Fx",
    // The contract of nobody.
    "https://aw.app/"
      + Data([1] + [UInt8](repeating: 0, count: 93)).base64EncodedString(),
  ])
  func whatHoldsNoOrderIsRefused(_ link: String) {
    #expect(throws: TokenLink.Refusal.self) { try Self.read(link) }
  }

  // MARK: Other links

  @Test(
    arguments: [
      ("ethereum:\(contract)@3?value=1", 3), ("ethereum:pay-\(contract)", nil),
      ("ethereum:pay-\(contract.lowercased())@137/transfer?address=\(coin)&uint256=1", 137),
      ("ETHEREUM:\(contract)@1/f?uint256=1&uint256=2", 1),
      ("https://aw.app/ethereum:\(contract)@5/transfer?uint256=1", 5),
      ("https://polygon.aw.app/ethereum:\(contract)", 137),
      ("https://aw.app/openurl?url=ethereum%3A\(contract)%4010", 10),
    ] as [(String, Int64?)])
  func payments(_ text: String, _ chain: Int64?) throws {
    let link = try Self.read(text)
    #expect(link.kind == .payment && link.chain?.number == chain)
    #expect(link.contract.checksummed == Self.contract)
  }

  @Test(arguments: [
    "ethereum:", "ethereum:pay-", "ethereum:\(contract)@", "ethereum:\(contract)@0",
    "ethereum:\(contract)@0x1", "ethereum:\(contract)@1@2", "ethereum:foo.eth@1",
    "ethereum:pay-pay-\(contract)", "ethereum:\(contract)?value=1&value=2",
    "ethereum:\(contract)#x",
    "ethereum:\(contract)@99999999999999999999",
    "ethereum:0x0000000000000000000000000000000000000000",
    "wc:f607884e-63a5-4fa3-8e7d-af6f6fa9b51f@1?bridge=x", "", " ", "hello", "0x12", "javascript:1",
    "file:///etc/passwd", "\(contract)\n", "0x\u{202e}", "https://evil.example/\(contract)",
    "https://repo.example/scripts.evil/\(contract)", "awallet://wc?uri=wc%3Ax",
    "awallet://openURL?q=wc%3Ax", "awallet://openURL", "awallet://openURL?q=\(contract)&q=\(coin)",
  ])
  func whatNamesNoContractIsRefused(_ text: String) {
    #expect(throws: TokenLink.Refusal.self) { try Self.read(text) }
  }

  @Test func anAddressAlone() throws {
    let link = try Self.read(Self.contract.lowercased())
    #expect(link.kind == .address && link.chain == nil)
    #expect(link.contract.checksummed == Self.contract)
    #expect(try Self.read("awallet://openURL?q=\(Self.contract)").kind == .address)
  }

  @Test func linksToTheViewer() throws {
    for host in ["viewer.tokenscript.org", "viewer-staging.tokenscript.org"] {
      let link = try Self.read(
        "https://\(host)/?chain=8453&contract=\(Self.contract)&scriptId=7738_2"
          + "#card=My%20Card&tokenId=109541&originId=Token")
      #expect(link.kind == .viewer && link.chain?.number == 8453)
      #expect(link.contract.checksummed == Self.contract && link.scriptID == "7738_2")
      #expect(link.card == "My Card" && link.tokenIDs == ["109541"] && link.originID == "Token")
    }
    let whole = try Self.read("\(Self.viewer)?tsId=1-\(Self.contract)-5169_1")
    #expect(whole.chain == .main && whole.scriptID == "5169_1" && whole.tokenIDs.isEmpty)
    let coin = try Self.read(
      "\(Self.viewer)#viewType=alphawallet&chain=137&contract=\(Self.contract)&tokenId=ERC20")
    #expect(coin.chain?.number == 137 && coin.tokenIDs.isEmpty)
    let wrapped = "\(Self.viewer)?chain=5&contract=\(Self.contract)"
      .addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
    for link in ["https://xdai.aw.app/openurl?url=\(wrapped)", "awallet://openURL?q=\(wrapped)"] {
      #expect(try Self.read(link).chain?.number == 5)
    }
  }

  @Test(arguments: [
    "?chain=1", "?contract=\(contract)", "?chain=1&contract=0x12", "?chain=x&contract=\(contract)",
    "?chain=1&chain=1&contract=\(contract)", "?chain=1&contract=\(contract)#chain=2",
    "?chain=1&contract=\(contract)&emulator=", "?emulator=http%3A%2F%2F127.0.0.1",
    "?tokenscriptUrl=https%3A%2F%2Fevil.example%2F\(contract)", "?tokenscriptUrl=", "?tsId=1",
    "?tsId=1-\(contract)&chain=1&contract=\(coin)", "?tsId=1-\(contract)-a&scriptId=b",
    "?chain=%zz&contract=\(contract)", "", "x?chain=1&contract=\(contract)",
    "?tokenscriptUrl=https%3A%2F%2Frepo.example%2Fscripts%2F\(contract)&chain=1&contract=\(coin)",
  ])
  func whatTheViewerWouldAskElsewhereIsRefused(_ rest: String) {
    #expect(throws: TokenLink.Refusal.self) { try Self.read(Self.viewer + rest) }
  }

  @Test(
    arguments: [
      ("", nil, nil, nil), ("2020/06/", "2020/06", nil, nil), ("chain/5/", nil, 5, nil),
      ("2024/01/chain/137/", "2024/01", 137, nil),
    ] as [(String, String?, Int64?, String?)])
  func urlsOfTheRepository(
    _ folder: String, _ version: String?, _ chain: Int64?, _ signer: String?
  ) throws {
    for (ending, named) in [
      ("", nil), (".tsml", nil), ("?signer=a%20b", "a b"), (".tsml?signer=", nil),
    ] as [(String, String?)] {
      let url = "\(Self.repository)/\(folder)\(Self.contract)\(ending)"
      for link in [
        try Self.read(url),
        try Self.read(
          "\(Self.viewer)?tokenscriptUrl="
            + url.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!),
      ] {
        #expect(link.url == url && link.contract.checksummed == Self.contract)
        #expect(link.namespace?.path == version && link.chain?.number == chain)
        #expect(link.signer == named)
      }
      #expect(throws: TokenLink.Refusal.self) { try TokenLink(url) }
      #expect(throws: TokenLink.Refusal.self) {
        try TokenLink(url, repository: "https://x.example")
      }
    }
    let url = "\(Self.repository)/\(folder)\(Self.contract)"
    for bad in [
      "/", "?chain=0", "?chain=7&chain=7", "?x=1", "#a", "/x", "?chain=5&signer=%zz", ".xml",
    ] { #expect(throws: TokenLink.Refusal.self, "\(bad)") { try Self.read(url + bad) } }
    #expect(
      TokenScriptLocation("\(url)?chain=5", at: Self.repository)?.chain?.number
        == (chain ?? 5 == 5 ? 5 : nil))
  }

  // MARK: Hostile links

  @Test func aWrapperIsOpenedOnce() throws {
    func wrapped(_ text: String) throws -> String {
      "https://aw.app/openurl?url="
        + (try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics)))
    }
    let once = try wrapped("\(Self.viewer)?chain=1&contract=\(Self.contract)")
    #expect(try Self.read(once).kind == .viewer)
    var nested = once
    for _ in 0..<3 {
      nested = try wrapped(nested)
      #expect(throws: TokenLink.Refusal.self) { try Self.read(nested) }
    }
  }

  @Test func longLinksAreRefused() throws {
    let magic = Self.magic(1, 8, [UInt8](repeating: 1, count: 75_000))
    for text in [
      magic, "ethereum:" + String(repeating: "@", count: 100_000),
      "https://aw.app/openurl?url=" + String(repeating: "%25", count: 33_000),
      String(repeating: "0x", count: 50_000), String(repeating: "\u{301}", count: 50_000),
    ] {
      #expect(throws: TokenLink.Refusal.self) { try Self.read(text) }
    }
    // The longest that is read has 8 KiB.
    let link = "\(Self.viewer)?chain=1&contract=\(Self.contract)&x="
    let longest = link + String(repeating: "y", count: TokenLink.lengthLimit - link.utf8.count)
    #expect(try Self.read(longest).kind == .viewer)
    #expect(throws: TokenLink.Refusal.self) { try Self.read(longest + "y") }
  }

  /// Cut, doubled and changed links give an answer, whatever it is.
  @Test func allTextsHaveAnAnswer() throws {
    let good = [
      "https://aw.app/" + Self.order, "ethereum:pay-\(Self.contract)@1/f?x=1",
      "\(Self.viewer)?chain=1&contract=\(Self.contract)#card=a&tokenId=1",
      "https://aw.app/openurl?url=ethereum%3A\(Self.contract)", "\(Self.repository)/\(Self.coin)",
    ]
    for link in good {
      for count in 0...link.utf8.count {
        for end in ["", "\0", "%", "\u{202e}", link] {
          _ = try? Self.read(String(link.prefix(count)) + end)
        }
      }
    }
  }
}
