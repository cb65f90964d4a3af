internal import Cryptography
internal import Ethereum
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

struct RepositoryPathTests {
  @Test(arguments: [
    ("a.tsml", RepositoryPath.Kind.tokenScript), ("x/y z.xml", .tokenScript),
    ("a.tsml.gone", .gone), ("a.xml.gone", .gone), ("a.gone", nil), ("a.gone.gone", nil),
    ("tsml", nil), ("a.tsml~", nil), ("a.xsd", nil), ("a.tsml.gone.bak", nil), ("", nil),
  ])
  func theNameTellsTheKind(path: String, kind: RepositoryPath.Kind?) {
    #expect(RepositoryPath(path).kind == kind)
  }

  @Test(arguments: [
    ("aw.app/2019/05/Coin.tsml", 0), ("aw.app/2019/05/coin.tsml", 0), ("Coin.xml", 0),
    ("aw.app/2019/05/\(alice).tsml", 0), ("Coin/schema1/aw.app-signed.xml", 0),
    ("Coin/schema1/signed.xml", 0), ("other.org/2019/05/Coin.tsml", 1),
    ("aw.app/2019/06/Coin.tsml", 1), ("aw.app/2019/05/Other.tsml", 1),
    ("aw.app/2019/05/\(bob).tsml", 1), ("Other/schema1/aw.app-signed.xml", 1),
    ("Coin/schema1/other.org-signed.xml", 1), ("other.org/2019/06/Other.tsml", 3),
  ])
  func aNameThatLiesIsWarnedOf(path: String, warnings: Int) throws {
    var file = TokenScriptFile(schema: try #require(SchemaVersion("2019/05")), root: "token")
    file.contracts = [
      .init(
        address: try #require(EthereumAddress(alice)), name: "Coin", chain: .main, isOrigin: true)
    ]
    file.signer = .init(commonName: "*.aw.app", key: "1", kind: "RSA", time: nil)
    #expect(RepositoryPath(path).warnings(for: file).count == warnings)
  }
}
