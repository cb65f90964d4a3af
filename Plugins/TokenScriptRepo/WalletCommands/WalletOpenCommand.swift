internal import Configuration
internal import Ethereum
internal import ServiceKit
internal import WalletClient

/// `awd wallet open`: tells what a link or the text of a QR code names, and fetches it from the repository.
struct WalletOpenCommand: Command {
  static let name = "wallet open"
  static let summary = "Tell which contract a link or QR text names, and fetch its TokenScript"
  static let parameters: [CommandParameter] =
    [
      .option("network", value: "ID", "the chain of a link that names none"),
      .option(
        "repo", value: "URL", "the repository, whose files links may name; no other server is asked"
      ),
      .option(
        "cache", value: "DIR", "fetch the file from --repo into this folder, DIR/ID/ADDRESS.xml"),
    ] + WalletFetchCommand.choices + [
      .json,
      .operand(
        "LINK", "a link of AlphaWallet or the viewer, ethereum:…, an address, a URL of --repo"),
    ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let repository = try WalletFetchCommand.repository(arguments)
    let network = try arguments.chain("network")
    let namespaces = try WalletFetchCommand.namespaces(arguments)
    guard repository != nil || arguments["cache"] == nil else {
      throw CommandError.usage("--repo is missing")
    }
    let link: TokenLink
    do throws(TokenLink.Refusal) {
      link = try TokenLink(arguments.operands[0], repository: repository?.description)
    } catch { throw CommandError.usage("LINK: \(error)".printable) }
    let chain = link.chain ?? network
    var fetched: WalletFetchText?
    if arguments["cache"] != nil {
      guard let chain else {
        throw CommandError.usage("LINK: it names no chain; --network is missing")
      }
      let request = try TokenScriptRequest(
        address: link.contract.checksummed, network: chain,
        namespaces: link.namespace.map { [$0] } ?? namespaces,
        signer: link.signer ?? arguments["signer"])
      fetched = try await WalletFetchCommand.fetch(request, arguments)
    }
    var json: JSONObject = [
      "kind": link.kind.rawValue, "chain": chain?.number, "contract": link.contract.checksummed,
      "tokenIds": link.tokenIDs, "scriptId": link.scriptID, "card": link.card,
      "originId": link.originID, "url": link.url,
    ]
    if let fetched { json.values["fetch"] = fetched.json }
    try context.print(json: json) {
      let facts: [(String, String?)] = [
        ("kind", link.kind.rawValue), ("chain", chain?.title),
        ("contract", link.contract.checksummed),
        ("tokens", link.tokenIDs.isEmpty ? nil : link.tokenIDs.joined(separator: ", ")),
        ("script", link.scriptID), ("card", link.card), ("origin", link.originID),
        ("url", link.url),
      ]
      let rows = facts.compactMap { name, value in value.map { [name, $0.printable] } }
      for line in TextTable.align(rows) + (fetched?.lines ?? []) { context.print(line) }
    }
    if let refusal = fetched?.refusal { throw CommandError.refused(refusal) }
  }
}
