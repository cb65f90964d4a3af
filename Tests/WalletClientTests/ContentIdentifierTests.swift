internal import Testing

@testable import WalletClient

/// Tests of the identifiers of IPFS, with what `ipfs add` and `ipfs add --cid-version=1` print.
struct ContentIdentifierTests {
  private static let known: [(bytes: [UInt8], identifiers: [String])] = [
    (
      Array("hello world\n".utf8),
      [
        "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o",
        "bafybeicg2rebjoofv4kbyovkw7af3rpiitvnl6i7ckcywaq6xjcxnc2mby",
        "bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4",
      ]
    ),
    (
      [UInt8](repeating: 0, count: 262_144),
      [
        "QmRk1rduJvo5DfEYAaLobS2za9tDszk35hzaNSDCJ74DA7",
        "bafybeibsr5kjsohzzjy5qvpycm27g3npukuluduozbmvywb6bdrpocmv7a",
        "bafkreiekhhjkxu4ztk3tyng3er3ijhg56mb44oe3gwbgquhzu4afrg2ksa",
      ]
    ),
    (
      [UInt8](repeating: 0, count: 262_145),
      [
        "QmbVuw4C4vcmVKqxoWtgDVobvcHrSn51qsmQmyxjk4sB2Q",
        "bafybeigdq5pm2ymcp653fnskpnnlbhy67k2dk25ynmhjeslhc7eby3z4te",
        "bafybeigllfqgfpqydppr6cmv56g7ax4wyhruzswvcefv6j5kj77nzttfki",
      ]
    ),
    (
      [UInt8](repeating: 0x61, count: 8 << 20),
      [
        "QmWcGHsYRJ52iAtpL9gECd6xB1VyXFaiqWdMBroMfjbjcp",
        "bafybeid23vyl77b4jbckhlguyaztepit6f6tla7du6fizjk5uevvyixywu",
        "bafybeiggwim5ic3yowdf3x57ldre4ze2gchvhobgophf3l6udgyoiehwiu",
      ]
    ),
  ]

  @Test(arguments: known.indices) func theyAreThoseOfIPFS(_ index: Int) {
    #expect(ContentIdentifiers.all(of: Self.known[index].bytes) == Self.known[index].identifiers)
  }

  /// As Python writes the bytes.
  @Test(arguments: [
    "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq",
    "BAFKREIBM6JG3UX5QUMHCN2B3FLC3TYU6DMLB4XA7U5BF44YEGNRJHC4YEQ",
    "f015512202cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "k2cwue9rqdypmt3thjky14z1tk9fi9f0o5w7b3ofitdewlcf87lismqs",
    "K2CWUE9RQDYPMT3THJKY14Z1TK9FI9F0O5W7B3OFITDEWLCF87LISMQS",
    "uAVUSICzyTbpfsKMOJug7KsW54p4bFh5cH6dCXnMEM2KTi5gk",
    "zb2rhZfjRh2FHHB2RkHVEvL2vJnCTcu7kwRqgVsf9gpkLgteo",
  ])
  func eachSpellingIsOfTheSameBytes(_ name: String) {
    let bytes = Array("hello".utf8)
    let named = ContentIdentifiers.named(by: "ipfs://\(name)")
    #expect(named.map { ContentIdentifiers.all(of: bytes).contains($0) } == true)
    let longest = String(repeating: "z", count: 100_000)
    #expect(ContentIdentifiers.named(by: "ipfs://\(longest)") == longest)
  }

  @Test(arguments: [
    ("ipfs://Qm1", "Qm1"), ("ipfs://ipfs/bafy", "bafy"), ("https://x.example/ipfs/Qm1", "Qm1"),
    ("ipfs://Qm1/file.tsml", nil), ("ipfs://ipfs/Qm1/", nil), ("ipfs:/Qm1", nil),
    ("https://x.example/ipfs/Qm1/a", nil), ("https:///ipfs/Qm1", nil), ("http://x/ipfs/Qm1", nil),
    ("https://x.example/a/ipfs/Qm1", nil), ("https://x.example/ipns/Qm1", nil), ("Qm1", nil),
    ("ipfs://x/Qm1", nil),
    // The same identifier in other spellings of version 1.
    ("ipfs://BAFKREIBA?x=1", "bafkreiba"), ("ipfs://Bafk", "Bafk"), ("ipfs://f0155", "bafkq"),
    ("ipfs://F0155", "bafkq"), ("ipfs://f015", "f015"), ("IPFS://Qm1", "Qm1"),
    ("HTTPS://x.example/ipfs/Qm1", "Qm1"),
  ])
  func aPlaceNamesOneWithoutAPath(_ place: String, _ named: String?) {
    #expect(ContentIdentifiers.named(by: place) == named)
  }
}
