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
    // A link of AlphaWallet's may hold the repository's URL, and then is longer.
    let isURL = text.lowercased().hasPrefix(repository)
    precondition(link.kind != .repository || !isURL || link.url == text)
    // Without the repository the same link is read in the same way, or refused.
    if let alone = try? TokenLink(text) { precondition(alone == link) }
  }
}
