internal import Cryptography
internal import Ethereum
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

struct TokenScriptReaderTests {
  private func read(_ text: String) throws(FileRefusal) -> TokenScriptFile {
    try TokenScriptReader().read(Array(text.utf8), now: Timestamp(seconds: 0))
  }

  @Test func onlyOriginContractsAreServed() throws {
    let file = try read(
      tokenScript(
        "2020/03",
        contracts: [
          ("cDAI", [("1", alice), ("4", bob)]),
          ("DAI", [("1", "0x89d24A6b4CcB1B6fAA2625fE562bDD9a23260359")]),
        ], origins: ["cDAI"]))
    #expect(file.schema == SchemaVersion("2020/03"))
    #expect(file.root == "token")
    #expect(file.origins == [EthereumAddress(alice), EthereumAddress(bob)])
    #expect(file.contracts.count == 3)
    #expect(file.contracts.map(\.chain.number) == [1, 4, 1])
    #expect(file.warnings.isEmpty)
  }

  @Test func anOriginBelowAnotherElementIsNone() throws {
    let text = tokenScript(for: alice)
      .replacing("<ts:origins>", with: "<ts:attribute-type><ts:origins>")
      .replacing("</ts:origins>", with: "</ts:origins></ts:attribute-type>")
    #expect(try read(text).origins.isEmpty)
  }

  @Test func elementsOfOtherNamespacesSayNothing() throws {
    let text = tokenScript(for: alice)
      .replacing("<ts:origins>", with: "<x:origins xmlns:x=\"urn:x\">")
      .replacing("</ts:origins>", with: "</x:origins>")
    #expect(try read(text).origins.isEmpty)
  }

  @Test func commentsWithinAnAddressAreSkipped() throws {
    let text = tokenScript(for: "\n  0x6b175474e89094c44d<!-- 0xffff -->a98b954eedeac495271d0f\t")
    #expect(try read(text).origins == [EthereumAddress(alice)])
  }

  @Test(arguments: [
    ("0x6B175474E89094C44DA98B954EEDEAC495271D0F", 1, 0),
    ("0x6B175474E89094C44Da98b954EedeAC495271d0F", 1, 0),
    ("0x6b175474E89094C44Da98b954EedeAC495271d0F", 1, 1),
    ("0x6b175474e89094c44da98b954eedeac495271d0", 0, 1),
    ("6b175474e89094c44da98b954eedeac495271d0f", 0, 1),
    ("", 0, 1),
  ])
  func anAddressIsReadOrWarnedOf(text: String, origins: Int, warnings: Int) throws {
    let file = try read(tokenScript(for: text))
    #expect(file.origins.count == origins)
    #expect(file.warnings.count == warnings)
  }

  @Test func whatIsOddIsWarnedOf() throws {
    let file = try read(
      tokenScript(
        contracts: [("A", [("mainnet", alice), ("0", alice), ("4", bob), ("4", bob)])],
        origins: ["A", "B"]))
    #expect(file.origins == [EthereumAddress(bob)])
    #expect(file.contracts.count == 1)
    #expect(file.warnings.count == 3)
  }

  @Test func withoutANetworkTheMainOneIsMeant() throws {
    let file = try read(tokenScript(for: alice).replacing(" network=\"1\"", with: ""))
    #expect(file.contracts.map(\.chain) == [.main])
    #expect(file.warnings == ["line 1: \(alice) names no network, so it counts as chain 1"])
  }

  @Test func anActionServesNothing() throws {
    let file = try read(
      tokenScript(root: "action", contracts: [("A", [("1", alice)])], origins: ["A"]))
    #expect(file.root == "action")
    #expect(file.origins.isEmpty)
  }

  @Test(arguments: [
    ("", true), ("<a", true), ("<?xml version=\"1.0\"?>", true),
    ("<a/>", false), ("<token xmlns=\"http://tokenscript.org/2019/5/tokenscript\"/>", false),
    (
      "<!DOCTYPE token><token xmlns=\"http://tokenscript.org/2019/05/tokenscript\"/>", false
    ),
  ])
  func whatIsNoTokenScriptIsRefused(text: String, isMalformed: Bool) {
    let refusal = #expect(throws: FileRefusal.self) { try read(text) }
    #expect(refusal?.isMalformed == isMalformed)
  }

  @Test func aTruncatedFileIsMalformedWhereverItEnds() throws {
    let text = tokenScript(for: alice)
    for length in stride(from: 0, to: text.utf8.count, by: 7) {
      let refusal = #expect(throws: FileRefusal.self) {
        try TokenScriptReader().read(Array(text.utf8.prefix(length)), now: Timestamp(seconds: 0))
      }
      #expect(refusal?.isMalformed == true, "\(length) bytes")
    }
  }

  @Test func aFileOfTooManyAddressesIsRefused() throws {
    let addresses = (0...TokenScriptReader.addressLimit).map { number in
      let digits = String(number, radix: 16)
      return ("1", "0x" + String(repeating: "0", count: 40 - digits.count) + digits)
    }
    let text = tokenScript(contracts: [("A", addresses)], origins: ["A"])
    #expect(throws: FileRefusal.self) { try read(text) }
  }
}
