internal import Fuzzing

@testable import WalletClient

/// Takes these bytes as the values of `Link` fields: links are read up to the first malformed one, and each is read again
/// from a field of its own.
@main enum WebLinkFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let links = WebLink.list(text)
    precondition(WebLink.list(text) == links)
    // Behind good links, a malformed one changes nothing.
    precondition(WebLink.list("<a>;rel=x, \(text)").dropFirst().elementsEqual(links))
    for link in links {
      precondition(!link.target.contains(">"))
      precondition(link.relations.allSatisfy { !$0.isEmpty && !$0.contains(" ") })
      precondition(WebLink.list("<\(link.target)>").map(\.target) == [link.target])
      _ = link.title
    }
  }
}
