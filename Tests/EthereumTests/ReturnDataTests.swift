internal import Cryptography
internal import Ethereum
internal import TestSupport
internal import Testing

struct ReturnDataTests {
  private static func word(_ number: Int) -> [UInt8] {
    (0..<32).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
  }

  private static func text(_ text: String) -> [UInt8] {
    word(text.utf8.count) + Array(text.utf8)
      + [UInt8](repeating: 0, count: (32 - text.utf8.count % 32) % 32)
  }

  @Test func whatIsEncodedIsRead() {
    for strings in [
      [], [""], ["ipfs://x", "https://repo.example/" + String(repeating: "x", count: 99)],
    ] {
      // The arguments of a call are encoded as results are.
      let data = ReturnData(Array(FunctionCall.setScriptURI(strings).data.dropFirst(4)))
      #expect(data.strings == strings)
    }
    #expect(ReturnData(Self.word(32) + Self.text("https://x")).strings == ["https://x"])
    // An empty text can't be told from an empty list.
    #expect(ReturnData(Self.word(32) + Self.text("")).strings == [])
  }

  @Test func aTextThatIsNoneSpoilsNoOther() {
    for bad in [String(repeating: "x", count: 4097), "a\0b"] {
      let call = FunctionCall.setScriptURI([bad, "ipfs://x"])
      #expect(ReturnData(Array(call.data.dropFirst(4))).strings == ["ipfs://x"])
    }
  }

  @Test func anAddressIsReadUnlessItIsZero() throws {
    let address = try #require(EthereumAddress("0x6b175474e89094c44da98b954eedeac495271d0f"))
    let word = [UInt8](repeating: 0, count: 12) + address.bytes
    #expect(ReturnData(word).address == address)
    #expect(ReturnData([UInt8](repeating: 0, count: 32)).address == nil)
    #expect(ReturnData([1] + word.dropFirst()).address == nil)
    #expect(ReturnData(word + [0]).address == nil)
    #expect(ReturnData(Array(word.dropLast())).address == nil)
  }

  @Test(arguments: [
    [], word(32), word(33), word(32) + word(1), word(32) + word(1) + word(32),
    word(32) + word(1) + word(32) + word(5) + [1, 2, 3, 4],
    word(32) + word(65) + [UInt8](repeating: 0, count: 32 * 65), word(Int.max), word(-1),
    word(32) + word(Int.max), word(32) + word(1) + word(Int.max), word(32) + word(1) + word(-32),
    word(32) + word(1) + word(32) + word(1) + [0xff], word(0),
  ])
  func whatOverrunsIsNothing(_ bytes: [UInt8]) {
    let strings = ReturnData(bytes).strings
    #expect(strings == nil || strings == [] || strings == [""], "\(String(describing: strings))")
  }

  @Test(arguments: TestSeeds.random(2))
  func changedDataIsReadWithinBounds(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let good = Array(
      FunctionCall.setScriptURI(["ipfs://abc", "https://x.example"]).data.dropFirst(4))
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: bytes.indices, using: &generator)
        bytes[place] = UInt8.random(in: 0...255, using: &generator)
      }
      if Bool.random(using: &generator) {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      let strings = ReturnData(bytes).strings ?? []
      #expect(strings.count <= ReturnData.stringLimit)
      #expect(strings.allSatisfy { $0.utf8.count <= ReturnData.lengthLimit })
    }
  }

}
