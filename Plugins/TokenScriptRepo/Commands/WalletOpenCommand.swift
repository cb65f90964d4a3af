internal import CommandLine
internal import Configuration
internal import Cryptography
internal import Ethereum
internal import ServiceKit
internal import WalletClient

/// `awd wallet open`: tells what a link or the text of a QR code names, and fetches it from the repository.
struct WalletOpenCommand: Command {
  static let name = "wallet open"
  static let summary = "Tell which contract a link or QR text names, and fetch its TokenScript"
  static let parameters: [CommandParameter] = [
    .option("network", value: "ID", "the chain of a link that names none"),
    .option("repo", value: "URL", "the repository, the only server that is asked"),
    .option("cache", value: "DIR", "the folder for the file, DIR/ID/ADDRESS.xml"), .json,
    .operand(
      "LINK", "a link of AlphaWallet or the viewer, ethereum:…, an address, a URL of --repo"),
  ]

  private struct Summary: Encodable {
    let kind: String
    @Nullable var chain: Int64?
    let contract: String
    let tokenIds: [String]
    @Nullable var scriptId: String?
    @Nullable var card: String?
    @Nullable var originId: String?
    @Nullable var url: String?
    /// The outcome of the download, if there was one.
    var fetch: WalletFetchText.Summary?

    init(_ link: TokenLink, on chain: ChainID?) {
      kind = link.kind.rawValue
      self.chain = chain?.number
      contract = link.contract.checksummed
      tokenIds = link.tokenIDs
      scriptId = link.scriptID
      card = link.card
      originId = link.originID
      url = link.url
    }
  }

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let repository = try arguments["repo"].map(WalletFetchCommand.repository)
    let network = try arguments["network"].map(WalletFetchCommand.network)
    guard (repository == nil) == (arguments["cache"] == nil) else {
      throw CommandError.usage("--repo and --cache go together")
    }
    let link: TokenLink
    do throws(TokenLink.Refusal) {
      link = try TokenLink(arguments.operands[0], repository: repository?.description)
    } catch { throw CommandError.usage("LINK: \(error)".printable) }
    let chain = link.chain ?? network
    var summary = Summary(link, on: chain)
    var fetched: WalletFetchText?
    if repository != nil {
      guard let chain else {
        throw CommandError.usage("LINK: it names no chain; --network is missing")
      }
      let request = try TokenScriptRequest(
        address: link.contract.checksummed, network: chain,
        namespaces: link.namespace.map { [$0] } ?? [], signer: link.signer)
      fetched = try await WalletFetchCommand.fetch(request, arguments)
      summary.fetch = fetched?.json
    }
    if arguments.has("json") {
      try context.print(json: summary)
    } else {
      for line in lines(summary, chain) + (fetched?.lines ?? []) { context.print(line) }
    }
    if let refusal = fetched?.refusal { throw CommandError.refused(refusal) }
  }

  private static func lines(_ summary: Summary, _ chain: ChainID?) -> [String] {
    let facts: [(String, String?)] = [
      ("kind", summary.kind), ("chain", chain?.title), ("contract", summary.contract),
      ("tokens", summary.tokenIds.isEmpty ? nil : summary.tokenIds.joined(separator: ", ")),
      ("script", summary.scriptId), ("card", summary.card), ("origin", summary.originId),
      ("url", summary.url),
    ]
    return facts.compactMap { name, value in
      value.map { "\(name)\(String(repeating: " ", count: 10 - name.count))\($0)".printable }
    }
  }
}
