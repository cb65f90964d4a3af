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

@Suite struct SHA512Tests {
  @Test(arguments: [
    (
      "", "",
      "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    ),
    (
      "a", "bc",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
  ])
  func knownAnswers(head: String, tail: String, digest: String) {
    #expect(SHA512.hash([UInt8](head.utf8), [UInt8](tail.utf8)[...]).hex == digest)
    #expect(SHA512.hash([UInt8]((head + tail).utf8)).hex == digest)
    #expect(SHA512.hash([], [UInt8]((head + tail).utf8)[...]).hex == digest)
  }
}

@Suite struct KeyedHashTests {
  /// Computed by Python's `hashlib.blake2b(message, key=bytes(range(32)), digest_size=32)`, the
  /// message being each part behind its length in eight bytes, little-endian.
  @Test func isBLAKE2b() {
    let function = KeyedHash(key: Array(0..<32))
    #expect(
      function.hash(Array("ab".utf8), [], Array("c".utf8)).hex
        == "54e988f8c436f1f403b8b64e40ea4644174cfbeea05ded4f4f8754272028a83b")
  }

  @Test func tellsDivisionsApart() {
    let function = KeyedHash(key: Array(0..<32))
    #expect(function.hash([1, 2], [3]) != function.hash([1], [2, 3]))
    #expect(function.hash([1, 2], [3]) != function.hash([1, 2, 3], []))
    #expect(KeyedHash(key: Array(1..<33)).hash([1]) != function.hash([1]))
  }
}
