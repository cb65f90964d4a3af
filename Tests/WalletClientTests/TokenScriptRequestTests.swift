internal import Ethereum
internal import TestSupport
internal import Testing

@testable import WalletClient

@Suite struct TokenScriptRequestTests {
  @Test(
    arguments: [
      ("0x6b175474e89094c44da98b954eedeac495271d0f", nil),
      ("0x6B175474E89094C44Da98b954EedeAC495271d0F", nil),
      ("0X6B175474E89094C44DA98B954EEDEAC495271D0F", nil),
      // Its checksum is wrong, which is worth a warning.
      ("0x6B175474E89094C44Da98b954EedeAC495271d0f", nil),
      ("6b175474e89094c44da98b954eedeac495271d0f", .malformed), ("", .malformed),
      ("0x6b175474e89094c44da98b954eedeac495271d", .malformed),
      ("0x6b175474e89094c44da98b954eedeac495271d0f0", .malformed),
      ("0x../../../../../../../../../../etc/passwd", .malformed),
      ("0x6b175474e89094c44da98b954eedeac495271d0\u{661}", .malformed),
    ] as [(String, TokenScriptRequest.AddressError?)])
  func addresses(_ text: String, _ problem: TokenScriptRequest.AddressError?) {
    let result = Result { () throws(TokenScriptRequest.AddressError) in
      try TokenScriptRequest(address: text, network: .main)
    }
    switch result {
    case .success(let request):
      #expect(problem == nil)
      #expect(TokenScriptCache(folder: "c").path(for: request) == "c/1/\(text).xml")
    case .failure(let error): #expect(error == problem)
    }
  }

  @Test func urls() throws {
    let address = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
    let request = try TokenScriptRequest(
      address: address, network: .main, signer: "a b&c=d/../\u{e9}#?")
    let query = "?chain=1&signer=a%20b%26c%3Dd%2F..%2F%C3%A9%23%3F"
    #expect(request.url(in: nil, of: "http://x") == "http://x/\(address)\(query)")
    #expect(
      request.url(in: TokenScriptNamespace("2019/05"), of: "http://x/y")
        == "http://x/y/2019/05/\(address)\(query)")
  }

  @Test(arguments: [
    "2019/5", "2019/13", "2019/00", "20190/5", "2019-05", "2019/05/", "/2019/05", "../../..", "",
    "201\u{661}/05",
  ])
  func noNamespace(_ text: String) {
    #expect(TokenScriptNamespace(text) == nil)
    #expect(TokenScriptNamespace(uri: "http://tokenscript.org/\(text)/tokenscript") == nil)
  }

  @Test func namespaces() throws {
    let namespace = try #require(TokenScriptNamespace("2019/05"))
    #expect(namespace.uri == "http://tokenscript.org/2019/05/tokenscript")
    #expect(TokenScriptNamespace(uri: namespace.uri) == namespace)
    #expect(TokenScriptNamespace(uri: namespace.uri + "/") == nil)
    #expect(TokenScriptNamespace(uri: "https" + namespace.uri.dropFirst(4)) == nil)
  }
}
