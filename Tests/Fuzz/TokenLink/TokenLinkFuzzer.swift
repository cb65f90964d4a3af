internal import Cryptography
internal import Ethereum
internal import Fuzzing
internal import WalletClient

/// Takes these bytes as a link: what is read names a contract, and no URL but the repository's.
@main enum TokenLinkFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let repository = "https://repo.example"
    guard let link = try? TokenLink(text, repository: repository) else { return }
    precondition(link.contract != EthereumAddress())
    precondition(link.url?.lowercased().hasPrefix("\(repository)/") ?? true)
    if link.kind == .repository, let url = link.url {
      // A link of AlphaWallet's may hold the repository's URL. Then it is read as that is alone.
      precondition((try? TokenLink(url, repository: repository)) == link)
      precondition(url == text || !text.lowercased().hasPrefix(repository))
    }
    // Without the repository the same link is read in the same way, or refused.
    if let alone = try? TokenLink(text) { precondition(alone == link) }
  }
}
