internal import Ethereum
internal import Testing

struct ChainIDTests {
  @Test(arguments: [("1", 1), ("11155111", 11_155_111), ("9223372036854775807", Int64.max)])
  func digitsAreANumber(_ text: String, _ number: Int64) {
    #expect(ChainID(text)?.number == number)
    #expect(ChainID(number).map { "\($0)" } == text)
  }

  @Test(arguments: [
    "", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "\u{661}", "1e3", "9223372036854775808",
    "99999999999999999999999999999999999999",
  ])
  func anythingElseIsNoChain(_ text: String) {
    #expect(ChainID(text) == nil)
  }

  @Test func zeroAndLessAreNoChain() {
    #expect(ChainID(0) == nil && ChainID(-1) == nil && ChainID(Int64.min) == nil)
    #expect(ChainID(1) == ChainID.main)
  }

  @Test(arguments: ["1", "01", "+1", " 1\n", "\t+0001 ", "9223372036854775807"])
  func readsIntegersOfXML(text: String) { #expect(ChainID(xmlInteger: text) != nil) }

  @Test(arguments: [
    "", "0", "+", "-1", "1.0", "0x1", "1 2", "٣", "+-1", "++1", "9223372036854775808",
  ])
  func noOtherIntegersOfXML(text: String) { #expect(ChainID(xmlInteger: text) == nil) }
}
