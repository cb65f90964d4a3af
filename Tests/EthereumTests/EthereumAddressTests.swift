internal import Cryptography
internal import Ethereum
internal import Testing

@Suite struct EthereumAddressTests {
  /// The examples of EIP-55.
  @Test(arguments: [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
  ])
  func checksums(text: String) throws {
    let address = try #require(EthereumAddress(text))
    #expect(address.checksummed == text)
    #expect(address.lowercase == text.lowercased())
    #expect(EthereumAddress(text.lowercased()) == address)
    #expect(EthereumAddress(address.bytes) == address)
    #expect(EthereumAddress.checksum(of: text) != .wrong)
    #expect(EthereumAddress.checksum(of: text.lowercased()) == .absent)
  }

  @Test func checksumVerdicts() {
    let valid = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    #expect(EthereumAddress.checksum(of: valid) == .valid)
    #expect(EthereumAddress.checksum(of: "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed") == .wrong)
    #expect(EthereumAddress.checksum(of: "0x" + valid.dropFirst(2).uppercased()) == .absent)
    #expect(EthereumAddress.checksum(of: "0x" + String(repeating: "1", count: 40)) == .absent)
    #expect(EthereumAddress.checksum(of: "nothing") == nil)
  }

  @Test(arguments: [
    "", "0x", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0y5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg",
    " 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
  ])
  func refuses(text: String) {
    #expect(EthereumAddress(text) == nil)
  }

  /// The generator of secp256k1 is the public key of the private key 1, whose address is known.
  @Test func derivation() throws {
    let point = try #require(
      Hex.decode(
        ("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
          + "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8").utf8))
    let expected = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"
    #expect(EthereumAddress(publicKey: point)?.description == expected)
    #expect(EthereumAddress(publicKey: [0x04] + point)?.description == expected)
    #expect(EthereumAddress(publicKey: [0x02] + point.prefix(32)) == nil)
  }
}
