internal import Cryptography
internal import Ethereum
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

struct ContractIndexTests {
  @Test(arguments: [
    "0x6b175474e89094c44da98b954eedeac495271d0f", "0x6B175474E89094C44Da98b954EedeAC495271d0F",
    "0X6B175474E89094C44DA98B954EEDEAC495271D0F",
  ])
  func aSegmentIsReadWhateverItsCase(text: String) throws {
    let address = try #require(EthereumAddress(alice))
    #expect(ContractKey(ArraySlice(Array(text.utf8))) == ContractKey(address))
  }

  @Test func everyDigitCounts() throws {
    let address = Array(alice.utf8)
    let key = try #require(ContractKey(address[...]))
    for place in 2..<42 {
      var other = address
      other[place] = other[place] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
      #expect(try #require(ContractKey(other[...])) != key)
      for wrong in ["g", "/", ":", "@", "`", "G", " ", "\u{7f}", "\u{0}"] {
        other[place] = Array(wrong.utf8)[0]
        #expect(ContractKey(other[...]) == nil)
      }
    }
  }

  @Test(arguments: [
    "", "0x", "6b175474e89094c44da98b954eedeac495271d0f00",
    "0x6b175474e89094c44da98b954eedeac495271d0", "0x6b175474e89094c44da98b954eedeac495271d0f0",
    "1x6b175474e89094c44da98b954eedeac495271d0f", "0y6b175474e89094c44da98b954eedeac495271d0f",
  ])
  func anythingElseIsNoKey(text: String) {
    #expect(ContractKey(ArraySlice(Array(text.utf8))) == nil)
  }
}
