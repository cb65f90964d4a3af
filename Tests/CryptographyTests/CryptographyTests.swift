internal import Cryptography
internal import Testing

@Suite struct KeccakTests {
  /// Vectors of the Keccak team's original submission and of Ethereum (empty code, empty list).
  @Test(arguments: [
    ("", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
    ("abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
    (
      "The quick brown fox jumps over the lazy dog",
      "4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15"
    ),
    (
      "Transfer(address,address,uint256)",
      "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    ),
  ])
  func knownAnswers(message: String, digest: String) {
    #expect(Keccak256.hash([UInt8](message.utf8)).hex == digest)
  }

  /// Lengths around the rate, where the padding takes one byte, or a block of its own.
  @Test(arguments: [
    (135, "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446"),
    (136, "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e"),
    (137, "d869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39"),
  ])
  func padding(length: Int, digest: String) {
    let message = [UInt8](repeating: UInt8(ascii: "a"), count: length)
    #expect(Keccak256.hash(message).hex == digest)
  }
}

@Suite struct SHA256Tests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
  ])
  func knownAnswers(message: String, digest: String) {
    #expect(SHA256.hash([UInt8](message.utf8)).hex == digest)
  }
}

@Suite struct SHA1Tests {
  @Test(arguments: [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
  ])
  func knownAnswers(message: String, digest: String) {
    #expect(Hex.encode(SHA1.hash([UInt8](message.utf8))) == digest)
  }
}

@Suite struct BytesTests {
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
