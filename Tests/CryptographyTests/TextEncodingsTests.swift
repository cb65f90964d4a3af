internal import Cryptography
internal import Testing

@Suite struct TextEncodingsTests {
  @Test func hexRoundTrip() {
    let bytes = [UInt8](0...255)
    #expect(Hex.decode(Hex.encode(bytes).utf8) == bytes)
    #expect(Hex.decode("aBCdEf".utf8) == [0xab, 0xcd, 0xef])
    #expect(Hex.decode("".utf8) == [])
  }

  @Test(arguments: ["a", "abc", "0g", "0x", " 0", "é"])
  func hexRefuses(text: String) {
    #expect(Hex.decode(text.utf8) == nil)
  }

  @Test func randomness() {
    #expect(SecureRandom.bytes(0).isEmpty)
    #expect(SecureRandom.bytes(33).count == 33)
    #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
  }
}
