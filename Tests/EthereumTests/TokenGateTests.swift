internal import Cryptography
internal import Ethereum
internal import Testing

/// What forums ask of who joins. Selectors were made by eth-hash.
struct TokenGateTests {
  private static let contract = "0x6b175474e89094c44da98b954eedeac495271d0f"
  private static let most =
    "115792089237316195423570985008687907853269984665640564039457584007913129639935"
  private let holder: EthereumAddress

  init() throws {
    holder = try #require(EthereumAddress("0x00000000000000000000000000000000000000aa"))
  }

  private static func gate(_ text: String) -> TokenGate? { TokenGate(parsing: Array(text.utf8)) }

  private static func returned(_ hex: String) -> CallBatch.Outcome {
    .returned(ReturnData(Hex.decode(hex.utf8) ?? []))
  }

  private static func word(_ hex: String) -> String {
    String(repeating: "0", count: 64 - hex.count) + hex
  }

  @Test(
    arguments: [
      ("erc20:\(contract) 1000000000000000000", "70a08231" + word("aa")),
      ("erc20:0x6B175474E89094C44Da98b954EedeAC495271d0F 1", "70a08231" + word("aa")),
      ("erc20:\(contract) \(most)", "70a08231" + word("aa")),
      ("erc721:\(contract)", "70a08231" + word("aa")),
      ("erc721:\(contract) 3", "70a08231" + word("aa")),
      ("erc721:\(contract)/0 1", "6352211e" + word("0")),
      ("erc721:\(contract)/\(most) 1", "6352211e" + String(repeating: "f", count: 64)),
      ("erc1155:\(contract)/258 5", "00fdd58e" + word("aa") + word("102")),
    ])
  func gatesAreRead(_ text: String, _ data: String) throws {
    let gate = try #require(Self.gate("eip155:1/" + text))
    #expect(gate.chain == .main && gate.contract.lowercase == Self.contract)
    #expect(Hex.encode(gate.call(about: holder).data) == data)
  }

  /// `C` stands for a contract.
  @Test(
    arguments: [
      "", " ", "eip155:1", "eip155:1/", "eip155:1/erc20", "eip155:1/erc20:C", "eip155:1/erc20:C ",
      "eip155:1/erc20:C  1", " eip155:1/erc20:C 1", "eip155:1/erc20:C 1 ", "eip155:1/erc20:C 1\n",
      "eip155:1/erc20:C\t1", "eip155:1/erc20:C 1\r", "eip155:1/erc20:C 1\0",
      "\u{FEFF}eip155:1/erc20:C 1", "eip155:1/erc20:C 1\neip155:1/erc20:C 1",
      // Numbers.
      "eip155:1/erc20:C 0", "eip155:1/erc20:C 01", "eip155:1/erc20:C -1", "eip155:1/erc20:C +1",
      "eip155:1/erc20:C 1.5", "eip155:1/erc20:C 1e3", "eip155:1/erc20:C 0x10",
      "eip155:1/erc20:C １", "eip155:1/erc20:C 1\u{301}",
      "eip155:1/erc20:C \(most.dropLast())6", "eip155:1/erc20:C \(most)0",
      "eip155:1/erc20:C \(String(repeating: "1", count: 300))",
      // Chains.
      "EIP155:1/erc20:C 1", "eip155:0/erc20:C 1", "eip155:01/erc20:C 1", "eip155:/erc20:C 1",
      "eip155:-1/erc20:C 1", "eip155:9223372036854775808/erc20:C 1", "cosmos:1/erc20:C 1",
      // Contracts.
      "eip155:1/ERC20:C 1", "eip155:1/slip44:60 1", "eip155:1/erc20:0x12 1", "eip155:1/erc20:C0 1",
      "eip155:1/erc20:\(contract.dropFirst(2)) 1", "eip155:1/erc20:0X\(contract.dropFirst(2)) 1",
      "eip155:1/erc20:\(contract.replacing("6b17", with: "6B17")) 1", "eip155:1/erc20:C:1 1",
      "eip155:1//erc20:C 1",
      // Tokens.
      "eip155:1/erc20:C/1 1", "eip155:1/erc20:C/ 1", "eip155:1/erc721:C 0", "eip155:1/erc721:C ",
      "eip155:1/erc721:C/1", "eip155:1/erc721:C/1 2", "eip155:1/erc721:C/1 0",
      "eip155:1/erc721:C/01 1", "eip155:1/erc721:C/ 1", "eip155:1/erc721:C/",
      "eip155:1/erc721:C/1/1 1", "eip155:1/erc721:C/-1 1", "eip155:1/erc721:C/\(most)0 1",
      "eip155:1/erc1155:C 1", "eip155:1/erc1155:C", "eip155:1/erc1155:C/1",
      "eip155:1/erc1155:C/1 0", "eip155:1/erc1155:C/ 1", "eip155:1/erc1155:C/x 1",
    ])
  func whatIsNoGateIsNone(_ text: String) {
    #expect(Self.gate(text.replacing("C", with: Self.contract)) == nil)
  }

  @Test func bytesThatAreNoTextAreNone() {
    #expect(TokenGate(parsing: [0xff, 0xfe]) == nil)
    #expect(TokenGate(parsing: [UInt8](repeating: 0x20, count: 1 << 20)) == nil)
  }

  @Test func whoHoldsEnoughIsAdmitted() throws {
    let fungible = try #require(Self.gate("eip155:1/erc20:\(Self.contract) 256"))
    for (data, expected) in [
      (Self.word("100"), true), (Self.word("ff"), false), (Self.word("0"), false),
      (String(repeating: "f", count: 64), true), ("1" + Self.word("0").dropFirst(), true),
      ("01", false), (Self.word("100") + "00", false), ("", false),
    ] {
      #expect(fungible.admits(holder, by: Self.returned(data)) == expected)
    }
    let one = try #require(Self.gate("eip155:1/erc721:\(Self.contract)/7 1"))
    for (data, expected) in [
      (Self.word("aa"), true), (Self.word("ab"), false), (Self.word("0"), false),
      ("1" + Self.word("aa").dropFirst(), false), ("aa", false),
    ] {
      #expect(one.admits(holder, by: Self.returned(data)) == expected)
    }
    for gate in [fungible, one] {
      #expect(gate.admits(holder, by: .none) == false)
      #expect(gate.admits(holder, by: .failed("x")) == nil)
    }
  }
}
